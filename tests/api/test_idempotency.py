"""`Idempotency-Key`: a create sent twice creates once."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from planner.accounts.models import ApiToken
from planner.api import idempotency
from planner.catalog.models import Workload
from planner.designs.models import Design
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

URL = "/api/v1/designs/"
BODY = {"kind": "sample", "name": "One", "spec": {}}


def test_the_same_request_again_gets_the_first_reply(bob: Caller) -> None:
    first, again = (bob.post(URL, BODY, Idempotency_Key="k1") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert strict(first) == strict(again)
    assert (again["Location"], again["ETag"]) == (first["Location"], first["ETag"])
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert Design.objects.count() == 1


def test_another_body_under_the_same_key_is_a_422(bob: Caller) -> None:
    bob.post(URL, BODY, Idempotency_Key="k1")
    response = bob.post(URL, {**BODY, "name": "Two"}, Idempotency_Key="k1")
    assert response.status_code == 422
    assert "another request" in check_problem(response)["errors"][0]["detail"]
    assert Design.objects.count() == 1


def test_another_key_or_none_creates_anew(bob: Caller) -> None:
    for headers in ({"Idempotency_Key": "k1"}, {"Idempotency_Key": "k2"}, {}, {}):
        bob.post(URL, BODY, **headers)
    assert Design.objects.count() == 4


def test_keys_of_different_people_do_not_meet(bob: Caller, alice: Caller) -> None:
    assert bob.post(URL, BODY, Idempotency_Key="k1").status_code == 201
    assert alice.post(URL, {**BODY, "name": "Hers"}, Idempotency_Key="k1").status_code == 201


def test_a_refused_request_frees_its_key(bob: Caller) -> None:
    assert bob.post(URL, {**BODY, "name": ""}, Idempotency_Key="k1").status_code == 422
    assert bob.post(URL, BODY, Idempotency_Key="k1").status_code == 201


def test_while_the_first_still_runs_the_second_is_a_409(bob: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        idempotency, "_kept", lambda _response, *, digest, **_more: idempotency.dumps({"digest": digest})
    )
    bob.post(URL, BODY, Idempotency_Key="k1")
    assert bob.post(URL, BODY, Idempotency_Key="k1").status_code == 409
    assert Design.objects.count() == 1


def test_a_key_too_long_is_a_422(bob: Caller) -> None:
    assert bob.post(URL, BODY, Idempotency_Key="k" * 201).status_code == 422


def test_the_text_of_a_token_is_never_kept(bob: Caller) -> None:
    before = ApiToken.objects.count()
    first, again = (bob.post("/api/v1/tokens/", {"name": "ci"}, Idempotency_Key="k1") for _ in range(2))
    assert len(strict(first)["token"]) == 64
    assert strict(again)["token"] is None
    assert strict(again)["id"] == strict(first)["id"]
    assert ApiToken.objects.count() == before + 1
    kept = [cache.get(key.decode().split(":", 2)[2]) for key in cache._cache.get_client().keys("*idempotency*")]
    assert kept
    assert not [text for text in kept if strict(first)["token"] in text]


def test_a_browsers_upload_is_kept_like_any_other(world: World) -> None:
    browser = Caller(user=world.bob, csrf=True)
    browser.client.cookies["csrftoken"] = "a" * 32
    browser.headers = {"X-CSRFToken": "a" * 32, "Idempotency-Key": "k1"}

    def send(rows: bytes) -> HttpResponse:
        return browser.upload("/api/v1/workloads/import/", file=SimpleUploadedFile("t.csv", rows), name="Mine")

    trace = b"arrival_s,input_tokens,output_tokens\n0,10,5\n1,20,6\n"
    first, again = send(trace), send(trace)
    assert (first.status_code, again.status_code) == (201, 201)
    assert strict(first)["id"] == strict(again)["id"]
    assert send(trace + b"2,30,7\n").status_code == 422
    assert Workload.objects.count() == 1

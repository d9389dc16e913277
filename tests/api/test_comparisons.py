"""Comparisons and share links."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from planner.designs.models import Comparison
from planner.designs.selectors import share_by_token
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

URL = "/api/v1/comparisons/"
Save = Callable[..., dict[str, Any]]
INLINE = [{"kind": "sample", "spec": {"gpus": 2}, "name": "Two"}, {"kind": "sample", "spec": {"gpus": 4}}]


def rows(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for group in view["metrics"] for row in group["rows"]}


class TestCompare:
    def test_inline_specs_are_answered_and_not_kept(self, alice: Caller) -> None:
        response = alice.post(URL, {"items": INLINE})
        assert response.status_code == 200
        view = strict(response)
        assert [row["name"] for row in view["inputs"]["differing"]] == ["gpus"]
        cells = rows(view)["power_w"]["cells"]
        assert [cell["value"] for cell in cells] == [1400.0, 2800.0]
        assert (cells[1]["delta"]["absolute"], cells[1]["delta"]["relative"], cells[1]["delta"]["change"]) == (
            1400,
            1,
            "worse",
        )
        assert not Comparison.objects.exists()

    def test_saved_designs_can_be_kept_at_a_url(self, saved: Save, bob: Caller) -> None:
        ids = [saved(name=name, spec={"gpus": gpus})["id"] for name, gpus in (("A", 1), ("B", 2))]
        response = bob.post(URL, {"designs": ids, "name": "Pair", "save": True})
        assert response.status_code == 201
        view = strict(bob.get(response["Location"]))
        assert (view["name"], [item["name"] for item in view["items"]]) == ("Pair", ["A", "B"])
        assert strict(bob.get(URL))["results"][0]["name"] == "Pair"

    def test_a_viewer_compares_but_does_not_keep(self, world: World) -> None:
        vera = world.caller("vera")
        assert vera.post(URL, {"items": INLINE}).status_code == 200
        assert vera.post(URL, {"items": INLINE, "save": True}).status_code == 403
        assert not Comparison.objects.exists()

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/items"),
            ({"items": INLINE, "designs": ["x"]}, "/items"),
            ({"items": INLINE[:1]}, "/items"),
            ({"items": INLINE * 4}, "/items"),
            ({"items": [*INLINE, {"kind": "sample", "spec": {"gpus": 0}}]}, "/items/2/spec/gpus"),
            ({"items": [*INLINE, {"kind": "nothing"}]}, "/items/2/kind"),
            ({"items": [*INLINE, {"design": "no-id"}]}, "/items/2/design"),
            ({"items": [*INLINE, {}]}, "/items/2"),
            ({"items": [*INLINE, {"kind": "sample", "extra": 1}]}, "/items/2/extra"),
            ({"designs": [1, 2]}, "/designs/0"),
        ],
    )
    def test_a_bad_item_is_named(self, bob: Caller, body: dict[str, Any], pointer: str) -> None:
        for save in (False, True):
            response = bob.post(URL, {**body, "save": save})
            assert response.status_code == 422
            assert check_problem(response)["errors"][0]["pointer"] == pointer
        assert not Comparison.objects.exists()

    def test_a_design_of_strangers_is_not_there(self, saved: Save, world: World) -> None:
        ids = [saved()["id"], saved()["id"]]
        response = world.caller("charlie").post(URL, {"designs": ids})
        assert response.status_code == 422
        assert b"First" not in response.content


class TestShare:
    def test_a_link_is_made_listed_and_revoked(self, saved: Save, bob: Caller) -> None:
        shares = f"{saved()['url']}shares/"
        made = strict(bob.post(shares))
        token = made["link"].removeprefix("/s/").removesuffix("/")
        assert share_by_token(token, timezone.now()) is not None
        assert [row["id"] for row in strict(bob.get(shares))["results"]] == [made["id"]]
        assert bob.delete(made["url"]).status_code == 204
        assert share_by_token(token, timezone.now()) is None
        assert strict(bob.get(shares))["results"][0]["revoked_at"] is not None

    def test_it_may_expire(self, saved: Save, bob: Caller) -> None:
        later = timezone.now() + timedelta(days=1)
        made = strict(bob.post(f"{saved()['url']}shares/", {"expires_at": later.isoformat()}))
        token = made["link"].removeprefix("/s/").removesuffix("/")
        assert share_by_token(token, later - timedelta(seconds=1)) is not None
        assert share_by_token(token, later + timedelta(seconds=1)) is None

    @pytest.mark.parametrize("when", ["yesterday", "2001-01-01T00:00:00Z", "2999-01-01T00:00:00", 5, "9999999-01-01"])
    def test_a_bad_time_is_named(self, saved: Save, bob: Caller, when: Any) -> None:
        response = bob.post(f"{saved()['url']}shares/", {"expires_at": when})
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["pointer"] == "/expires_at"

    def test_an_editor_revokes_no_link_of_another_an_admin_does(self, saved: Save, bob: Caller, alice: Caller) -> None:
        shares = f"{saved()['url']}shares/"
        of_alice, of_bob = strict(alice.post(shares)), strict(bob.post(shares))
        assert bob.delete(of_alice["url"]).status_code == 403
        assert alice.delete(of_bob["url"]).status_code == 204

    def test_a_link_is_found_only_under_its_own_design(self, saved: Save, bob: Caller) -> None:
        made = strict(bob.post(f"{saved()['url']}shares/"))
        assert bob.delete(f"{saved()['url']}shares/{made['id']}/").status_code == 404

"""`/designs/`: saving, reading, and writes that name the revision they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner.designs.models import Design, Revision
from tests.api.caller import Caller, check_problem, strict

URL = "/api/v1/designs/"
Save = Callable[..., dict[str, Any]]


class TestCreate:
    def test_it_answers_201_with_location_and_etag(self, bob: Caller) -> None:
        response = bob.post(URL, {"kind": "sample", "name": " One ", "spec": {"gpus": 3}, "tags": ["A", "b"]})
        assert response.status_code == 201
        found = strict(response)
        assert response["Location"] == found["url"] == f"{URL}{found['id']}/"
        assert response["ETag"] == '"1"'
        assert (found["name"], found["tags"], found["spec"]["gpus"], found["spec"]["load"]) == (
            "One",
            ["a", "b"],
            3,
            1.0,
        )
        assert found["created_by"] == "bob"

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"name": ""}, "/name"),
            ({"name": "x" * 161}, "/name"),
            ({"name": None}, "/name"),
            ({"kind": "nothing"}, "/kind"),
            ({"spec": {"gpus": 0}}, "/spec/gpus"),
            ({"tags": "a"}, "/tags"),
            ({"tags": [1]}, "/tags/0"),
            ({"revision": 7}, "/revision"),
            ({"team": "x"}, "/team"),
        ],
    )
    def test_a_bad_field_is_named_and_nothing_is_saved(self, bob: Caller, change: Any, pointer: str) -> None:
        response = bob.post(URL, {"kind": "sample", "name": "One", "spec": {}, **change})
        assert response.status_code == 422
        assert [error["pointer"] for error in check_problem(response)["errors"]] == [pointer]
        assert not Design.objects.exists()


class TestRead:
    def test_the_list_is_paged(self, saved: Save, alice: Caller) -> None:
        for name in ("a", "b", "c"):
            saved(name=name)
        first = strict(alice.get(f"{URL}?limit=2"))
        assert (first["count"], len(first["results"]), first["previous"]) == (3, 2, None)
        second = strict(alice.get(first["next"].removeprefix("http://testserver")))
        assert ([row["name"] for row in second["results"]], second["next"]) == (["a"], None)

    @pytest.mark.parametrize(
        "query", ["limit=0", "limit=501", "limit=x", "limit=²", "offset=-1", "offset=99999999999999999999"]
    )
    def test_a_bad_page_is_a_422_that_names_the_parameter(self, alice: Caller, query: str) -> None:
        response = alice.get(f"{URL}?{query}")
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["parameter"] == query.split("=", 1)[0]

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("q=blue", ["blue whale"]),
            ("tag=big", ["blue whale"]),
            ("kind=sample", ["red fox", "blue whale"]),
            ("kind=x", []),
        ],
    )
    def test_filters(self, saved: Save, alice: Caller, query: str, names: list[str]) -> None:
        saved(name="blue whale", tags=["big"])
        saved(name="red fox")
        assert [row["name"] for row in strict(alice.get(f"{URL}?{query}"))["results"]] == names

    @pytest.mark.parametrize("query", ["colour=red", "deleted=perhaps"])
    def test_an_unknown_filter_is_refused_not_ignored(self, alice: Caller, query: str) -> None:
        response = alice.get(f"{URL}?{query}")
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["parameter"] == query.split("=", 1)[0]

    @pytest.mark.parametrize("name", ["q", "kind", "tag"])
    def test_a_filter_with_nul_is_refused(self, alice: Caller, name: str) -> None:
        response = alice.get(f"/api/v1/designs/?{name}=a%00b")
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["parameter"] == name

    def test_estimate_and_view_come_on_request(self, saved: Save, alice: Caller) -> None:
        url = saved()["url"]
        assert "estimate" not in strict(alice.get(url))
        assert strict(alice.get(f"{url}?include=estimate"))["estimate"]["metrics"]["power_w"]["value"] == 5600
        assert strict(alice.get(f"{url}?include=view"))["view"]["kind"]["slug"] == "sample"
        assert alice.get(f"{url}?include=all").status_code == 422

    def test_a_known_etag_is_answered_by_304(self, saved: Save, alice: Caller) -> None:
        url = saved()["url"]
        assert alice.get(url, If_None_Match='"1"').status_code == 304
        assert alice.get(url, If_None_Match='"2"').status_code == 200


class TestWrite:
    def test_patch_changes_what_it_names(self, saved: Save, bob: Caller) -> None:
        design = saved(spec={"gpus": 3, "load": 0.5}, tags=["kept"])
        response = bob.patch(design["url"], {"spec": {"gpus": 4}}, If_Match='"1"')
        assert (response.status_code, response["ETag"]) == (200, '"2"')
        found = strict(response)
        assert (found["spec"]["gpus"], found["spec"]["load"], found["tags"], found["name"]) == (
            4,
            0.5,
            ["kept"],
            "First",
        )

    def test_put_replaces_all(self, saved: Save, bob: Caller) -> None:
        design = saved(spec={"gpus": 3}, tags=["gone"], description="gone")
        found = strict(bob.put(design["url"], {"kind": "sample", "name": "Second"}, If_Match='"1"'))
        assert (found["spec"]["gpus"], found["tags"], found["description"], found["name"]) == (8, [], "", "Second")

    @pytest.mark.parametrize("method", ["PUT", "PATCH"])
    def test_without_if_match_it_is_a_428(self, saved: Save, bob: Caller, method: str) -> None:
        design = saved()
        response = bob.ask(method, design["url"], {"kind": "sample", "name": "Second"})
        assert response.status_code == 428
        assert "If-Match" in check_problem(response)["detail"]
        assert Design.objects.get().name == "First"

    @pytest.mark.parametrize("tag", ['"1"', '"99"', '"x"', "nonsense", '""'])
    def test_a_stale_write_is_a_412_with_the_current_etag(self, saved: Save, bob: Caller, tag: str) -> None:
        design = saved()
        bob.patch(design["url"], {"name": "Second"}, If_Match='"1"')
        response = bob.patch(design["url"], {"name": "Third"}, If_Match=tag)
        assert (response.status_code, response["ETag"]) == (412, '"2"')
        assert Design.objects.get().name == "Second"

    @pytest.mark.parametrize("tag", ["*", 'W/"1"', '"7", "1"'])
    def test_any_matching_tag_will_do(self, saved: Save, bob: Caller, tag: str) -> None:
        assert bob.patch(saved()["url"], {"name": "Second"}, If_Match=tag).status_code == 200

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"spec": {"gpus": 0}}, "/spec/gpus"),
            ({"spec": {"nope": 1}}, "/spec/nope"),
            ({"name": None}, "/name"),
            ({"kind": "other"}, "/kind"),
            ({"revision": 1}, "/revision"),
        ],
    )
    def test_a_bad_change_is_named_and_not_saved(self, saved: Save, bob: Caller, change: Any, pointer: str) -> None:
        response = bob.patch(saved()["url"], change, If_Match='"1"')
        assert response.status_code == 422
        assert check_problem(response)["errors"][0]["pointer"] == pointer
        assert Revision.objects.count() == 1

    def test_the_revisions_tell_who_and_what(self, saved: Save, alice: Caller) -> None:
        design = saved()
        alice.patch(design["url"], {"name": "Second"}, If_Match='"1"')
        rows = strict(alice.get(f"{design['url']}revisions/"))["results"]
        assert [(row["number"], row["name"], row["author"]) for row in rows] == [
            (2, "Second", "alice"),
            (1, "First", "bob"),
        ]


class TestDelete:
    def test_a_deleted_design_is_gone_and_can_be_restored(self, saved: Save, bob: Caller) -> None:
        url = saved()["url"]
        assert bob.delete(url).status_code == 204
        assert bob.get(url).status_code == 404
        assert strict(bob.get(f"{URL}?deleted=true"))["count"] == 1
        assert bob.post(f"{url}restore/").status_code == 200
        assert bob.get(url).status_code == 200

    def test_a_stale_delete_is_refused(self, saved: Save, bob: Caller) -> None:
        url = saved()["url"]
        assert bob.delete(url, If_Match='"7"').status_code == 412
        assert bob.get(url).status_code == 200

    def test_what_is_not_deleted_cannot_be_restored(self, saved: Save, bob: Caller) -> None:
        assert bob.post(f"{saved()['url']}restore/").status_code == 404

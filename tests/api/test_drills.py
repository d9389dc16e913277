"""A drill over the API: asked for, followed at its own address, read when both runs are done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from planner.designs.models import Share
from planner.jobs import runner
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

Save = Callable[..., dict[str, Any]]
URL = "/api/v1/drills/"

pytestmark = pytest.mark.usefixtures("no_worker")


def started(caller: Caller, url: str = URL, **body: Any) -> dict[str, Any]:
    response = caller.post(url, body)
    assert response.status_code == 202, response.content
    assert response["Location"] == strict(response)["url"]
    return strict(response)


def refused(response: Any, *, status: int) -> dict[str, Any]:
    assert response.status_code == status
    return check_problem(response)


def run(drill: dict[str, Any]) -> None:
    for one in drill["runs"]:
        runner.run(UUID(one["job_url"].rstrip("/").rsplit("/", 1)[-1]))


def test_a_spec_without_a_design(bob: Caller) -> None:
    drill = started(bob, kind="sample", drill="halve", spec={"note": "n"})
    assert (drill["state"], drill["fraction"], drill["answer"], drill["design"]) == ("queued", 0.0, None, None)
    assert drill["how"] == {"duration_s": 60.0, "seed": 4, "options": {"depth": 2}}
    assert [(one["name"], one["changes"]) for one in drill["runs"]] == [("As it is", {}), ("One GPU more", {"gpus": 9})]
    asked = [strict(bob.get(one["job_url"]))["request"] for one in drill["runs"]]
    assert [(one["seed"], one["options"]["depth"], one["spec"]["gpus"]) for one in asked] == [(4, 2, 8), (4, 2, 9)]


def test_the_answer_stands_at_its_address(bob: Caller) -> None:
    drill = started(bob, kind="sample", drill="halve")
    run(drill)
    done = strict(bob.get(drill["url"]))
    assert (done["state"], done["fraction"], done["answer"]) == ("succeeded", 1.0, "**2** of 9 GPUs.")
    assert [bob.get(one["result_url"]).status_code for one in done["runs"]] == [200, 200]
    assert bob.get(done["comparison_url"]).status_code == 200


def test_a_share_of_it_is_frozen_with_the_answer(bob: Caller) -> None:
    drill = started(bob, kind="sample", drill="halve")
    run(drill)
    assert bob.post(f"{drill['comparison_url']}shares/", {}).status_code == 201
    assert Share.objects.get().frozen["drill"]["answer"] == "**2** of 9 GPUs."


def test_a_saved_design(saved: Save, bob: Caller) -> None:
    design = saved(spec={"gpus": 3})
    drill = started(bob, f"{design['url']}drills/halve/", seed=9)
    assert (drill["design"], drill["how"]["seed"]) == (design["id"], 9)
    assert drill["runs"][0]["spec"]["gpus"] == 3
    assert started(bob, f"{design['url']}drills/halve/")["how"]["seed"] == 4


def test_the_list_has_each_once(bob: Caller) -> None:
    drill = started(bob, kind="sample", drill="halve")
    assert started(bob, kind="sample", drill="halve")["id"] == drill["id"]
    listed = strict(bob.get(URL))
    assert [row["url"] for row in listed["results"]] == [drill["url"]]


def test_the_kind_names_its_drills(bob: Caller) -> None:
    (drill,) = strict(bob.get("/api/v1/kinds/sample/"))["drills"]
    assert drill == {"name": "halve", "label": "Halve it", "question": "Half of it is gone. Who notices?"}


def test_refusals_name_the_field(bob: Caller, world: World) -> None:
    vera, charlie = world.caller("vera"), world.caller("charlie")
    problem = refused(bob.post(URL, {"kind": "sample", "drill": "meteor"}), status=422)
    assert problem["errors"][0]["pointer"] == "/drill"
    problem = refused(bob.post(URL, {"kind": "sample", "drill": "halve", "spec": {"gpus": 0}}), status=422)
    assert problem["errors"][0]["pointer"] == "/spec/gpus"
    refused(vera.post(URL, {"kind": "sample", "drill": "halve"}), status=403)
    drill = started(bob, kind="sample", drill="halve")
    refused(charlie.get(drill["url"]), status=404)
    assert strict(charlie.get(URL))["results"] == []

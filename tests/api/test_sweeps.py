"""Sweeps are asked for, followed, read as JSON and as a table; what is wrong with one is pointed at."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from planner.jobs import part_runner, runner, swept
from planner.jobs.models import Job
from tests.api.caller import Caller, check_problem, strict

URL = "/api/v1/sweeps/"
GPUS = {"field": "gpus", "values": [1, 2, 4]}
LOAD = {"field": "load", "start": 0.2, "stop": 1.0, "step": 0.4}

pytestmark = pytest.mark.usefixtures("no_worker")


def started(caller: Caller, url: str = URL, **body: Any) -> dict[str, Any]:
    response = caller.post(url, body)
    assert response.status_code == 202, response.content
    assert response["Location"] == strict(response)["url"]
    return strict(response)


def test_from_the_question_to_the_table(bob: Caller) -> None:
    job = started(bob, kind="sample", spec={"limit_w": 1500}, vary=[GPUS, LOAD], against="")
    assert (job["purpose"], job["state"], job["partial"], job["result_url"]) == ("sweep", "queued", None, None)
    assert check_problem(bob.get(f"{job['url']}result/"))["detail"].startswith("The job is queued")
    runner.run(job["id"])
    done = strict(bob.get(job["url"]))
    result = strict(bob.get(done["result_url"]))
    assert result["points"]["figures"]["power_w"] == pytest.approx([140, 420, 700, 280, 840, 1400, 560, 1680, 2800])
    assert result["points"]["status"] == ["ok"] * 7 + ["misses"] * 2
    assert (result["best"], result["front"], result["verified"]) == (0, [0], [])
    assert result["constraints"] == [{"metric": "power_w", "label": "Power", "unit": "W", "at_most": 1500, "own": True}]
    response = bob.get(f"{done['result_url']}?format=csv")
    assert response["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == 9
    assert (rows[7]["gpus [GPUs]"], rows[7]["status"]) == ("4", "misses")
    assert rows[7]["reason"].startswith("Power: 1.68")
    assert bob.get(f"{done['result_url']}?format=csv&table=metrics").status_code == 422


def test_a_running_one_shows_its_front_so_far(bob: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swept, "POINTS_A_PART", 4)
    job = started(bob, kind="sample", vary=[GPUS, LOAD], against="")
    part_runner.run_part(Job.objects.get().id, place=1)
    running = strict(bob.get(job["url"]))
    assert (running["state"], running["partial"]["done"], running["partial"]["places"]) == ("running", 4, [6])
    assert strict(bob.get("/api/v1/jobs/"))["results"][0]["partial"] is None


def test_a_saved_design(saved: Callable[..., dict[str, Any]], bob: Caller) -> None:
    design = saved(spec={"gpus": 3})
    job = started(bob, f"{design['url']}sweeps/", vary=[GPUS])
    assert (job["design"], job["design_revision"], job["title"]) == (design["id"], 1, "First: GPUs")


def test_verified_points_lead_to_their_simulations(bob: Caller) -> None:
    job = started(bob, kind="sample", vary=[GPUS], against="", verify=1)
    runner.run(job["id"])
    (row,) = strict(bob.get(f"{job['url']}result/"))["verified"]
    simulation = strict(bob.get(row["job_url"]))
    assert (row["state"], simulation["purpose"], simulation["request"]["spec"]["gpus"]) == ("queued", "simulation", 1)
    assert simulation["request"]["seed"] == row["seed"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/vary"),
        ({"vary": [GPUS, GPUS]}, "/vary/1/field"),
        ({"vary": [{**GPUS, "values": [1, 0]}]}, "/vary/0/values/1"),
        ({"vary": [{**GPUS, "values": [[1]]}]}, "/vary/0/values/0"),
        ({"vary": [{**GPUS, "values": [1.5]}]}, "/vary/0/values/0"),
        ({"vary": [{"field": "precision", "values": ["bf16", "int1"]}]}, "/vary/0/values/1"),
        ({"vary": [{"field": "gpu", "values": ["no-such-gpu"]}]}, "/vary/0/values/0"),
        ({"vary": [{"field": "load", "start": 0, "stop": 1, "step": 1e-6}]}, "/vary/0/step"),
        ({"vary": [{"field": "load", "start": 0, "stop": 1, "stop_": 1}]}, "/vary/0/stop_"),
        ({"vary": [GPUS] * 5}, "/vary"),
        ({"vary": [GPUS], "spec": {"gpus": 0}}, "/spec/gpus"),
        ({"vary": [GPUS], "kind": "nothing"}, "/kind"),
        ({"vary": [GPUS], "objective": "speed"}, "/objective"),
        ({"vary": [GPUS], "constraints": [{"metric": "power_w"}]}, "/constraints/0"),
        ({"vary": [GPUS], "verify": 9}, "/verify"),
        ({"vary": [GPUS], "preset": "fastest"}, "/preset"),
    ],
)
def test_a_bad_field_is_named_and_no_job_is_left(bob: Caller, body: dict[str, Any], pointer: str) -> None:
    response = bob.post(URL, {"kind": "sample", **body})
    assert response.status_code == 422
    pointers = {error["pointer"] for error in check_problem(response)["errors"]}
    assert pointers == {pointer}
    assert not Job.objects.exists()


def test_the_same_key_starts_one_sweep(bob: Caller) -> None:
    body = {"kind": "sample", "vary": [GPUS]}
    first, again = (bob.post(URL, body, Idempotency_Key="k") for _ in range(2))
    assert strict(first)["id"] == strict(again)["id"]
    assert Job.objects.count() == 1


def test_a_stranger_sees_nothing_and_a_viewer_starts_nothing(world: Any, bob: Caller) -> None:
    job = started(bob, kind="sample", vary=[GPUS])
    assert world.caller("charlie").get(job["url"]).status_code == 404
    assert world.caller("vera").post(URL, {"kind": "sample", "vary": [GPUS]}).status_code == 403

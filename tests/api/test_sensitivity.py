"""What moves a figure is answered at once, how far it may be off by a job; a bad question is pointed at."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from planner.core.simulation import Cancelled
from planner.jobs import runner, uncertainties
from planner.jobs.models import Job
from tests.api.caller import Caller, check_problem, strict

URL, DRAWN = "/api/v1/sensitivity/", "/api/v1/uncertainty/"
SPEC = {"gpus": 8, "load": 0.5, "limit_w": 4000}
LOAD = {"load": {"low": 0.2, "high": 0.6, "shape": "uniform"}}


def test_what_moves_the_figure_and_what_turns_the_decision(bob: Caller) -> None:
    found = strict(bob.post(URL, {"kind": "sample", "spec": SPEC}))
    # 8 GPUs of 700 W at half load draw 2,800 W.
    assert (found["metric"]["metric"], found["value"]) == ("power_w", pytest.approx(2800))
    bars = {bar["name"]: bar for bar in found["tornado"]}
    assert [end["figure"] for end in bars["gpus"]["ends"]] == pytest.approx([2450, 3150])
    assert bars["load"]["elasticity"] == pytest.approx(1.0)
    assert [end["shown"] for end in bars["load"]["ends"]] == ["45\u00a0%", "55\u00a0%"]
    assert [row["name"] for row in found["still"]] == ["limit_w"]
    (refused,) = found["refused"]
    assert (refused["name"], "fp4_flops_per_s" in refused["reason"]) == ("precision", True)
    assert [(row["name"], row["why"]) for row in found["unmoved"]] == [("gpu", "entry"), ("note", "entry")]
    flips = {row["name"]: row for row in found["flips"]}
    assert flips["gpus"]["at"] == 12
    assert flips["load"]["holds"] == pytest.approx(4000 / 5600, rel=1e-3)
    assert flips["limit_w"]["change"]["limit_w"] == pytest.approx(2800, rel=1e-3)
    assert flips["gpus"]["sentence"].endswith("becomes 12\u00a0GPUs (+50\u00a0%): then Power misses 4\u00a0kW.")


def test_ranges_of_your_own_and_the_rows_of_a_table(bob: Caller, saved: Callable[..., dict[str, Any]]) -> None:
    design = saved(spec=SPEC)
    found = strict(bob.post(f"{design['url']}sensitivity/", {"ranges": LOAD}))
    (load,) = (bar for bar in found["tornado"] if bar["name"] == "load")
    assert [end["figure"] for end in load["ends"]] == pytest.approx([1120, 3360])
    assert strict(bob.get(f"{design['url']}sensitivity/"))["value"] == found["value"]
    response = bob.get(f"{design['url']}sensitivity/?format=csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [(row["input"], row["value"], row["power_w"]) for row in rows[:2]] == [
        ("gpus", "7", "2450.0"), ("gpus", "9", "3150.0"),
    ]  # fmt: skip
    response = bob.get(f"{design['url']}sensitivity/?format=csv&table=flips")
    assert "misses" in next(csv.DictReader(io.StringIO(response.content.decode())))["sentence"]


def test_another_design_is_held_against(bob: Caller) -> None:
    against = {"spec": {**SPEC, "gpus": 9}, "name": "Nine"}
    found = strict(bob.post(URL, {"kind": "sample", "spec": SPEC, "against": against}))
    assert found["rival"]["change"] == {"gpus": 9}
    assert found["rival"]["label"] == "Nine"


@pytest.mark.usefixtures("no_worker")
def test_draws_are_a_job_with_a_table_and_a_stored_result(bob: Caller) -> None:
    body = {"kind": "sample", "spec": SPEC, "ranges": LOAD, "draws": 128, "seed": 3}
    response = bob.post(DRAWN, body)
    assert response.status_code == 202, response.content
    job = strict(response)
    assert (job["purpose"], job["state"]) == ("sensitivity", "queued")
    runner.run(job["id"])
    done = strict(bob.get(job["url"]))
    result = strict(bob.get(done["result_url"]))
    # Uniform between 1,120 and 3,360 W, always below the limit.
    assert result["percentiles"]["p50"]["value"] == pytest.approx(2240, rel=0.02)
    assert result["percentiles"]["p95"]["value"] == pytest.approx(1120 + 0.95 * 2240, rel=0.02)
    assert (result["all_met"]["value"], result["draws"]) == (1.0, 128)
    assert [(row["name"], row["source"]) for row in result["inputs"]] == [("load", "given")]
    assert result["contributions"][0]["index"] == pytest.approx(1.0, abs=0.05)
    rows = list(csv.DictReader(io.StringIO(bob.get(f"{done['result_url']}?format=csv").content.decode())))
    assert len(rows) == 101
    assert bob.get(f"{done['result_url']}?format=csv&table=inputs").content.startswith(b"name,unit,value,low,high")
    again = strict(bob.post(DRAWN, body))
    assert again["state"] == "succeeded"
    assert strict(bob.get(again["result_url"])) == result


@pytest.mark.usefixtures("no_worker")
def test_draws_tell_how_far_they_are_and_stop_when_asked(bob: Caller) -> None:
    job = Job.objects.get(id=strict(bob.post(DRAWN, {"kind": "sample", "spec": SPEC, "ranges": LOAD}))["id"])
    told: list[float] = []

    class Watch:
        def progress(self, fraction: float, **_more: Any) -> None:
            told.append(fraction)

        def cancelled(self) -> bool:
            return len(told) == 3

    with pytest.raises(Cancelled):
        uncertainties.work(job, Watch())
    assert told == [0.125, 0.25, 0.375]


@pytest.mark.usefixtures("no_worker")
def test_two_designs_meet_the_same_draws(bob: Caller, saved: Callable[..., dict[str, Any]]) -> None:
    design = saved(spec=SPEC)
    body = {"ranges": LOAD, "against": {"spec": {**SPEC, "gpus": 9}}, "draws": 64}
    job = strict(bob.post(f"{design['url']}uncertainty/", body))
    assert (job["design"], job["title"]) == (design["id"], "First")
    runner.run(job["id"])
    against = strict(bob.get(f"{job['url']}result/"))["against"]
    assert against["better"]["value"] == 1.0
    assert against["difference"]["mean"]["value"] == pytest.approx(700 * 0.4, rel=0.02)


@pytest.mark.usefixtures("no_worker")
@pytest.mark.parametrize("url", [URL, DRAWN])
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"metric": "speed"}, "/metric"),
        ({"spec": {"gpus": 0}}, "/spec/gpus"),
        ({"kind": "nothing"}, "/kind"),
        ({"ranges": {"note": {"low": 1, "high": 2}}}, "/ranges/note"),
        ({"ranges": {"load": {"low": 1}}}, "/ranges/load/high"),
        ({"ranges": {"load": {"low": 0.9, "high": 0.1}}}, "/ranges/load/low"),
        ({"ranges": {"gpus": {"low": 1.5, "high": 2}}}, "/ranges/gpus/low"),
        ({"ranges": {"load": {"low": 0, "high": 1, "shape": "lognormal"}}}, "/ranges/load/low"),
        ({"against": {}}, "/against"),
    ],
)
def test_a_bad_question_is_pointed_at(bob: Caller, url: str, body: dict[str, Any], pointer: str) -> None:
    response = bob.post(url, {"kind": "sample", **body})
    assert response.status_code == 422, response.content
    assert {error["pointer"] for error in check_problem(response)["errors"]} == {pointer}
    assert not Job.objects.exists()


@pytest.mark.usefixtures("no_worker")
def test_a_viewer_asks_but_starts_nothing_and_a_stranger_sees_nothing(
    world: Any, saved: Callable[..., dict[str, Any]]
) -> None:
    design = saved(spec=SPEC)
    vera, charlie = world.caller("vera"), world.caller("charlie")
    assert vera.post(URL, {"kind": "sample"}).status_code == 200
    assert vera.post(DRAWN, {"kind": "sample"}).status_code == 403
    assert charlie.get(f"{design['url']}sensitivity/").status_code == 404
    assert charlie.post(f"{design['url']}uncertainty/", {}).status_code == 404

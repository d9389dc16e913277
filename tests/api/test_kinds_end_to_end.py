"""Each kind that simulates, through every resource of the API: described, estimated, compared, run, exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner import kinds
from planner.api import schema
from planner.jobs import runner
from planner.jobs.models import Job, State
from tests.api.caller import Caller, strict

pytestmark = pytest.mark.usefixtures("real_kinds", "no_worker")
SLUGS = sorted(slug for slug, kind in kinds.all_kinds().items() if kind.simulator)
TRACE = "\n".join(
    json.dumps(
        {
            "timestamp": 50 * row,
            "input_length": 512 * (1 + row % 3),
            "output_length": 40 + 13 * row % 200,
            "hash_ids": [1000 * (row % 20) + block for block in range(1 + row % 3)],
            "adapter": f"tenant-{row * row % 7}",
        }
    )
    for row in range(600)
)
"""Half a minute of requests with what they share and the adapter of each."""


@dataclass(frozen=True)
class Short:
    """A run of a moment: what is asked, and an option with a value that changes the result."""

    body: Mapping[str, Any]
    option: Mapping[str, Any]


SHORT = {
    "engine_instance": Short({"requests": 60}, {"output_sigma": 0.5}),
    "gateway": Short({"duration_s": 5}, {"rate_scale": 0.5}),
    "kv_pool": Short({"duration_s": 200}, {"policies": "chosen"}),
    "llm_serving": Short({"duration_s": 20}, {"warmup_s": 1}),
    "multi_lora": Short({"duration_s": 5}, {"rate_scale": 0.5}),
    "rl_rollout": Short({"options": {"steps": 2, "warmup_steps": 1}}, {"score_s": 30}),
}


def result_of(caller: Caller, **body: Any) -> dict[str, Any]:
    """The result of a run that is done at once."""
    response = caller.post("/api/v1/simulations/", body)
    assert response.status_code == 202, response.content
    job = strict(response)
    runner.run(job["id"])
    done = strict(caller.get(job["url"]))
    assert done["state"] == "succeeded", done["error"]
    found: dict[str, Any] = strict(caller.get(done["result_url"]))
    return found


def values(result: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics and tables, without what names the run."""
    return {name: metric["value"] for name, metric in result["metrics"].items()} | {
        name: [column["values"] for column in table["columns"]] for name, table in result["series"].items()
    }


@pytest.mark.parametrize("slug", SLUGS)
def test_a_kind_tells_its_options_and_is_in_the_document(bob: Caller, slug: str) -> None:
    told = strict(bob.get(f"/api/v1/kinds/{slug}/"))
    simulator = kinds.get(slug).simulator
    assert simulator is not None
    assert [option["name"] for option in told["simulation_options"]] == [each.name for each in simulator.options]
    assert {example["slug"] for example in told["examples"]} == {
        example.slug for example in kinds.examples() if example.kind == slug
    }
    requests = schema.document()["components"]["schemas"]
    assert f"{schema.camel(slug)}EstimateRequest" in requests


@pytest.mark.parametrize("slug", SLUGS)
def test_examples_are_answered_in_one_batch(bob: Caller, slug: str) -> None:
    examples = [example for example in kinds.examples() if example.kind == slug]
    specs = [*(dict(example.spec) for example in examples), {"no_such_field": 1}]
    results = strict(bob.post("/api/v1/estimates/batch/", {"kind": slug, "specs": specs}))["results"]
    assert [("answer" in found, "errors" in found) for found in results] == [
        *[(True, False)] * len(examples),
        (False, True),
    ]


def test_all_kinds_stand_side_by_side_in_what_they_share(bob: Caller) -> None:
    items = [{"kind": slug, "spec": {}, "name": slug} for slug in SLUGS]
    view = strict(bob.post("/api/v1/comparisons/", {"items": items}))
    cost = next(row for group in view["metrics"] for row in group["rows"] if row["name"] == "cost_usd_per_h")
    assert all(cell["value"] > 0 for cell in cost["cells"])


@pytest.mark.parametrize("slug", SLUGS)
def test_the_figures_of_a_saved_design_come_as_csv(bob: Caller, slug: str) -> None:
    design = strict(bob.post("/api/v1/designs/", {"kind": slug, "name": "Exported"}))
    rows = list(csv.reader(io.StringIO(bob.get(f"{design['url']}report.csv").content.decode())))
    names = {cell for row in rows for cell in row}
    answered = strict(bob.post("/api/v1/estimates/", {"kind": slug, "spec": {}}))
    assert set(answered["metrics"]) <= names


@pytest.mark.parametrize("slug", SLUGS)
def test_the_same_seed_gives_the_same_run_and_another_seed_another(bob: Caller, slug: str) -> None:
    body = {"kind": slug, "spec": {}, **SHORT[slug].body}
    first = values(result_of(bob, **body, seed=5))
    Job.objects.all().delete()
    assert values(result_of(bob, **body, seed=5)) == first
    assert values(result_of(bob, **body, seed=6)) != first


@pytest.mark.parametrize("slug", SLUGS)
def test_an_option_is_obeyed_and_noted(bob: Caller, slug: str) -> None:
    short = SHORT[slug]
    plain = {"kind": slug, "spec": {}, **short.body}
    asked = {**plain, "options": {**plain.get("options", {}), **short.option}}
    changed = result_of(bob, **asked)
    assert values(changed) != values(result_of(bob, **plain))
    ((name, value),) = short.option.items()
    assert changed["provenance"]["options"][name] == value


@pytest.mark.parametrize("slug", ["gateway", "multi_lora", "rl_rollout"])
def test_a_run_side_by_side_counts_the_events_of_all_and_the_time_of_the_design(bob: Caller, slug: str) -> None:
    result = result_of(bob, kind=slug, spec={}, **SHORT[slug].body)
    job = Job.objects.get()
    made = result["provenance"]
    assert job.events > made["events"] > 0
    assert job.simulated_s == pytest.approx(made["horizon_s"], rel=0.02)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_trace_of_ones_own_is_replayed(bob: Caller, slug: str) -> None:
    made = bob.upload("/api/v1/workloads/import/", file=SimpleUploadedFile("ours.jsonl", TRACE.encode()), name="Ours")
    assert made.status_code == 201, made.content
    body = {key: value for key, value in SHORT[slug].body.items() if key == "options"}
    result = result_of(bob, kind=slug, spec={}, workload=strict(made)["slug"], **body)
    assert "Ours" in str(result["provenance"])
    assert all(metric["value"] is None or metric["value"] >= 0 for metric in result["metrics"].values())


@pytest.mark.parametrize("slug", SLUGS)
def test_a_run_that_is_asked_to_stop_stops(bob: Caller, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = strict(bob.post("/api/v1/simulations/", {"kind": slug, "spec": {}, **SHORT[slug].body}))
    claim = runner.claim

    def claimed_and_cancelled(*args: Any, **named: Any) -> Job | None:
        found = claim(*args, **named)
        assert strict(bob.post(f"{job['url']}cancel/"))["state"] == "cancelling"
        return found

    monkeypatch.setattr(runner, "claim", claimed_and_cancelled)
    runner.run(job["id"])
    assert Job.objects.get(id=job["id"]).state == State.CANCELLED

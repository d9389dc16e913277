"""Uploaded measurements and comparisons on equal terms, through the API and with the kinds of the product."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.designs.models import Measurement
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World
from tests.catalog.importers.test_benchmarks import SERVE

pytestmark = pytest.mark.usefixtures("real_kinds")
URL, COMPARE = "/api/v1/measurements/", "/api/v1/comparisons/"
ENGINE = {
    "kind": "engine_instance",
    "spec": {"llm": "llama-3.1-8b", "gpu": "h100-sxm", "concurrency": 32, "input_tokens": 2048, "output_tokens": 2048},
}
FLEET = {"kind": "llm_serving", "spec": {}}


def upload(caller: Caller, text: str) -> Any:
    file = SimpleUploadedFile("run.json", text.encode(), content_type="application/json")
    return caller.upload(URL, file=file)


def measured(caller: Caller, **changes: Any) -> str:
    found = strict(upload(caller, json.dumps(SERVE | changes)))["measurements"]
    assert len(found) == 1
    return str(found[0]["id"])


def view_of(caller: Caller, *items: dict[str, Any], **terms: Any) -> dict[str, Any]:
    response = caller.post(COMPARE, {"items": list(items), **terms})
    assert response.status_code in (200, 201), response.content
    return strict(response)


def rows(view: dict[str, Any]) -> dict[str, Any]:
    return {row["name"]: row for group in view["metrics"] for row in group["rows"]}


def test_a_measurement_stands_beside_an_estimate_on_shared_figures(bob: Caller) -> None:
    design = ENGINE | {"spec": ENGINE["spec"] | {"ttft_p99_slo_s": 2.0}}  # type: ignore[operator]
    view = view_of(bob, design, {"measurement": measured(bob)})
    assert [item["basis"] for item in view["items"]] == ["estimate", "measured"]
    found = rows(view)
    cell = found["ttft_mean_s"]["cells"][1]
    assert (cell["value"], cell["basis"]) == (pytest.approx(7.27956), "measured")
    assert cell["delta"]["change"] == "worse"
    # It is held against the objective of the design it stands beside.
    assert found["ttft_p99_s"]["cells"][1]["met"] is False
    # Of the inputs those are held against each other that the run tells of.
    told = {row["name"]: row["cells"][1] for row in view["inputs"]["equal"]}
    assert told["input_tokens"]["value"] == 2048
    assert told["llm"] is None
    assert view["scalable"] is False
    assert view["verdict"]["sentence"].startswith("**B against A**: TTFT")
    assert "weights_bytes" not in found


def test_a_comparison_keeps_the_figures_of_a_measurement_that_is_gone(bob: Caller) -> None:
    row = measured(bob)
    saved = view_of(bob, ENGINE, {"measurement": row}, save=True)
    assert bob.delete(f"{URL}{row}/").status_code == 204
    assert bob.get(f"{URL}{row}/").status_code == 404
    again = strict(bob.get(saved["url"]))
    assert rows(again)["output_tokens_per_s"]["cells"][1]["value"] == 434.4


def test_a_run_under_another_load_is_shown_to_differ(bob: Caller) -> None:
    view = view_of(bob, ENGINE, {"measurement": measured(bob, max_concurrency=64)})
    assert [(row["name"], [cell["differs"] for cell in row["cells"]]) for row in view["inputs"]["differing"]] == [
        ("concurrency", [False, True])
    ]


def test_two_measurements_need_no_design(bob: Caller) -> None:
    first, second = measured(bob), measured(bob, output_throughput=868.8)
    view = view_of(bob, {"measurement": first}, {"measurement": second})
    delta = rows(view)["output_tokens_per_s"]["cells"][1]["delta"]
    assert (delta["relative"], delta["change"]) == (1.0, "better")


def test_a_bad_file_leaves_nothing(bob: Caller) -> None:
    good, bad = json.dumps(SERVE), json.dumps(SERVE | {"p99_ttft_ms": "slow"})
    problem = check_problem(upload(bob, f"{good}\n{bad}"))
    assert "p99_ttft_ms" in json.dumps(problem)
    assert not Measurement.objects.exists()


def test_anothers_measurement_is_not_there(bob: Caller, world: World) -> None:
    row = measured(world.caller("charlie"))
    response = bob.post(COMPARE, {"items": [ENGINE, {"measurement": row}]})
    problem = check_problem(response)
    assert problem["errors"][0]["pointer"] == "/items/1/measurement"
    assert bob.get(f"{URL}{row}/").status_code == 404


def test_a_viewer_does_not_upload(world: World) -> None:
    assert upload(world.caller("vera"), json.dumps(SERVE)).status_code == 403


def test_equal_gpus_scales_the_demand_of_the_others(bob: Caller) -> None:
    """A unit of 144 GPUs carries 1,850 × 144 / (1.2 × 800) = 277.5 req/s of decode, one of 32 carries
    4,000 × 32 / (1.2 × 1,500) = 71.1 of prefill: 544 GPUs are 8 and 2 of them at 555 req/s (prefill: 568)."""
    small = {"kind": "llm_serving", "spec": {"peak_rps": 50}}
    view = view_of(bob, FLEET, small, mode="equal_gpus")
    assert [cell["value"] for cell in rows(view)["gpus"]["cells"]] == [544, 544]
    assert view["items"][1]["spec"]["peak_rps"] == 555.0
    assert [bool(item["scaled"]) for item in view["items"]] == [False, True]
    assert view["verdict"]["sentence"].startswith("On the GPUs of A: ")


def test_equal_cost_spends_the_same(bob: Caller) -> None:
    dearer = {"kind": "llm_serving", "spec": {"gpu_price_usd_per_h": 4.0}}
    view = view_of(bob, FLEET, dearer, mode="equal_cost")
    bills = [cell["value"] for cell in rows(view)["cost_usd_per_h"]["cells"]]
    assert bills[1] <= bills[0] == 1088.0
    # 272 GPUs at $4: one decode unit (144) and four of prefill (128), which carry 277.5 and 284 req/s.
    assert view["items"][1]["spec"]["peak_rps"] == 277.0


def test_what_has_no_demand_stays_as_it_is(bob: Caller) -> None:
    view = view_of(bob, FLEET, {"kind": "rl_rollout", "spec": {}}, mode="equal_cost")
    assert view["items"][1]["scaled"].startswith("as it is")


def test_an_unknown_mode_is_named(bob: Caller) -> None:
    problem = check_problem(bob.post(COMPARE, {"items": [FLEET, FLEET], "mode": "equal_moons"}))
    assert problem["errors"][0]["pointer"] == "/mode"

"""Units that are lost, released and scaled in a simulation of this kind: what is asked, what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.result import Result
from planner.core.simulation import Drilled, SimulationRequest
from planner.kinds.llm_serving.controlled import control_for, load_s, recovery_for
from planner.kinds.llm_serving.drills import DRILLS
from planner.kinds.llm_serving.fleet import fleet_for
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.simulation_options import options
from planner.kinds.llm_serving.spec import LlmServingSpec
from sims.systems.llm_serving import Control

CATALOG = files.load()
KIND = kinds.get("llm_serving")
SPEC = LlmServingSpec()
SMALL = LlmServingSpec(
    topology="aggregated",
    llm="llama-3-1-70b",
    gpu="h100-sxm",
    decode_unit_gpus=4,
    rate_mode="derived",
    peak_rps=8.0,
    input_tokens=1000,
    output_tokens=200,
    prefix_hit_rate=0.0,
    spare_decode_units=1,
)


class Nobody:
    def progress(self, fraction: float, **facts: Any) -> None:
        pass

    def cancelled(self) -> bool:
        return False


def run(spec: LlmServingSpec, *, duration_s: float = 100.0, **asked: Any) -> Result:
    assert KIND.simulator is not None
    request = SimulationRequest(duration_s=duration_s, options=asked)
    return KIND.simulator.run(spec, CATALOG, request, Nobody())


def control(spec: LlmServingSpec = SPEC, *, horizon_s: float = 1000.0, **asked: Any) -> Control:
    facts = physics(spec, catalog=CATALOG)
    fleet = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    return control_for(spec, chosen=options(asked), facts=facts, fleet=fleet, horizon_s=horizon_s)


def test_a_loss_takes_the_times_of_the_design() -> None:
    plan = control(fail_decode_unit_at_s=5.0, fail_prefill_unit_at_s=6.0, rejoin_s=7.0)
    assert [(one.role, one.at_s, one.rejoin_s, one.detection_s) for one in plan.failures] == [
        ("decode", 5.0, 7.0, 3.0),
        ("prefill", 6.0, 7.0, 3.0),
    ]
    assert control(fail_decode_unit_at_s=5.0).failures[0].rejoin_s == 0.75 * 3600


def test_a_lost_node_takes_along_the_small_units_on_it() -> None:
    assert [
        control(SMALL, fail_decode_unit_at_s=5.0, lost_together=what).failures[0].together for what in ("unit", "node")
    ] == [1, 2]


def test_nodes_fail_at_the_rate_of_the_design_times_a_factor() -> None:
    """Decode units of 18 nodes, prefill units of four: 2 · 18 and 8 · 4 nodes, 5e-5 failures an hour each."""
    decode, prefill = control(failure_factor=1000.0).rates
    assert (decode.per_node_h, prefill.per_node_h) == pytest.approx((0.05, 0.05))
    assert (decode.nodes.of(2), prefill.nodes.of(8)) == (36, 32)


def test_a_unit_loads_the_weights_of_a_gpu_and_starts_up() -> None:
    facts = physics(SMALL, catalog=CATALOG)
    chosen = options({"load_gb_per_s": 2, "start_up_s": 100.0})
    assert load_s(chosen, facts=facts) == pytest.approx(facts.decode_memory.weights_bytes / 2e9 + 100.0)
    # 70.6 billion parameters, most of one byte, on four GPUs.
    assert facts.decode_memory.weights_bytes == pytest.approx(70.6e9 / 4, rel=0.05)


def test_the_pool_sends_the_kv_of_a_token_in_its_bytes_over_the_link() -> None:
    facts = physics(SPEC, catalog=CATALOG)
    pool = recovery_for(options({"lost_kv": "pool", "pool_gb_per_s": 70.272}), facts=facts)
    assert (pool.pool_holds, pool.pool_s_per_token) == ("answers", pytest.approx(1e-6))
    assert recovery_for(options({}), facts=facts).pool_holds == "nothing"


def test_a_unit_aims_for_a_share_of_what_it_carries_within_the_objective() -> None:
    """A decode unit of the reference carries 92.5 sequences a GPU, 13,320; prefill aims for time at work."""
    decode, prefill = control(autoscale="on", scale_target=0.5, least_decode_units=2).scaling
    assert (decode.policy.target, decode.policy.least, decode.policy.most) == (pytest.approx(6660.0), 2, 2)
    assert (prefill.load, prefill.policy.target, prefill.policy.most) == ("busy", 0.5, 8)


def test_a_night_lies_by_the_clock_of_the_arrivals() -> None:
    asked = {"night_decode_units": 1, "night_from_h": 22.0, "night_to_h": 6.0}
    (night,) = control(arrivals="diurnal", start_h=12.0, day_s=2400.0, **asked).nights
    spans = night.spans_s()
    assert next(spans) == (1000.0, 1800.0)
    assert control(night_decode_units=2).nights == ()


@pytest.mark.parametrize(
    ("spec", "asked", "named"),
    [
        (SPEC, {"fail_prefill_unit_at_s": 1000.0}, "fail_prefill_unit_at_s"),
        (SMALL, {"fail_prefill_unit_at_s": 5.0}, "fail_prefill_unit_at_s"),
        (SMALL, {"night_prefill_units": 1}, "night_prefill_units"),
        (SPEC, {"night_decode_units": 1, "night_from_h": 3.0, "night_to_h": 3.0}, "night_to_h"),
        (SPEC, {"autoscale": "on", "least_decode_units": 3}, "least_decode_units"),
    ],
)
def test_what_does_not_fit_the_fleet_is_refused_by_name(spec: LlmServingSpec, asked: dict, named: str) -> None:
    with pytest.raises(ValueError, match=f"options.{named}"):
        control(spec, **asked)


def test_a_loss_is_told_before_during_and_after() -> None:
    found = run(SMALL, fail_decode_unit_at_s=40.0, rejoin_s=20.0)
    lost = next(one for one in found.findings if one.code == "unit_lost")
    assert "no request was lost" in lost.message
    assert found.value("requests_lost") == 0
    assert found.value("units_back_after_s") == pytest.approx(23.0)
    assert list(found.series["phases"].column("phase").values) == ["before", "during", "after"]
    assert {"replica lost", "replica back"} <= set(found.series["events"].column("what").values)
    ups = found.series["timeline"].column("units_up").values
    assert (max(ups), min(ups)) == (2.0, 1.0)
    assert KIND.simulator is not None
    estimate = KIND.estimate(SMALL, CATALOG)
    assert "simulated_timeline_units" in {chart.name for chart in KIND.simulator.charts(SMALL, estimate, found)}


def test_requests_that_fail_with_their_unit_are_counted() -> None:
    found = run(SMALL, fail_decode_unit_at_s=40.0, rejoin_s=20.0, on_loss="fail")
    counts = [found.value(f"requests_{name}") or 0 for name in ("finished", "rejected", "lost", "in_flight")]
    assert found.value("requests_arrived") == sum(counts)
    assert counts[2] > 0


def test_a_run_without_losses_tells_of_none() -> None:
    found = run(SMALL, duration_s=20.0)
    assert not {"events", "phases"} & set(found.series)
    assert "requests_lost" not in found.metrics
    assert "decode_unit_hours_used" not in found.metrics


def test_released_hours_are_counted_and_priced() -> None:
    asked = {"night_from_h": 0.01, "night_to_h": 0.02, "night_decode_units": 1, "start_up_s": 0.0}
    found = run(SMALL, duration_s=90.0, load_gb_per_s=1e4, **asked)
    # One of two replicas for 36 s, less the time in which it drains.
    assert 0 < (found.value("decode_unit_hours_released") or 0) < 0.0101
    assert "worth" in next(one for one in found.findings if one.code == "decode_released").message


def test_the_drill_answers_in_a_sentence() -> None:
    drill = DRILLS[0]
    sides = drill.variants(SMALL, CATALOG)
    drilled = []
    for side in sides:
        spec = SMALL.model_copy(update=dict(side.changes))
        simulated = run(spec, fail_decode_unit_at_s=40.0, rejoin_s=20.0)
        drilled.append(Drilled(side.label, spec, KIND.estimate(spec, CATALOG), simulated))
    text = drill.answer(drilled)
    assert "TTFT P99" in text
    assert "no request was lost" in text
    claim = text.split("**")[1]
    assert claim.startswith("With ")
    assert claim.endswith(("/h more.", "/h less."))
    empty = replace(drilled[0], simulated=run(SMALL.model_copy(update={"peak_rps": 0.0})))
    assert "No request came after the loss" in drill.answer([empty, empty])

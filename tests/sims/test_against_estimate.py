"""The simulator of the serving kind: it shares its physics with the estimate, and speaks to the surfaces."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import Cancelled, SimulationRequest, Workload
from planner.kinds.llm_serving.estimate import estimate
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.simulate import SIMULATOR
from planner.kinds.llm_serving.spec import LlmServingSpec

CONVERSATION = Workload(
    name="conversation",
    arrival_s=np.arange(400) * 0.25,
    input_tokens=np.arange(400) % 90 * 20 + 100,
    output_tokens=np.arange(400) % 37 * 5 + 1,
)


class Quiet:
    def __init__(self, *, stop: bool = False) -> None:
        self.stop, self.told = stop, []

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        self.told.append((fraction, simulated_s, partial))

    def cancelled(self) -> bool:
        return self.stop


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return files.load()


def run(
    catalog: Catalog, *, spec: Mapping[str, Any] | None = None, hooks: Quiet | None = None, **request: Any
) -> Result:
    return SIMULATOR.run(LlmServingSpec(**(spec or {})), catalog, SimulationRequest(**request), hooks or Quiet())


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("rate_mode", ["assumed", "derived"])
@pytest.mark.parametrize("topology", ["disaggregated", "aggregated"])
def test_at_low_load_estimate_and_simulation_agree(catalog: Catalog, topology: str, rate_mode: str) -> None:
    """At one request in twenty seconds nothing queues.

    The estimate counts the fixed part of a prefill step once a prompt, the simulation once for each step it takes. In
    decode it spreads a lone sequence over the unit; in the simulation its rank has all of it, and the others wait.
    """
    spec = LlmServingSpec(peak_rps=0.05, topology=topology, rate_mode=rate_mode, output_sigma=0.3)
    simulated = SIMULATOR.run(spec, catalog, SimulationRequest(requests=4000), Quiet())
    promised, facts = estimate(spec, catalog), physics(spec, catalog=catalog)
    for name in ("ttft_p50_s", "ttft_p90_s"):
        value, expected = simulated.value(name), promised.value(name)
        prompt_tokens = expected / facts.prefill_token_s
        more_steps_s = math.ceil(prompt_tokens / facts.prefill_step_tokens) * facts.prefill_step_fixed_s
        assert 0.95 * expected < value < 1.03 * expected + more_steps_s
    lanes = facts.decode_lanes if topology == "disaggregated" else facts.prefill_lanes
    alone_s = facts.decode_fixed_s + facts.decode_per_sequence_s * lanes / facts.decode_unit_gpus
    assert simulated.value("tpot_p50_s") == pytest.approx(alone_s, rel=0.02)


def test_at_the_reference_load_decode_and_work_agree(catalog: Catalog) -> None:
    """What does not depend on queueing: work, batch, step time, hand-over."""
    simulated, promised = run(catalog, duration_s=600.0), estimate(LlmServingSpec(), catalog)
    for name, tolerance in (
        ("tpot_p50_s", 0.03),
        ("decode_running_per_gpu", 0.04),
        ("prefill_utilisation", 0.02),
        ("decode_utilisation", 0.02),
        ("output_tokens_per_s", 0.02),
        ("kv_transfer_bytes_per_s", 0.02),
    ):
        assert simulated.value(name) == pytest.approx(promised.value(name), rel=tolerance), name
    assert simulated.value("ttft_p50_s") >= promised.value("ttft_p50_s") * 0.95


def test_the_reference_fleet_holds_its_objectives_in_simulation(catalog: Catalog) -> None:
    simulated = run(catalog, duration_s=300.0)
    assert simulated.metrics["ttft_p99_s"].met
    assert simulated.metrics["tpot_p99_s"].met
    assert "not_steady" not in codes(simulated)
    assert all(metric.basis == "simulated" for metric in simulated.metrics.values())
    p99 = simulated.metrics["ttft_p99_s"]
    assert p99.low < p99.value < p99.high


def test_requests_are_all_accounted_for(catalog: Catalog) -> None:
    found = run(catalog, workload=CONVERSATION)
    counts = [found.value(f"requests_{name}") for name in ("finished", "rejected", "in_flight")]
    assert found.value("requests_arrived") == sum(counts) == 400


def test_more_than_the_fleet_can_carry_is_an_answer(catalog: Catalog) -> None:
    found = run(catalog, duration_s=120.0, options={"rate_scale": 4.0})
    finding = next(finding for finding in found.findings if finding.code == "not_steady")
    assert finding.severity == "error"
    assert finding.change
    assert "does not keep up" in found.answer.sentence


def test_the_suggested_unit_is_the_one_that_is_short(catalog: Catalog) -> None:
    found = run(catalog, duration_s=200.0, options={"rate_scale": 1.5})
    finding = next(finding for finding in found.findings if finding.code == "not_steady")
    assert finding.change == {"spare_prefill_units": 1}


@pytest.mark.parametrize(
    ("spec", "request_", "code"),
    [
        ({"peak_rps": 0}, {}, "no_requests"),
        (
            {},
            {
                "workload": dataclasses.replace(
                    CONVERSATION, arrival_s=np.zeros(0), input_tokens=np.zeros(0, int), output_tokens=np.zeros(0, int)
                )
            },
            "no_requests",
        ),
        ({"peak_rps": 0}, {"workload": CONVERSATION}, "no_fleet"),
        ({"decode_unit_gpus": 1, "gpus_per_node": 1, "redundant_experts": 0}, {}, "kv_does_not_fit"),
    ],
)
def test_nothing_to_simulate_is_a_result_with_a_finding(
    catalog: Catalog, spec: dict[str, Any], request_: dict[str, Any], code: str
) -> None:
    found = run(catalog, spec=spec, **request_)
    assert codes(found) == {code}
    assert found.value("requests_arrived") == 0
    assert found.metrics["ttft_p99_s"].value is None
    assert SIMULATOR.charts(LlmServingSpec(**spec), estimate(LlmServingSpec(**spec), catalog), found) == []


def test_a_trace_is_replayed_and_its_difference_from_the_design_told(catalog: Catalog) -> None:
    found = run(catalog, workload=CONVERSATION)
    assert "workload_differs" in codes(found)
    assert found.provenance["workload"] == "conversation"
    twice = run(catalog, workload=CONVERSATION, options={"rate_scale": 2.0})
    assert twice.provenance["horizon_s"] == pytest.approx(found.provenance["horizon_s"] / 2)


def test_a_trace_is_cut_by_requests_and_duration(catalog: Catalog) -> None:
    assert run(catalog, workload=CONVERSATION, requests=33).value("requests_arrived") == 33
    assert run(catalog, workload=CONVERSATION, duration_s=10.0).value("requests_arrived") == 41


def test_lengths_of_a_trace_can_arrive_at_the_rate_of_the_design(catalog: Catalog) -> None:
    options = {"arrivals": "poisson", "rate_scale": 0.1}
    found = run(catalog, workload=CONVERSATION, duration_s=100.0, options=options)
    assert found.value("requests_arrived") == pytest.approx(5000, abs=4 * 5000**0.5)


def test_a_lost_unit_is_told_and_costs_latency(catalog: Catalog) -> None:
    options = {"fail_decode_unit_at_s": 100.0, "rejoin_s": 60.0}
    kept, lost = (run(catalog, duration_s=300.0, options=which) for which in ({}, options))
    assert "unit_lost" in codes(lost)
    assert lost.value("requests_restarted") > 1000
    assert lost.value("tpot_p99_s") > 1.2 * kept.value("tpot_p99_s")


def test_the_same_seed_gives_the_same_result_and_another_does_not(catalog: Catalog) -> None:
    one, two, other = (run(catalog, duration_s=20.0, seed=seed) for seed in (3, 3, 4))
    assert one == two
    assert one.metrics != other.metrics


def test_cancelling_reaches_the_caller_as_its_own_exception(catalog: Catalog) -> None:
    with pytest.raises(Cancelled):
        run(catalog, duration_s=3600.0, hooks=Quiet(stop=True))


def test_progress_ends_at_one_with_figures_so_far(catalog: Catalog) -> None:
    hooks = Quiet()
    run(catalog, duration_s=60.0, hooks=hooks)
    fraction, simulated_s, partial = hooks.told[-1]
    assert fraction == 1.0
    assert simulated_s == pytest.approx(60.0, abs=0.1)
    assert partial is not None
    assert partial["ttft_p50_s"] > 0


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ({"options": {"speed": 1}}, "options.speed"),
        ({"options": {"router": "psychic"}}, "options.router"),
        ({"options": {"arrivals": "trace"}}, "options.arrivals"),
        ({"options": {"rate_scale": 0}}, "options.rate_scale"),
        ({"options": {"rate_scale": "fast"}}, "options.rate_scale"),
        ({"options": {"rate_scale": True}}, "options.rate_scale"),
        ({"options": {"rate_scale": float("nan")}}, "options.rate_scale"),
        ({"options": {"warmup_s": 700}, "duration_s": 600}, "options.warmup_s"),
        ({"options": {"fail_decode_unit_at_s": 700}, "duration_s": 600}, "options.fail_decode_unit_at_s"),
        ({"duration_s": -1}, "duration_s"),
        ({"duration_s": 1e8}, "duration_s"),
        ({"requests": 0}, "requests"),
        ({"seed": -1}, "seed"),
        ({"workload": dataclasses.replace(CONVERSATION, arrival_s=CONVERSATION.arrival_s[::-1])}, "not sorted"),
        ({"workload": dataclasses.replace(CONVERSATION, output_tokens=-CONVERSATION.output_tokens)}, "negative"),
        ({"workload": dataclasses.replace(CONVERSATION, output_tokens=np.ones(3, int))}, "differ in length"),
    ],
)
def test_an_impossible_request_is_refused_by_name(catalog: Catalog, request_: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        run(catalog, **request_)


def test_empty_options_of_a_form_mean_the_defaults(catalog: Catalog) -> None:
    blank = {"warmup_s": "", "rejoin_s": None, "fail_decode_unit_at_s": ""}
    given, none = run(catalog, duration_s=10.0, options=blank), run(catalog, duration_s=10.0)
    assert given.metrics == none.metrics


def test_series_have_columns_of_one_length_and_no_holes_in_time(catalog: Catalog) -> None:
    found = run(catalog, workload=CONVERSATION)
    assert set(found.series) == {"ttft_cdf", "tpot_cdf", "timeline"}
    for series in found.series.values():
        assert len({len(column.values) for column in series.columns}) == 1
    times = found.series["timeline"].columns[0].values
    assert list(times) == sorted(times)


def test_charts_draw_the_estimate_beside_the_simulation(catalog: Catalog) -> None:
    spec = LlmServingSpec()
    simulated, promised = run(catalog, duration_s=60.0), estimate(spec, catalog)
    drawn = {chart.name: chart for chart in SIMULATOR.charts(spec, promised, simulated)}
    for name in ("ttft", "tpot"):
        traces = {trace.name: trace for trace in drawn[f"simulated_{name}_cdf"].traces}
        assert traces["estimate"].marker_only
        assert list(traces["estimate"].x) == [promised.value(f"{name}_{rank}_s") for rank in ("p50", "p90", "p99")]
        assert max(traces["simulated"].y) == 1.0
    bars = {trace.name: trace for trace in drawn["simulated_percentiles"].traces}
    assert bars["simulated"].y[2] == pytest.approx(simulated.value("ttft_p99_s") / spec.ttft_p99_slo_s)
    for chart in drawn.values():
        assert chart.summary
        assert all(len(trace.x) == len(trace.y) for trace in chart.traces)

"""The estimate beside a run: the fleet as bought, under the load that the run brings."""

from __future__ import annotations

import numpy as np
import pytest

from planner import kinds
from planner.catalog import files
from planner.core.simulation import SimulationRequest, Workload

CATALOG = files.load()
KIND = kinds.get("llm_serving")
SPEC = KIND.spec()


def expected(request: SimulationRequest):
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    return KIND.simulator.expected(SPEC, CATALOG, request)


def trace(*, requests: int = 100, gap_s: float = 0.5) -> Workload:
    """Equal requests at equal gaps: the mean rate is the reciprocal of the gap."""
    return Workload(
        name="even",
        arrival_s=np.arange(requests) * gap_s,
        input_tokens=np.full(requests, 1000),
        output_tokens=np.full(requests, 100),
    )


def test_without_a_trace_it_is_the_estimate_of_the_design() -> None:
    own = KIND.estimate(SPEC, CATALOG)
    beside = expected(SimulationRequest(duration_s=60))
    assert {name: metric.value for name, metric in beside.metrics.items()} == {
        name: metric.value for name, metric in own.metrics.items()
    }


def test_a_trace_keeps_the_fleet_and_brings_its_own_load() -> None:
    own, beside = KIND.estimate(SPEC, CATALOG), expected(SimulationRequest(workload=trace()))
    for name in ("nodes", "prefill_units", "decode_units", "cost_usd_per_h"):
        assert beside.value(name) == own.value(name), name
    # 2 requests a second of 500 uncached tokens over 4,000 tokens a second a GPU
    assert beside.value("prefill_gpus_needed") == pytest.approx(2 * 500 / 4000)
    assert beside.value("ttft_p99_s") < own.value("ttft_p99_s")
    assert beside.value("tpot_p50_s") < own.value("tpot_p50_s")


def test_a_faster_replay_brings_more() -> None:
    twice = expected(SimulationRequest(workload=trace(), options={"rate_scale": 2.0}))
    assert twice.value("prefill_gpus_needed") == pytest.approx(4 * 500 / 4000)


def test_only_the_part_that_is_replayed_counts() -> None:
    slow, fast = trace(requests=50, gap_s=1.0), trace(requests=50, gap_s=0.1)
    both = Workload(
        name="two paces",
        arrival_s=np.concatenate([slow.arrival_s, 50 + fast.arrival_s]),
        input_tokens=np.full(100, 1000),
        output_tokens=np.full(100, 100),
    )
    first = expected(SimulationRequest(workload=both, duration_s=49.5))
    assert first.value("prefill_gpus_needed") == pytest.approx(1 * 500 / 4000)


def test_an_empty_trace_is_no_load() -> None:
    nothing = trace(requests=0)
    assert expected(SimulationRequest(workload=nothing)).value("prefill_gpus_needed") == 0


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (SimulationRequest(duration_s=60, options={"arrivals": "trace"}), "options.arrivals"),
        (SimulationRequest(duration_s=60, options={"warmup_s": 60.0}), "options.warmup_s"),
        (SimulationRequest(duration_s=60, options={"fail_decode_unit_at_s": 61.0}), "options.fail_decode_unit_at_s"),
        (SimulationRequest(duration_s=1e6, options={"rate_scale": 1000.0}), "duration_s"),
        (SimulationRequest(duration_s=-1.0), "duration_s"),
    ],
)
def test_an_impossible_run_is_refused_before_it_is_queued(request_: SimulationRequest, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        expected(request_)

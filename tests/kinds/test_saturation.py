"""Near saturation every kind gives a range and a finding, past it no latency and the word for it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Metric, Result
from planner.kinds import get

CATALOG = files.load()
LATENCIES = {
    "engine_instance": ("ttft_mean_s", "ttft_p50_s", "ttft_p99_s", "tpot_mean_s", "tpot_p99_s", "e2e_mean_s"),
    "llm_serving": ("ttft_mean_s", "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "tpot_p99_s"),
}
MOST = float(get("engine_instance").estimate(get("engine_instance").spec(), CATALOG).value("max_request_rate_rps") or 0)
CALM: dict[str, dict[str, Any]] = {
    "engine_instance": {"rate_rps": 0.2 * MOST},
    "llm_serving": {"prefill_unit_gpus": 16, "headroom": 0.5, "peak_rps": 400.0},
}
NEAR: dict[str, dict[str, Any]] = {
    "engine_instance": {"rate_rps": 0.95 * MOST},
    "llm_serving": {"prefill_unit_gpus": 16, "headroom": 0.0, "peak_rps": 460.0},
}
PAST: dict[str, dict[str, Any]] = {
    "engine_instance": {"rate_rps": 100 * MOST},
    "llm_serving": {
        "topology": "aggregated",
        "decode_unit_gpus": 8,
        "headroom": 0.0,
        "llm": "llama-3-1-70b",
        "gpu": "h100-sxm",
        "kv_bytes_per_token": None,
        "decode_tokens_per_s_per_gpu": 20_000.0,
    },
}


def answer(kind: str, spec: dict[str, Any]) -> Result:
    found = get(kind)
    return found.estimate(found.spec.model_validate(spec), CATALOG)


def width(metric: Metric) -> float:
    assert metric.value is not None
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low <= metric.value <= metric.high
    return metric.high / metric.low


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("kind", LATENCIES)
def test_near_saturation_each_latency_has_a_wider_range_and_a_finding_says_so(kind: str) -> None:
    calm, near = answer(kind, CALM[kind]), answer(kind, NEAR[kind])
    assert not any("near_saturation" in code for code in codes(calm))
    assert any("near_saturation" in code for code in codes(near))
    for name in LATENCIES[kind]:
        # A pool of its own keeps decode apart: when prefill is the narrow place, its queue does not reach TPOT.
        if kind == "engine_instance" or name.startswith("ttft"):
            assert width(near.metrics[name]) > width(calm.metrics[name]), name


@pytest.mark.parametrize("kind", LATENCIES)
def test_where_the_slow_end_cannot_keep_up_the_range_holds_an_hour_of_its_queue(kind: str) -> None:
    near = answer(kind, NEAR[kind])
    high = near.metrics["ttft_p99_s"].high
    assert high is not None
    assert 60 < high < 3600
    assert any("after an hour of this load" in finding.message for finding in near.findings)
    calm = answer(kind, CALM[kind])
    assert not any("after an hour" in finding.message for finding in calm.findings)


@pytest.mark.parametrize("kind", LATENCIES)
def test_past_saturation_no_latency_exists_and_it_is_called_unstable(kind: str) -> None:
    past = answer(kind, PAST[kind])
    assert all(past.metrics[name].value is None for name in LATENCIES[kind])
    assert all(past.metrics[name].high is None for name in LATENCIES[kind])
    assert any("unstable" in code for code in codes(past))
    assert "Unstable" in past.answer.sentence
    kind_of = get(kind)
    assert kind_of.charts(kind_of.spec.model_validate(PAST[kind]), past)


def test_the_change_offered_near_saturation_is_served_even_by_the_slow_end() -> None:
    near = answer("engine_instance", NEAR["engine_instance"])
    finding = next(found for found in near.findings if found.code == "near_saturation")
    assert finding.change is not None
    after = answer("engine_instance", {**NEAR["engine_instance"], **finding.change})
    assert "near_saturation" not in codes(after)
    assert not any("after an hour" in found.message for found in after.findings)


def test_ranges_of_an_open_loop_never_hold_more_than_there_are_places() -> None:
    near = answer("engine_instance", NEAR["engine_instance"])
    running, places = near.metrics["running_requests"], answer("engine_instance", {"concurrency": 50_000.0})
    most = places.value("running_requests")
    assert most is not None
    assert running.high is not None
    assert running.high <= most * 1.001

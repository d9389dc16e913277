"""Whatever the design, a gateway's answer is finite, its parts sum, and more of what helps never hurts."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("gateway")
CATALOG = files.load()
BILL = ("replicas_used", "replicas_spare", "replicas_headroom", "instances", "egress")
SHARES = ("hit_share", "hit_share_held", "hit_share_captured", "hit_share_random", "turned_away", "urgent_shed")

DESIGNS = st.fixed_dictionaries(
    {
        "peak_rps": st.sampled_from([0.0, 1e-6, 1.0, 300.0, 5000.0, 1e6]),
        "input_tokens": st.sampled_from([1.0, 63.0, 4096.0, 200_000.0, 1e7]),
        "prefix_tokens": st.sampled_from([0.0, 1.0]),
        "output_tokens": st.sampled_from([0.0, 1.0, 400.0, 1e5]),
        "prefix_groups": st.sampled_from([0, 1, 7, 2000, 1_000_000]),
        "prefix_exponent": st.sampled_from([0.0, 0.7, 1.0, 4.0]),
        "turns": st.sampled_from([1.0, 1.5, 4.0, 1000.0]),
        "gap_s": st.sampled_from([1e-3, 20.0, 1e6]),
        "instances": st.sampled_from([1, 2, 200, 5000]),
        "kv_tokens_per_instance": st.sampled_from([0, 1000, 2_000_000, 10**12]),
        "policy": st.sampled_from(
            ["random", "round_robin", "least_requests", "power_of_two", "bounded_hash", "prefix_aware", "cost_based"]
        ),
        "hash_key": st.sampled_from(["prefix", "session"]),
        "hot_prefix_cap": st.sampled_from([None, 0.1, 1.25, 1000.0]),
        "index_place": st.sampled_from(["service", "in_process", "approximate"]),
        "detection": st.sampled_from(["active", "passive", "both"]),
        "failure_mode": st.sampled_from(["refuses", "hangs"]),
        "probe_path": st.sampled_from(["aside", "queued"]),
        "half_open": st.sampled_from(["on", "off"]),
        "gateway_replicas": st.sampled_from([None, 1, 3, 400]),
        "instance_usd_per_h": st.sampled_from([None, 16.0]),
        "overload_factor": st.sampled_from([0.0, 0.9, 1.0, 7.0]),
    }
)


def answer(spec: dict[str, Any]) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


@settings(max_examples=60, deadline=None)
@given(DESIGNS)
def test_figures_are_finite_shares_are_shares_and_parts_sum(spec: dict[str, Any]) -> None:
    result = answer(spec)
    for name, metric in result.metrics.items():
        assert metric.value is None or math.isfinite(metric.value), name
    for name in SHARES:
        value = result.value(name)
        assert value is not None, name
        assert -1e-9 <= value <= 1 + 1e-9, (name, value)
    assert sum(result.value(f"{part}_usd_per_h") or 0.0 for part in BILL) == result.value("cost_usd_per_h")
    assert (result.value("hit_share_captured") or 0.0) <= (result.value("hit_share_held") or 0.0) + 0.02
    for series in result.series.values():
        for column in series.columns:
            assert all(not isinstance(v, float) or math.isfinite(v) for v in column.values), (series.name, column.name)
    model = KIND.spec.model_validate(spec)
    assert list(KIND.charts(model, result))
    assert KIND.advice.follow_ups(model, result)
    assert KIND.advice.variants(model, result)


@settings(max_examples=25, deadline=None)
@given(DESIGNS)
def test_more_cache_never_hits_less(spec: dict[str, Any]) -> None:
    small = answer(spec | {"kv_tokens_per_instance": 100_000})
    large = answer(spec | {"kv_tokens_per_instance": 1_000_000})
    for name in ("hit_share_held", "hit_share_random"):
        # Returns to one of many caches are summed on a grid of time: good to four digits.
        assert (large.value(name) or 0.0) >= (small.value(name) or 0.0) - 1e-4, name


@settings(max_examples=25, deadline=None)
@given(DESIGNS)
def test_a_larger_peak_never_needs_fewer_replicas(spec: dict[str, Any]) -> None:
    few, many = answer(spec | {"peak_rps": 400.0}), answer(spec | {"peak_rps": 900.0})
    one, other = few.value("replicas_needed"), many.value("replicas_needed")
    assert one is None or other is None or other >= one


def test_one_instance_ties_with_itself() -> None:
    result = answer({"instances": 1, "peak_rps": 10.0})
    rates = {rate for rate in result.series["policies"].column("capacity_rps").values if isinstance(rate, float)}
    assert max(rates) / min(rates) < 1.005


def test_without_requests_only_the_replicas_cost() -> None:
    result = answer({"peak_rps": 0.0})
    assert result.value("cost_usd_per_m_requests") is None
    assert result.value("cost_usd_per_m_output_tokens") is None
    assert result.value("requests_lost") in (0.0, None)

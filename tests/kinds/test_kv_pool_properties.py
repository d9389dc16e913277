"""What holds for any pool: finite figures, shares that are shares, more room that never hits less."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("kv_pool")
CATALOG = files.load()
FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much])

SPECS = st.fixed_dictionaries(
    {
        "turns_per_s": st.sampled_from([0.0, 1e-6, 0.3, 20.0, 500.0, 1e6]),
        "context_tokens": st.sampled_from([1.0, 300.0, 8192.0, 1e6, 1e7]),
        "new_tokens": st.sampled_from([0.0, 1.0, 500.0, 20_000.0]),
        "output_tokens": st.just(0.0),
        "continue_probability": st.sampled_from([0.0, 0.5, 0.999]),
        "gap_law": st.sampled_from(["exponential", "lognormal", "hyperexponential"]),
        "gap_s": st.sampled_from([1e-3, 30.0, 1e8]),
        "gap_sigma": st.sampled_from([0.0, 0.3, 5.0]),
        "source": st.sampled_from(["sessions", "sessions", "zipf"]),
        "one_shot_share": st.sampled_from([0.0, 0.4, 1.0]),
        "agent_share": st.sampled_from([0.0, 0.5, 1.0]),
        "shared_prefix_tokens": st.sampled_from([0.0, 1.0, 250.0]),
        "llm": st.sampled_from(["llama-3-1-70b", "deepseek-v3", "qwen3-next-80b-a3b", "gemma-3-27b", "opt-125m"]),
        "kv_bytes_per_token": st.sampled_from([None, 1.0, 160e3]),
        "attention_width": st.sampled_from([None, 0.0]),
        "nodes": st.sampled_from([1, 16, 5000]),
        "hbm_bytes_per_gpu": st.sampled_from([0.0, 40e9]),
        "dram_bytes_per_node": st.sampled_from([0.0, 1.5e12]),
        "ssd_bytes_per_node": st.sampled_from([0.0, 60e12]),
        "eviction": st.sampled_from(["lru", "ttl", "value"]),
        "relation": st.sampled_from(["exclusive", "inclusive", "ssd_inclusive"]),
        "placement": st.sampled_from(["pool", "affinity", "random"]),
        "state_grain_tokens": st.sampled_from([None, 4096]),
    }
)


def answer(spec: dict[str, Any]) -> Result | None:
    """None where two fields exclude each other."""
    try:
        stated = KIND.spec.model_validate(spec)
    except ValidationError:
        return None
    return KIND.estimate(stated, CATALOG)


@FEW
@given(spec=SPECS)
def test_figures_are_finite_and_shares_are_shares(spec: dict[str, Any]) -> None:
    made = answer(spec)
    if made is None:
        return
    for name, metric in made.metrics.items():
        assert metric.value is None or math.isfinite(metric.value), name
    for name in ("hit_share", "miss_share", "reusable_share", "prefix_hit_rate", "canary_hit_share"):
        assert -1e-9 <= (made.value(name) or 0.0) <= 1 + 1e-9, name
    tiers = [made.value(f"{tier}_hit_share") or 0.0 for tier in ("hbm", "dram", "ssd")]
    assert all(share >= -1e-9 for share in tiers)
    assert sum(tiers) == pytest.approx(made.value("hit_share"), abs=1e-9)
    for series in made.series.values():
        for column in series.columns:
            assert all(isinstance(each, str) or each is None or math.isfinite(each) for each in column.values)
    parts = [made.value(f"{part}_usd_per_h") or 0.0 for part in ("new", "again", "idle", "dram", "ssd")]
    assert sum(parts) == made.value("cost_usd_per_h")
    assert all(part >= 0 for part in parts)
    assert list(KIND.charts(KIND.spec.model_validate(spec), made))


@FEW
@given(spec=SPECS, tier=st.sampled_from(["hbm_bytes_per_gpu", "dram_bytes_per_node", "ssd_bytes_per_node"]))
def test_more_room_never_hits_less(spec: dict[str, Any], tier: str) -> None:
    small, large = answer(spec), answer({**spec, tier: 2 * spec[tier] + 1e9})
    if small is None or large is None:
        return
    tolerance = 0.004 if spec["placement"] == "random" else 1e-6
    assert (large.value("hit_share") or 0.0) >= (small.value("hit_share") or 0.0) - tolerance


@FEW
@given(spec=SPECS)
def test_a_pool_never_computes_more_than_none(spec: dict[str, Any]) -> None:
    made = answer(spec)
    saved = None if made is None else made.value("compute_saved_share")
    assert saved is None or saved >= -1e-9


@FEW
@given(spec=SPECS)
def test_figures_that_do_not_exist_have_a_reason(spec: dict[str, Any]) -> None:
    made = answer(spec)
    if made is None:
        return
    missing = {name for name, metric in made.metrics.items() if metric.value is None}
    if missing:
        assert made.findings, missing


def test_no_load_is_an_answer() -> None:
    made = answer({"turns_per_s": 0.0})
    assert made is not None
    assert made.value("prefill_units") == 0
    assert made.value("cost_usd_per_m_output_tokens") is None
    assert made.value("cost_usd_per_h") == pytest.approx(15_216 / 730)


def test_value_never_hits_less_than_age_for_sessions_whose_return_grows_rarer() -> None:
    for share in (0.0, 0.3, 0.8):
        made = answer({"gap_law": "exponential", "agent_share": share, "one_shot_share": 0.2})
        assert made is not None
        assert (made.value("value_hit_share") or 0) >= (made.value("lru_hit_share") or 0) - 2e-3

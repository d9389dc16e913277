"""What must hold of any multi-LoRA design: figures move the right way, sums close, every setting has an answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

CATALOG = files.load()
KIND = get("multi_lora")


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    return math.inf if found is None else found


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "llm": st.sampled_from(["llama-3-1-8b", "qwen3-30b-a3b", "deepseek-v3", "gemma-3-27b", "jamba-1-5-mini"]),
        "base_parameters": st.sampled_from([None, 8e9]),
        "adapters": st.integers(1, 30_000),
        "tenants": st.integers(1, 50),
        "rank": st.sampled_from([1, 8, 24, 64]),
        "targets": st.sampled_from(["qv", "attention", "linear", "experts"]),
        "zipf_exponent": st.floats(0, 2.5),
        "requests_per_s": st.floats(0, 5000),
        "input_tokens": st.floats(1, 20_000),
        "output_tokens": st.floats(1, 3000),
        "prefix_share": st.floats(0, 0.9),
        "base_share": st.floats(0, 1),
        "gpus_per_replica": st.sampled_from([1, 2, 8]),
        "replicas": st.none() | st.integers(1, 40),
        "slots": st.none() | st.integers(1, 400),
        "host_memory_bytes": st.floats(0, 1e12),
        "pinned_adapters": st.integers(0, 30),
        "kernels": st.sampled_from(["grouped", "gather"]),
        "copying": st.sampled_from(["stalls", "beside", "layers"]),
        "routing": st.sampled_from(["random", "hash", "load_aware"]),
        "copies": st.integers(1, 5),
        "cold_replicas": st.integers(0, 3),
        "fairness": st.sampled_from(["weighted", "first_come"]),
        "tenant_limit_rps": st.none() | st.floats(0.01, 100),
    },
)


@given(SPECS)
@settings(max_examples=120, deadline=None)
def test_any_design_has_an_answer_whose_sums_close(given_spec: dict[str, Any]) -> None:
    try:
        result = answer(**given_spec)
    except ValidationError:
        return
    for name, metric in result.metrics.items():
        assert metric.value is None or math.isfinite(metric.value), name
    shares = [value(result, name) for name in ("gpu_hit_share", "host_hit_share", "store_share")]
    assert sum(shares) == pytest.approx(1.0, abs=1e-6)
    assert min(shares) >= 0
    parts = [value(result, f"memory_{name}_bytes") for name in ("weights", "slots", "reserved", "kv")]
    assert sum(parts) == value(result, "memory_bytes")
    lines = ("base", "adapter_steps", "slot_rent", "loads", "idle", "spare")
    bill = [value(result, f"{name}_usd_per_h") for name in lines]
    assert sum(bill) == value(result, "cost_usd_per_h")
    assert min(bill) >= 0
    rows = result.series["tenant_bill"].column("usd_per_h").values
    assert math.fsum(float(each or 0.0) for each in rows) == pytest.approx(value(result, "cost_usd_per_h"), rel=1e-9)
    if result.value("replicas") is None or result.value("ttft_p99_s") is None:
        assert any(each.severity != "info" for each in result.findings)
    assert list(KIND.charts(KIND.spec.model_validate(given_spec), result))


@pytest.mark.parametrize(
    ("field", "values", "name", "sign"),
    [
        ("rank", [8, 16, 32, 64], "slot_bytes", 1),
        ("rank", [8, 16, 32, 64], "resident_adapters", -1),
        ("zipf_exponent", [0.0, 0.5, 0.9, 1.3, 2.0], "gpu_hit_share", 1),
        ("slots", [20, 60, 120, 240], "gpu_hit_share", 1),
        ("slots", [20, 60, 120, 240], "kv_tokens", -1),
        ("copies", [1, 2, 3, 4], "gpu_hit_share", -1),
        ("host_memory_bytes", [9e9, 20e9, 50e9, 90e9], "store_share", -1),
        ("requests_per_s", [0.0, 5.0, 30.0, 120.0, 900.0], "replicas_needed", 1),
        ("tensor_s", [0.0, 20e-6, 450e-6], "ttft_warm_s", 1),
        ("tpot_slo_s", [0.012, 0.02, 0.04], "replica_max_rps", 1),
        ("noisy_factor", [1.0, 5.0, 50.0], "noisy_utilisation", 1),
        ("headroom", [0.0, 0.5, 2.0], "replicas_needed", 1),
    ],
)
def test_figures_move_the_right_way(field: str, values: list[Any], name: str, sign: int) -> None:
    context = {"replicas": 4} if name in ("gpu_hit_share", "ttft_warm_s", "noisy_utilisation", "store_share") else {}
    seen = [sign * value(answer(**context, **{field: each}), name) for each in values]
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]


@pytest.mark.parametrize("slots", [16, 24, 32, 40, 48])
def test_waits_grow_with_load_and_fall_with_slots(slots: int) -> None:
    base = {"routing": "random", "replicas": 4}
    here = value(answer(**base, slots=slots), "slot_wait_s")
    assert here >= value(answer(**base, slots=slots + 4), "slot_wait_s")
    assert here >= value(answer(**base, slots=slots, requests_per_s=50.0), "slot_wait_s")


@pytest.mark.parametrize("routing", ["random", "hash", "load_aware"])
def test_the_replicas_needed_are_the_fewest_that_suffice(routing: str) -> None:
    spec = {"routing": routing, "requests_per_s": 300.0, "headroom": 0.0, "spare_replicas": 0}
    sized = answer(**spec)
    count = int(value(sized, "replicas_needed"))
    assert value(sized, "utilisation") <= 1 + 1e-9
    assert value(answer(**spec, replicas=count - 1), "utilisation") > 1

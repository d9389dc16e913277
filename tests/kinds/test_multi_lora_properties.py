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
        "engine": st.sampled_from(["vllm", "slora", "sglang"]),
        "max_batch": st.sampled_from([1, 64, 4096]),
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
    if result.value("ttft_warm_s") is not None:
        columns = result.series["ttft_parts"].columns
        for row, level in enumerate(("hot", "warm", "cold")):
            told = result.value(f"ttft_{level}_s")
            parts = math.fsum(float(column.values[row] or 0.0) for column in columns[1:])
            assert told is None or parts == pytest.approx(told, rel=1e-9), level
    assert value(result, "served_rps") <= value(result, "full_rps") * (1 + 1e-9)
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


@pytest.mark.parametrize("engine", ["sglang", "slora"])
def test_a_larger_rank_never_helps(engine: str) -> None:
    # With as many slots: memory for slots would hold fewer of them, and so fewer different adapters would run.
    base: dict[str, Any] = {"engine": engine, "replicas": 4, "max_batch": 1000, "slots": 60}
    seen = [answer(**base, rank=rank) for rank in (4, 8, 16, 32, 64)]
    for name, sign in (
        ("adapter_bytes", 1),
        ("swap_s", 1),
        ("step_factor", 1),
        ("places", -1),
        ("replica_max_rps", -1),
    ):
        figures = [sign * value(each, name) for each in seen]
        assert figures == sorted(figures), name


@given(st.integers(20, 600), st.floats(0.0, 2.0), st.floats(0.1, 1.0))
@settings(max_examples=40, deadline=None)
def test_pages_hold_what_runs_and_its_adapters(adapters: int, exponent: float, adapted: float) -> None:
    """KV of the running requests and their adapters fill the pool, or the cap binds before."""
    spec = {"engine": "slora", "adapters": adapters, "tenants": 5, "zipf_exponent": exponent, "rank": 64}
    result = answer(**spec, base_share=1 - adapted, max_batch=2000, routing="random")
    places, kv = value(result, "places"), value(result, "kv_tokens")
    # An answer at a random moment of its run: its mean times (1 + squared variation) over two.
    assert places * (512 + 256 * math.exp(0.64) / 2) <= kv * (1 + 1e-6) or places == 2000
    without = answer(**spec, base_share=1.0, max_batch=2000, routing="random")
    assert places <= value(without, "places") * (1 + 1e-9)
    assert result.value("slot_wait_s") == 0.0


def test_nothing_is_a_residue_of_arithmetic() -> None:
    """A fleet that is always busy and has nothing to spare: no line of its bill is a rounding error."""
    result = answer(replicas=4, slots=16, routing="random", requests_per_s=90.0)
    bill = value(result, "cost_usd_per_h")
    for name in ("base", "adapter_steps", "slot_rent", "loads", "idle", "spare"):
        line = value(result, f"{name}_usd_per_h")
        assert line == 0.0 or line > 1e-9 * bill, name
    left = float(result.series["tenant_bill"].column("usd_per_h").values[-1] or 0.0)
    assert left == 0.0 or left > 1e-9 * bill


def test_what_is_not_served_is_not_in_the_price() -> None:
    some, more = (answer(replicas=1, requests_per_s=rate) for rate in (60.0, 600.0))
    assert value(some, "served_rps") == value(some, "full_rps") < 60.0
    assert value(some, "cost_usd_per_m_output_tokens") == pytest.approx(
        value(some, "cost_usd_per_h") / 3600 / value(some, "served_rps") / 256 * 1e6
    )
    assert value(more, "cost_usd_per_m_output_tokens") == pytest.approx(value(some, "cost_usd_per_m_output_tokens"))


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

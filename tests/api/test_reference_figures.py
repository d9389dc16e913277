"""The reference figures come out of the API. Every number here is quoted from the specification of the kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.caller import Caller, strict

pytestmark = pytest.mark.usefixtures("real_kinds")
URL = "/api/v1/estimates/"

LLM_SERVING = {
    "prefill_gpus_needed": 187.5,
    "prefill_units": 8,
    "prefill_gpus": 256,
    "decode_units": 2,
    "decode_gpus": 288,
    "decode_concurrency_per_gpu": 92.5,
    "decode_kv_bytes_per_gpu": 22_100_544_000,
    "nodes": 68,
    "cost_usd_per_h": 1088,
}
"""Exact figures of the reference design; the two the specification rounds are below."""
GATEWAY = {
    "blocks_per_request": 64,
    "lookups_per_s_per_instance_probing": 64_000_000,
    "lookups_per_s_prefix_tree": 320_000,
    "index_nodes": 6_250_000,
    "index_bytes": 400_000_000,
    "requests_lost_before_ejection": 75,
}
"""The same of a cache-aware gateway."""
KV_POOL = {
    "session_kv_bytes": (1_310_720_000, 0),
    "recompute_s": (0.292394, 0.0000005),
    "hbm_sessions": (3906.25, 0),
    "dram_sessions": (18310.546875, 0),
    "ssd_sessions": (732421.875, 0),
    "dram_read_s": (0.0032768, 1e-17),
    "ssd_read_s": (0.0273067, 0.00000005),
}
"""Of a pool of KV caches: figures with half of the last digit that the specification gives."""
MULTI_LORA = {
    "adapter_parameters": 41_943_040,
    "adapter_bytes": 83_886_080,
    "all_adapters_bytes": 83_886_080_000,
    "resident_adapters": 102,
    "swap_in_s": 0.00335544,
    "base_flops_per_token": 16e9,
    "lora_flops_per_token": 83_886_080,
    "lora_flops_ratio": 0.00524288,
}
"""Of many adapters on one base LLM; the specification gives the swap to eight digits."""
READ_BY_DISTINCT = {1: (0.078125, 0.00524), 16: (1.25, 0.08389), 64: (5.0, 0.33554)}
"""Adapters in a batch: GiB read, and that over one read of the base."""
RL_ROLLOUT = {
    "tokens_per_step": (16_384_000, 0),
    "rollout_gpus_sync_needed": (72.8178, 0.00005),
    "rollout_gpus_async_needed": (24.2726, 0.00005),
    "rollout_gpus_sync": (73, 0),
    "rollout_gpus_async": (25, 0),
    "weight_sync_s": (0.08, 1e-15),
}
"""Of rollout for RL: the GPUs needed, and the ceilings to buy."""
ROUNDED = {"decode_gpus_needed": (216.216, 0.0005), "cost_usd_per_m_output_tokens": (0.7556, 0.00005)}


@pytest.fixture
def reference(alice: Caller) -> dict[str, Any]:
    response = alice.post(URL, {"kind": "llm_serving", "spec": {}})
    assert response.status_code == 200, response.content
    return strict(response)


@pytest.mark.parametrize(("name", "value"), LLM_SERVING.items())
def test_a_reference_figure_comes_out_exactly(reference: dict[str, Any], name: str, value: float) -> None:
    assert reference["metrics"][name]["value"] == value


@pytest.mark.parametrize(("name", "expected"), ROUNDED.items())
def test_a_rounded_reference_figure_comes_out(
    reference: dict[str, Any], name: str, expected: tuple[float, float]
) -> None:
    value, half_digit = expected
    assert reference["metrics"][name]["value"] == pytest.approx(value, abs=half_digit)


@pytest.mark.parametrize(("name", "value"), GATEWAY.items())
def test_a_reference_figure_of_the_gateway_comes_out_exactly(alice: Caller, name: str, value: float) -> None:
    answer = strict(alice.post(URL, {"kind": "gateway", "spec": {}}))
    assert answer["metrics"][name]["value"] == value


@pytest.mark.parametrize(("name", "expected"), KV_POOL.items())
def test_a_reference_figure_of_the_pool_comes_out(alice: Caller, name: str, expected: tuple[float, float]) -> None:
    value, half_digit = expected
    answer = strict(alice.post(URL, {"kind": "kv_pool", "spec": {}}))
    assert answer["metrics"][name]["value"] == pytest.approx(value, abs=half_digit, rel=0)


def test_the_conclusions_of_the_pool_are_said(alice: Caller) -> None:
    findings = strict(alice.post(URL, {"kind": "kv_pool", "spec": {}}))["findings"]
    said = {row["code"]: row["message"] for row in findings}
    assert "4.7\u00a0× as many sessions as HBM, SSD 40\u00a0× as many as DRAM" in said["lower_tiers_hold_more"]
    assert "more than ten times as quick" in said["reading_beats_computing"]


@pytest.mark.parametrize(("name", "value"), MULTI_LORA.items())
def test_a_reference_figure_of_many_adapters_comes_out(alice: Caller, name: str, value: float) -> None:
    answer = strict(alice.post(URL, {"kind": "multi_lora", "spec": {}}))
    half_digit = 5e-9 if name == "swap_in_s" else 0
    assert answer["metrics"][name]["value"] == pytest.approx(value, abs=half_digit, rel=0)


def test_what_a_batch_reads_of_adapters_comes_out(alice: Caller) -> None:
    series = strict(alice.post(URL, {"kind": "multi_lora", "spec": {}}))["series"]["adapter_read_by_distinct"]
    columns = [column["values"] for column in series["columns"]]
    found = {row[0]: row[1:] for row in zip(*columns, strict=True)}
    for distinct, (gib, share) in READ_BY_DISTINCT.items():
        assert found[distinct][0] == gib * 2**30
        assert found[distinct][1] == pytest.approx(share, abs=5e-6)


@pytest.mark.parametrize(("name", "expected"), RL_ROLLOUT.items())
def test_a_reference_figure_of_rollout_comes_out(alice: Caller, name: str, expected: tuple[float, float]) -> None:
    value, half_digit = expected
    answer = strict(alice.post(URL, {"kind": "rl_rollout", "spec": {}}))
    assert answer["metrics"][name]["value"] == pytest.approx(value, abs=half_digit, rel=0)


def test_the_inputs_are_those_of_the_reference(reference: dict[str, Any]) -> None:
    expected = {
        "peak_rps": 500, "input_tokens": 3000, "output_tokens": 800, "prefix_hit_rate": 0.5,
        "prefill_tokens_per_s_per_gpu": 4000, "decode_tokens_per_s_per_gpu": 1850, "prefill_unit_gpus": 32,
        "decode_unit_gpus": 144, "headroom": 0.2, "gpus_per_node": 8, "gpu_price_usd_per_h": 2,
        "kv_bytes_per_token": 70_272, "ttft_p99_slo_s": 2, "tpot_slo_s": 0.05,
    }  # fmt: skip
    assert {name: reference["spec"][name] for name in expected} == expected


def test_the_reference_fleet_is_found_not_to_be_n_plus_1(reference: dict[str, Any]) -> None:
    found = next(row for row in reference["findings"] if row["code"] == "decode_not_n_plus_1")
    assert found["severity"] in ("warning", "error")
    assert "67" in found["message"]


@pytest.mark.parametrize(
    ("llm", "kv_bytes_per_token"),
    [("llama-3.1-8b", 131_072), ("llama-3.1-70b", 327_680), ("qwen3-32b", 262_144), ("deepseek-v3", 70_272)],
)
def test_kv_bytes_per_token_at_tp1(alice: Caller, llm: str, kv_bytes_per_token: int) -> None:
    spec = {"llm": llm, "gpu": "h200-sxm", "gpus": 1, "tensor_parallel": 1, "kv_dtype": "bf16"}
    found = strict(alice.post(URL, {"kind": "engine_instance", "spec": spec}))
    assert found["metrics"]["kv_bytes_per_token"]["value"] == kv_bytes_per_token


@pytest.mark.parametrize(
    ("llm", "tensor_parallel", "kv_bytes_per_token"),
    [("qwen3-32b", 4, 65_536), ("llama-3.1-8b", 8, 16_384), ("llama-3.1-8b", 16, 16_384), ("deepseek-v3", 8, 70_272)],
)
def test_kv_bytes_per_token_stop_shrinking_at_the_kv_heads(
    alice: Caller, llm: str, tensor_parallel: int, kv_bytes_per_token: int
) -> None:
    """8 KV heads: at TP16 each is kept twice. Latent attention has one head, kept whole on every GPU."""
    spec = {
        "llm": llm, "gpu": "h200-sxm", "gpus": tensor_parallel, "tensor_parallel": tensor_parallel, "kv_dtype": "bf16",
    }  # fmt: skip
    found = strict(alice.post(URL, {"kind": "engine_instance", "spec": spec}))
    assert found["metrics"]["kv_bytes_per_token"]["value"] == kv_bytes_per_token


def test_the_memory_terms_sum_to_the_budget(alice: Caller) -> None:
    metrics = strict(alice.post(URL, {"kind": "engine_instance", "spec": {}}))["metrics"]
    terms = ("weights_bytes", "activation_bytes", "graph_bytes", "context_bytes", "other_bytes", "kv_pool_bytes")
    assert sum(metrics[name]["value"] for name in terms) == metrics["budget_bytes"]["value"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"options": {"arrivals": "trace"}}, "/options/arrivals"),
        ({"duration_s": 60, "options": {"warmup_s": 90}}, "/options/warmup_s"),
        ({"duration_s": 1e6, "options": {"rate_scale": 1000}}, "/duration_s"),
    ],
)
def test_an_impossible_run_is_refused_by_field_before_a_job_exists(
    alice: Caller, body: dict[str, Any], pointer: str
) -> None:
    response = alice.post("/api/v1/simulations/", {"kind": "llm_serving", "spec": {}, **body})
    assert response.status_code == 422
    assert [error["pointer"] for error in strict(response)["errors"]] == [pointer]

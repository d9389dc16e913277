"""The engine instance as the API answers it: golden figures, fit, load, money, and its findings."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.catalog import UnknownEntry
from planner.core.result import Result
from planner.formulas import memory
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()
MEMORY_TERMS = ("weights_bytes", "activation_bytes", "graph_bytes", "context_bytes", "other_bytes", "kv_pool_bytes")
LLMS = [llm for llm in CATALOG.llms() if llm.published_params]


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    ("llm", "ranks", "expected"),
    [
        ("llama-3.1-8b", 1, 131_072),
        ("llama-3.1-70b", 1, 327_680),
        ("qwen3-32b", 1, 262_144),
        ("qwen3-32b", 4, 65_536),
        *(("deepseek-v3", ranks, 70_272) for ranks in (1, 2, 4, 8, 16)),
    ],
)
def test_golden_cache_of_a_token(llm: str, ranks: int, expected: int) -> None:
    # Whether or not it fits: the figure is a fact of the LLM and the placement.
    result = answer(llm=llm, gpu="h100-sxm", tensor_parallel=ranks, kv_dtype="bf16")
    assert value(result, "kv_bytes_per_token") == expected


@pytest.mark.parametrize("llm", LLMS, ids=lambda llm: llm.slug)
def test_parameters_of_the_catalog_are_within_one_per_cent_of_what_is_published(llm: Any) -> None:
    counts = memory.parameters(llm)
    assert counts["total"] == pytest.approx(llm.published_params, rel=0.01) or counts["total"] + counts[
        "mtp"
    ] == pytest.approx(llm.published_params, rel=0.01)


def test_weights_and_pool_of_a_start_up_log() -> None:
    # vLLM 0.22, gpt-oss-120b on one H200: weights 66.14 GiB, KV pool 57.24 GiB at a fraction of 0.9.
    result = answer(
        llm="gpt-oss-120b", gpu="h200-sxm", engine_version="0.22.0", memory_fraction=0.9, max_model_len=2068
    )
    assert value(result, "weights_bytes") / 2**30 == pytest.approx(66.14, rel=0.01)
    assert value(result, "kv_pool_bytes") / 2**30 == pytest.approx(57.24, rel=0.03)
    assert value(result, "max_concurrency") == pytest.approx(399.23, rel=0.03)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@pytest.mark.parametrize(
    "placement",
    [
        {"llm": "llama-3.1-8b"},
        {"llm": "llama-3.1-70b", "gpus": 8, "tensor_parallel": 4},
        {"llm": "llama-3.1-70b", "gpus": 8, "tensor_parallel": 2, "pipeline_parallel": 4},
        {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8, "tensor_parallel": 1},
        {"llm": "gemma-3-27b", "adapters": 16},
        {"llm": "qwen3-next-80b-a3b", "gpus": 4, "draft": 1},
    ],
    ids=lambda placement: placement["llm"] if isinstance(placement, dict) else placement,
)
def test_memory_terms_sum_to_the_budget_exactly(engine: str, placement: dict[str, Any]) -> None:
    result = answer(engine=engine, max_model_len=8192, **placement)
    assert value(result, "fits") == 1
    assert sum(value(result, name) for name in MEMORY_TERMS) == value(result, "budget_bytes")
    stages = result.series["stages"]
    assert sum(int(layers or 0) for layers in stages.column("layers").values) == CATALOG.llm(placement["llm"]).layers
    assert value(result, "weights_bytes") <= max(float(size or 0) for size in stages.column("weights_bytes").values)


def test_what_does_not_fit_is_an_answer_with_a_way_out() -> None:
    result = answer(llm="llama-3.1-70b", gpu="h100-sxm")
    assert value(result, "fits") == 0
    assert result.value("tpot_mean_s") is None
    assert result.findings[0].severity == "error"
    assert result.findings[0].code == "weights_do_not_fit"
    ways = [finding.change for finding in result.findings if finding.change]
    assert len(ways) == 2  # the smallest of this kind, the cheapest of any
    for change in ways:
        assert value(answer(**{"llm": "llama-3.1-70b", "gpu": "h100-sxm", **change}), "fits") == 1
    fewest = int(value(result, "smallest_gpus"))
    assert value(answer(llm="llama-3.1-70b", gpus=fewest // 2), "fits") == 0


def test_vllm_refuses_a_longest_request_that_does_not_fit_and_others_cap_it() -> None:
    refused = answer(gpu="rtx-4090")
    assert "longest_request_does_not_fit" in codes(refused)
    change = refused.findings[0].change
    assert change is not None
    assert value(answer(gpu="rtx-4090", **change), "fits") == 1
    longest = change["max_model_len"]
    assert value(answer(gpu="rtx-4090", max_model_len=longest + 16), "fits") == 0
    assert value(answer(gpu="rtx-4090", engine="sglang"), "fits") == 1


def test_latent_cache_is_not_divided_and_copies_of_attention_hold_more() -> None:
    spec: dict[str, Any] = {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8, "engine": "sglang"}
    tensor = answer(**spec, tensor_parallel=8, memory_fraction=0.85)
    copies = answer(**spec, tensor_parallel=1, memory_fraction=0.85)
    assert value(tensor, "kv_bytes_per_token") == value(copies, "kv_bytes_per_token") == 70_272
    assert 8 * value(copies, "kv_pool_tokens") > 3 * value(tensor, "kv_pool_tokens")
    finding = next(finding for finding in tensor.findings if finding.code == "latent_cache_replicated")
    assert finding.change
    assert KIND.spec.model_validate({"gpus": 8, "tensor_parallel": 8, **finding.change}).cut() == (8, 1, 8, 1)


def test_more_ranks_than_heads_are_pointed_out() -> None:
    result = answer(llm="qwen3-30b-a3b", gpus=8, tensor_parallel=8)
    assert "kv_heads_replicated" in codes(result)
    four = answer(llm="qwen3-30b-a3b", gpus=4, tensor_parallel=4)
    assert value(result, "kv_bytes_per_token") == value(four, "kv_bytes_per_token")


def test_eight_bits_halve_weights_and_cache() -> None:
    plain = answer(llm="llama-3.1-70b", gpus=4)
    quantised = answer(llm="llama-3.1-70b", gpus=4, weight_dtype="fp8", kv_dtype="fp8")
    assert value(quantised, "kv_bytes_per_token") * 2 == value(plain, "kv_bytes_per_token")
    assert value(quantised, "weights_bytes") < 0.52 * value(plain, "weights_bytes")
    assert value(quantised, "tpot_mean_s") < value(plain, "tpot_mean_s")


def test_a_stated_checkpoint_overrides_the_count() -> None:
    counted = value(answer(llm="llama-3.1-70b", gpus=4), "weights_bytes")
    stated = answer(llm="llama-3.1-70b", gpus=4, checkpoint_bytes=70.6e9)
    assert value(stated, "weights_bytes") == pytest.approx(counted / 2, rel=0.01)


def test_money_is_the_bill_over_the_tokens() -> None:
    result = answer(gpus=2, gpu_price_usd_per_h=3.0, utilisation=0.5)
    assert value(result, "cost_usd_per_h") == 6.0
    for basis in ("output", "input", "total"):
        tokens_per_h = value(result, f"{basis}_tokens_per_s") * 3600 * 0.5
        assert value(result, f"cost_usd_per_m_{basis}_tokens") == pytest.approx(6.0 / tokens_per_h * 1e6)


def test_rates_agree_with_lengths_and_gpus() -> None:
    result = answer(llm="llama-3.1-70b", gpus=4, input_tokens=1155, output_tokens=211, concurrency=64)
    requests = value(result, "request_rate_rps")
    assert requests * value(result, "e2e_mean_s") == pytest.approx(64)
    assert value(result, "output_tokens_per_s") == pytest.approx(211 * requests)
    assert value(result, "input_tokens_per_s") == pytest.approx(1155 * requests)
    for name in ("request_rate_rps", "output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s"):
        assert value(result, f"{name}_per_gpu") * 4 == pytest.approx(value(result, name))


def test_a_rate_is_served_or_called_unstable() -> None:
    served = answer(rate_rps=3.0)
    assert value(served, "request_rate_rps") == pytest.approx(3.0)
    unstable = answer(rate_rps=3000.0)
    assert unstable.findings[0].code == "unstable"
    assert unstable.value("ttft_p99_s") is None
    change = unstable.findings[0].change
    assert change is not None
    assert value(answer(**change), "ttft_p99_s") > 0


def test_zero_load_is_an_answer_without_a_price() -> None:
    idle = answer(rate_rps=0)
    assert value(idle, "ttft_mean_s") > 0
    assert value(idle, "output_tokens_per_s") == 0
    assert idle.value("cost_usd_per_m_output_tokens") is None
    assert "no_load" in codes(idle)


def test_missed_objectives_come_with_the_load_that_meets_them() -> None:
    spec: dict[str, Any] = {"llm": "llama-3.1-70b", "gpus": 4, "concurrency": 200, "tpot_slo_s": 0.03}
    missed = answer(**spec)
    assert missed.metrics["tpot_p99_s"].met is False
    finding = next(finding for finding in missed.findings if finding.code == "tpot_p99_missed")
    assert finding.change is not None
    inside = answer(**{**spec, **finding.change})
    assert inside.metrics["tpot_p99_s"].met is True
    assert inside.metrics["ttft_p99_s"].met is True


def test_requests_wait_when_the_pool_is_full() -> None:
    result = answer(gpu="l40s", concurrency=2000)
    assert "requests_wait_for_a_place" in codes(result)
    assert value(result, "running_requests") < 2000
    limited = answer(max_num_seqs=16, concurrency=100)
    assert value(limited, "running_requests") <= 16


def test_a_request_beyond_the_limit_has_no_latency() -> None:
    result = answer(input_tokens=9000, max_model_len=8192)
    assert result.findings[0].code == "request_too_long"
    assert result.value("ttft_mean_s") is None
    assert value(result, "fits") == 1


def test_badge_follows_the_measurements() -> None:
    measured = answer(engine="tensorrt_llm", weight_dtype="bf16")
    assert measured.metrics["tpot_mean_s"].basis == "calibrated"
    assert "extrapolated" not in codes(measured)
    other = answer(gpu="l40s", engine="tensorrt_llm")
    assert other.metrics["tpot_mean_s"].basis == "extrapolated"
    near, wide = measured.metrics["tpot_mean_s"], other.metrics["tpot_mean_s"]
    assert None not in (near.value, near.low, near.high, wide.value, wide.low, wide.high)
    assert wide.high / wide.low > near.high / near.low
    assert wide.high * wide.low == pytest.approx(wide.value**2)


def test_defaults_that_were_taken_are_named() -> None:
    finding = next(finding for finding in answer().findings if finding.code == "defaults_used")
    for words in ("Tensor parallel 1", "Block 16", "Weights BF16", "Longest request 131,072"):
        assert words in finding.message
    given = answer(block_size=32)
    assert "Block" not in next(finding for finding in given.findings if finding.code == "defaults_used").message


def test_the_curve_doubles_past_the_knee_and_passes_through_the_design() -> None:
    result = answer(concurrency=32)
    curve = result.series["concurrency"]
    loads = [float(load or 0) for load in curve.column("concurrency").values]
    assert loads[:4] == [1, 2, 4, 8]
    running = curve.column("running_requests").values
    assert float(running[-1] or 0) < loads[-1] * 0.9
    at = loads.index(32.0)
    for name in ("ttft_mean_s", "tpot_p99_s", "output_tokens_per_s", "cost_usd_per_m_output_tokens"):
        assert curve.column(name).values[at] == result.value(name)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (1, 1, 1, 1)),
        ({"gpus": 8}, (8, 8, 1, 1)),
        ({"tensor_parallel": 4}, (4, 4, 1, 1)),
        ({"gpus": 8, "tensor_parallel": 4}, (8, 4, 2, 1)),
        ({"gpus": 16, "pipeline_parallel": 2}, (16, 8, 1, 2)),
        ({"tensor_parallel": 2, "pipeline_parallel": 2, "data_parallel_attention": 2}, (8, 2, 2, 2)),
        ({"gpus": 8, "tensor_parallel": 8, "data_parallel_attention": 8}, (8, 1, 8, 1)),
        ({"engine": "sglang", "tensor_parallel": 8, "data_parallel_attention": 8}, (8, 1, 8, 1)),
        ({"engine": "sglang", "tensor_parallel": 8, "data_parallel_attention": True}, (8, 1, 8, 1)),
        ({"gpus": 8, "data_parallel_attention": True}, (8, 1, 8, 1)),
        ({"gpus": 8, "tensor_parallel": 8, "data_parallel_attention": False}, (8, 8, 1, 1)),
    ],
)
def test_placements_mean_what_engines_mean(spec: dict[str, Any], expected: tuple[int, int, int, int]) -> None:
    assert KIND.spec.model_validate(spec).cut() == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"gpus": 8, "tensor_parallel": 3}, "gpus"),
        ({"concurrency": 4, "rate_rps": 1}, "concurrency and rate_rps"),
        ({"concurrency": 0}, "concurrency"),
        ({"memory_fraction": 1.2}, "memory_fraction"),
        ({"weight_dtype": "fp3"}, "weight_dtype"),
        ({"engine": "ollama"}, "engine"),
        ({"output_tokens": float("nan")}, "output_tokens"),
    ],
)
def test_bad_input_is_refused_by_name(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        KIND.spec.model_validate(spec)


def test_vendor_spellings_are_understood() -> None:
    one = answer(
        llm="meta-llama/Llama-3.1-8B-Instruct", gpu="H100 SXM", engine="trtllm", weight_dtype="fp8", kv_dtype="auto"
    )
    two = answer(llm="llama-3-1-8b", gpu="h100_sxm", engine="tensorrt_llm", weight_dtype="FP8")
    assert one.metrics == two.metrics


def test_unknown_entries_and_missing_figures_are_named() -> None:
    with pytest.raises(UnknownEntry, match="no-such-llm"):
        answer(llm="no-such-llm")
    # A figure of speed that nobody published keeps latency from being known, not memory.
    partly = answer(gpu="rtx-3090", weight_dtype="int4", max_model_len=4096)
    assert value(partly, "kv_pool_tokens") > 0
    assert partly.value("tpot_mean_s") is None
    finding = next(finding for finding in partly.findings if finding.code == "missing_figure")
    assert "bf16_flops_per_s" in finding.message

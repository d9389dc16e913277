"""Every field of an engine instance changes the answer, or a finding names it as one that changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()
GIB = 2**30
LOGS = {
    "vllm": "INFO 06-10 10:00:00 worker.py:1 GPU KV cache size: 200,000 tokens",
    "sglang": "KV Cache is allocated. #tokens: 200000, K size: 12.21 GB, V size: 12.21 GB",
    "tensorrt_llm": "[MemUsageChange] Allocated 20.00 GiB for max tokens in paged KV cache (200000).",
}
CONTEXTS: dict[str, dict[str, Any]] = {
    "dense": {},
    "a rate": {"rate_rps": 2.0},
    "small GPU, SGLang": {"engine": "sglang", "gpu": "l40s"},
    "FP8, TensorRT-LLM": {"engine": "tensorrt_llm", "weight_dtype": "fp8", "tensor_parallel": 2},
    "latent, SGLang": {"llm": "deepseek-r1", "gpu": "h200-sxm", "gpus": 8, "engine": "sglang"},
    "latent, copies": {
        "llm": "deepseek-r1",
        "gpu": "b200-sxm",
        "gpus": 8,
        "tensor_parallel": 1,
        "weight_dtype": "nvfp4",
        "kv_dtype": "fp8",
    },
    "experts": {"llm": "gpt-oss-120b", "gpus": 2, "tensor_parallel": 2},
    "recurrent, vLLM": {"llm": "qwen3-next-80b-a3b", "gpu": "h200-sxm", "gpus": 4},
    "recurrent, SGLang": {"llm": "qwen3-next-80b-a3b", "gpu": "h200-sxm", "gpus": 4, "engine": "sglang"},
    "windows": {"llm": "gemma-3-27b", "gpus": 2},
    "stages": {"llm": "llama-3.1-70b", "gpus": 8, "tensor_parallel": 4, "pipeline_parallel": 2},
    "old vLLM": {"engine_version": "0.6.3", "gpu": "a100-sxm-80gb"},
    "AMD": {"gpu": "mi300x", "llm": "llama-3.1-70b"},
    "no price": {"gpu": "h800-sxm"},
    "drafts": {"draft": 3},
    "a log": {"measured_kv_pool_bytes": 40 * GIB},
    "one token": {"output_tokens": 1.0},
    "does not start": {"llm": "llama-3.1-70b"},
}
SETTINGS: dict[str, list[Any]] = {
    "llm": ["qwen3-4b"],
    "gpu": ["h200-sxm", "a100-sxm-80gb"],
    "gpus": [4, 8, 16],
    "tensor_parallel": [1, 2, 4, 8],
    "pipeline_parallel": [2, 4],
    "expert_parallel": [1, 2, 4],
    "data_parallel_attention": [1, 2, 4],
    "context_parallel": [2, 4],
    "redundant_experts": [8, 32],
    "all_to_all": ["deepep"],
    "weight_dtype": ["fp8", "int4", "fp4", "q4_k_m"],
    "kv_dtype": ["fp8", "nvfp4"],
    "checkpoint_bytes": [5e9, 1e11],
    "checkpoint_dtype": ["bf16", "fp8"],
    "engine": ["vllm", "sglang", "tensorrt_llm"],
    "engine_version": ["0.5.0", "0.8.3", "nightly-dev", "glm5-hopper", "1.2.0rc6.post2"],
    "engine_core": ["v0", "v1"],
    "visible_memory_bytes": [30 * GIB, 70 * GIB],
    "memory_fraction": [0.5, 0.8],
    "max_model_len": [2000, 8192],
    "max_num_seqs": [8, 16],
    "max_num_batched_tokens": [1024, 32768],
    "block_size": [8, 64],
    "max_total_tokens": [10_000, 100_000],
    "hybrid_cache": ["unified_pages", "hybrid_manager"],
    "graph_capture": [False],
    "adapters": [4, 64],
    "draft": [1, 2],
    "draft_acceptance": [0.1, 0.95],
    "latency_source": ["measured_kernels"],
    "startup_log": list(LOGS.values()),
    "measured_weights_bytes": [12 * GIB, 60 * GIB],
    "measured_kv_pool_bytes": [20 * GIB],
    "measured_non_kv_bytes": [30 * GIB],
    "measured_free_before_load_bytes": [40 * GIB],
    "measured_kv_tokens": [150_000],
    "measured_memory_fraction": [0.6],
    "input_tokens": [100.0, 3000.0],
    "output_tokens": [10.0, 900.0],
    "prefix_hit_rate": [0.5, 1.0],
    "concurrency": [1.0, 64.0],
    "rate_rps": [0.5, 20.0],
    "gpu_price_usd_per_h": [1.23],
    "utilisation": [0.5],
    "ttft_p99_slo_s": [0.001, None],
    "tpot_slo_s": [0.001, None],
}
OF_TIMES = {
    "max_num_seqs",
    "block_size",
    "latency_source",
    "input_tokens",
    "output_tokens",
    "prefix_hit_rate",
    "concurrency",
    "utilisation",
}
"""What cannot matter to a replica that does not start, as an error says."""


def figures(result: Result) -> Any:
    found = {name: (each.value, each.low, each.high, each.basis) for name, each in result.metrics.items()}
    return found, {name: each.objective for name, each in result.metrics.items()}


def notes(result: Result) -> Any:
    # What the nearest measurement differs in names fields of the design, felt or not.
    aside = ("field_ignored", "defaults_used", "nearest_measurement")
    return sorted((each.code, each.message) for each in result.findings if each.code not in aside)


def columns(result: Result) -> Any:
    return {
        name: [list(column.values) for column in each.columns if column.name != "differs_in"]
        for name, each in result.series.items()
    }


def differ(one: Result, other: Result) -> bool:
    return any(part(one) != part(other) for part in (figures, notes, columns))


def answer(spec: dict[str, Any]) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def test_all_fields_are_asked_for() -> None:
    assert set(SETTINGS) == set(KIND.spec.model_fields)


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    base = CONTEXTS[context]
    plain = answer(base)
    moot = OF_TIMES if plain.value("tpot_mean_s") is None and plain.severity == "error" else set()
    tried = 0
    for field, settings in SETTINGS.items():
        if field in moot or {field, *base} >= {"concurrency", "rate_rps"}:
            continue
        felt = [is_felt(base, plain, field, setting) for setting in settings if base.get(field) != setting]
        possible = [each for each in felt if each is not None]
        tried += bool(possible)
        # One of the settings may be what the blank field means.
        assert not possible or any(possible), field
    assert tried > 30


def is_felt(base: dict[str, Any], plain: Result, field: str, setting: Any) -> bool | None:
    """Whether the answer differs or a finding says that it does not; None where the spec refuses it."""
    try:
        spec = KIND.spec.model_validate({**base, field: setting})
    except ValidationError as refusal:
        # Placements that are not the GPUs, and the log of another engine.
        if not any(word in str(refusal) for word in ("gpus:", "startup_log")):
            raise
        return None
    result = KIND.estimate(spec, CATALOG)
    named = next((each for each in result.findings if f"({field}) changes nothing" in each.message), None)
    if named is None:
        return differ(result, plain)
    assert not differ(result, plain), (field, setting)
    assert named.change is not None
    undone = answer({**base, field: setting, **named.change})
    assert all(f"({field})" not in each.message for each in undone.findings if each.code == "field_ignored")
    return True


@pytest.mark.parametrize(
    ("field", "setting", "spec", "words"),
    [
        ("draft_acceptance", 0.5, {}, "nothing is drafted"),
        ("utilisation", 0.5, {"gpu": "h800-sxm"}, "no price"),
        ("block_size", 32, {"llm": "qwen3-next-80b-a3b", "gpus": 4}, "state of a recurrent layer"),
        ("measured_free_before_load_bytes", 40 * GIB, {"measured_kv_pool_bytes": 40 * GIB}, "all memory"),
    ],
)
def test_the_reason_is_told(field: str, setting: Any, spec: dict[str, Any], words: str) -> None:
    found = [each for each in answer({**spec, field: setting}).findings if each.code == "field_ignored"]
    assert [words in each.message for each in found] == [True]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"engine_version": "glm5-hopper"}, "engine_version_unknown"),
        ({"graph_capture": False}, "graphs_off"),
        ({"llm": "gpt-oss-120b", "gpus": 4, "expert_parallel": 2}, "experts_in_slices"),
    ],
)
def test_a_setting_that_means_less_than_it_says_is_told(spec: dict[str, Any], code: str) -> None:
    assert code in {each.code for each in answer(spec).findings}
    assert code not in {
        each.code
        for each in answer({**spec, "engine_version": "0.19.0", "graph_capture": True, "expert_parallel": 1}).findings
    }

"""Odd but valid inputs: an answer in sentences with finite figures, whatever is asked; nonsense is refused by field."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()
ENGINES = ("vllm", "sglang", "tensorrt_llm")
GPUS = (
    "h100-sxm",
    "b200-sxm",
    "gb200",
    "h20",
    "a100-sxm-40gb",
    "v100-sxm-32gb",
    "l4",
    "rtx-3090",
    "mi300x",
    "mi355x",
    "tpu-v5e",
    "gaudi-2",
)
BASES: dict[str, dict[str, Any]] = {
    "dense": {},
    "latent": {"llm": "deepseek-r1", "gpu": "h200-sxm", "gpus": 8},
    "recurrent": {"llm": "qwen3-next-80b-a3b", "gpu": "h200-sxm", "gpus": 4, "engine": "sglang"},
    "windows": {"llm": "gemma-3-27b", "gpus": 2, "engine": "tensorrt_llm"},
    "stages": {"llm": "llama-3-1-405b", "gpus": 16, "tensor_parallel": 8, "pipeline_parallel": 2},
}
ODD: list[dict[str, Any]] = [
    {"rate_rps": 0},
    {"rate_rps": 1e-9},
    {"rate_rps": 1e6},
    {"concurrency": 0.01},
    {"concurrency": 1e6},
    {"output_tokens": 1},
    {"output_tokens": 1.5},
    {"output_tokens": 1, "rate_rps": 1},
    {"input_tokens": 1, "output_tokens": 1, "rate_rps": 100},
    {"input_tokens": 1e7, "output_tokens": 1e7},
    {"input_tokens": 9e6, "max_model_len": 10_000_000},
    {"max_model_len": 100_000_000},
    {"max_model_len": 1},
    {"gpus": 4096},
    {"gpus": 4096, "tensor_parallel": 1},
    {"gpus": 4096, "tensor_parallel": 64, "pipeline_parallel": 64},
    {"prefix_hit_rate": 1.0},
    {"prefix_hit_rate": 1.0, "input_tokens": 1, "output_tokens": 1},
    {"draft": 16, "draft_acceptance": 0},
    {"draft": 16, "draft_acceptance": 1},
    {"draft": 16, "draft_acceptance": 1, "output_tokens": 1},
    {"adapters": 10_000},
    {"memory_fraction": 0.01},
    {"memory_fraction": 1},
    {"max_num_seqs": 1},
    {"max_num_batched_tokens": 1},
    {"max_num_batched_tokens": 10_000_000},
    {"block_size": 4096},
    {"max_total_tokens": 1},
    {"visible_memory_bytes": 1e9},
    {"visible_memory_bytes": 1e13},
    {"checkpoint_bytes": 1},
    {"checkpoint_bytes": 1e14},
    {"gpu_price_usd_per_h": 0},
    {"utilisation": 0.001},
    {"ttft_p99_slo_s": 1e-6, "tpot_slo_s": 1e-6},
    {"ttft_p99_slo_s": 1e-6, "tpot_slo_s": 1e-6, "rate_rps": 1},
    {"ttft_p99_slo_s": None, "tpot_slo_s": None},
    {"redundant_experts": 4096},
    {"context_parallel": 1024},
    {"expert_parallel": 4096},
    {"measured_kv_tokens": 1},
    {"measured_kv_tokens": 10**10},
    {"measured_weights_bytes": 1e13},
    {"measured_kv_pool_bytes": 1e13},
    {"measured_non_kv_bytes": 1e13},
    {"measured_free_before_load_bytes": 1e6},
    {"engine_version": "x"},
    {"engine_version": "0", "hybrid_cache": "hybrid_manager"},
    {"engine_version": "99999999999999999999.9"},
    {"kv_dtype": "nvfp4", "weight_dtype": "q4_k_m"},
    {"latency_source": "measured_kernels"},
]


def answered(spec: dict[str, Any]) -> Result:
    """The answer, held to what any answer must be."""
    read = KIND.spec.model_validate(spec)
    result = KIND.estimate(read, CATALOG)
    for name, metric in result.metrics.items():
        value, low, high = metric.value, metric.low, metric.high
        assert all(each is None or (math.isfinite(each) and each >= 0) for each in (value, low, high)), (spec, name)
        if value is not None and low is not None and high is not None:
            assert low <= value * (1 + 1e-9), (spec, name)
            assert value <= high * (1 + 1e-9), (spec, name)
    for finding in result.findings:
        assert finding.message.endswith("."), (spec, finding.message)
        assert not {"None", "nan", "inf", "-inf"} & set(finding.message.replace(",", " ").split()), finding.message
        KIND.spec.model_validate({**spec, **(finding.change or {})})
    if result.value("ttft_mean_s") is None:
        assert any(finding.severity != "info" for finding in result.findings), spec
    json.dumps(dict(result.provenance), allow_nan=False)
    return result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gpu", GPUS)
def test_every_llm_is_answered_on_any_gpu(gpu: str, engine: str) -> None:
    for llm in CATALOG.llms():
        answered({"llm": llm.slug, "gpu": gpu, "engine": engine})


@pytest.mark.parametrize("base", BASES)
def test_odd_inputs_are_answered(base: str) -> None:
    for odd in ODD:
        result = answered({**BASES[base], **odd})
        for series in result.series.values():
            cells = [cell for column in series.columns for cell in column.values if isinstance(cell, float)]
            assert all(math.isfinite(cell) for cell in cells), (odd, series.name)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_gpu_is_answered_with_a_rate_and_narrow_weights(engine: str) -> None:
    for gpu in CATALOG.gpus():
        answered({"gpu": gpu.slug, "engine": engine, "weight_dtype": "fp8", "rate_rps": 1})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["0", "0.4.6", "0.8.3", "0.19.0", "nightly", None])
@pytest.mark.parametrize("cache", ["unified_pages", "hybrid_manager"])
def test_every_version_takes_every_way_of_paging(engine: str, version: str | None, cache: str) -> None:
    for llm in ("qwen3-next-80b-a3b", "gemma-3-27b", "jamba-1-5-mini", "gpt-oss-120b"):
        spec = {"llm": llm, "gpu": "b300-sxm", "gpus": 4, "engine": engine}
        answered({**spec, "engine_version": version, "hybrid_cache": cache})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("startup_log", "garbage \x00 without a figure"),
        ("startup_log", "x" * 1_000_000),
        ("startup_log", "Loading model weights took forever"),
        ("memory_fraction", 0),
        ("gpus", 0),
        ("rate_rps", -1),
        ("rate_rps", float("inf")),
        ("input_tokens", 0),
        ("draft_acceptance", 1.1),
        ("weight_dtype", "fp7"),
        ("kv_dtype", 8),
    ],
)
def test_nonsense_is_refused_by_field(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        KIND.spec.model_validate({field: value})
    assert [error["loc"] for error in refused.value.errors()] == [(field,)]


@pytest.mark.parametrize(
    "log",
    [
        "GPU KV cache size: 0 tokens",
        "GPU KV cache size: 99999999999999999999 tokens",
        "Available KV cache memory: -3.5 GiB",
        "# GPU blocks: 0, # CPU blocks: 0",
        "Model loading took 9999999.0 GiB memory and 1.0 seconds",
    ],
)
def test_a_log_of_impossible_figures_is_answered_or_refused(log: str) -> None:
    try:
        KIND.spec.model_validate({"startup_log": log})
    except ValidationError as refused:
        if "startup_log" not in str(refused):
            raise
    else:
        answered({"startup_log": log})

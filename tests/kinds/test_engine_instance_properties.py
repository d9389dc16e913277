"""What must hold for any engine instance: finite answers, sums, and better hardware that is not worse."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.catalog import files
from planner.core.catalog import MissingFigure
from planner.core.result import Result
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()
MEMORY_TERMS = ("weights_bytes", "activation_bytes", "graph_bytes", "context_bytes", "other_bytes", "kv_pool_bytes")


def maybe(values: Any) -> Any:
    return st.one_of(st.none(), values)


PLACEMENTS = st.fixed_dictionaries(
    {
        "tensor_parallel": st.sampled_from([1, 2, 3, 4, 8, 16]),
        "pipeline_parallel": maybe(st.sampled_from([1, 2, 3, 64])),
        "data_parallel_attention": maybe(st.sampled_from([1, 2, 8])),
        "expert_parallel": maybe(st.sampled_from([1, 4, 5])),
        "context_parallel": maybe(st.sampled_from([1, 2])),
    }
)
SPECS = st.fixed_dictionaries(
    {
        "llm": st.sampled_from([llm.slug for llm in CATALOG.llms()]),
        "gpu": st.sampled_from([gpu.slug for gpu in CATALOG.gpus()]),
        "engine": st.sampled_from(["vllm", "sglang", "tensorrt_llm"]),
        "engine_version": maybe(st.sampled_from(["0.6.3", "0.15.1", "0.19.0", "0.22", "main"])),
        "weight_dtype": maybe(st.sampled_from(["bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"])),
        "kv_dtype": maybe(st.sampled_from(["bf16", "fp8", "nvfp4"])),
        "memory_fraction": maybe(st.floats(0.01, 1)),
        "max_model_len": maybe(st.integers(1, 300_000)),
        "max_num_seqs": maybe(st.integers(1, 4096)),
        "max_num_batched_tokens": maybe(st.integers(1, 100_000)),
        "block_size": maybe(st.sampled_from([1, 16, 128])),
        "hybrid_cache": maybe(st.sampled_from(["unified_pages", "hybrid_manager"])),
        "graph_capture": maybe(st.booleans()),
        "adapters": st.integers(0, 64),
        "draft": st.integers(0, 4),
        "draft_acceptance": st.floats(0, 1),
        "input_tokens": st.floats(1, 200_000),
        "output_tokens": st.floats(1, 20_000),
        "prefix_hit_rate": st.floats(0, 1),
        "utilisation": st.floats(0.01, 1),
        "checkpoint_bytes": maybe(st.floats(1, 1e13)),
        "ttft_p99_slo_s": maybe(st.floats(1e-3, 100)),
        "tpot_slo_s": maybe(st.floats(1e-4, 1)),
    }
)
LOADS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"concurrency": st.floats(1e-2, 1e6)}),
    st.fixed_dictionaries({"rate_rps": st.floats(0, 1e5)}),
)


def assert_finite(result: Result) -> None:
    for name, metric in result.metrics.items():
        for figure in (metric.value, metric.low, metric.high):
            assert figure is None or math.isfinite(figure), name
            assert figure is None or figure >= 0, name
    for series in result.series.values():
        for column in series.columns:
            for cell in column.values:
                assert not isinstance(cell, float) or math.isfinite(cell), column.name


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=SPECS, placement=PLACEMENTS, load=LOADS)
def test_any_valid_spec_has_a_finite_answer(
    spec: dict[str, Any], placement: dict[str, Any], load: dict[str, Any]
) -> None:
    read = KIND.spec.model_validate({**spec, **placement, **load})
    try:
        result = KIND.estimate(read, CATALOG)
    except MissingFigure:
        return
    assert set(result.metrics) == {metric.name for metric in KIND.metrics}
    assert_finite(result)
    if result.value("kv_pool_bytes") is not None:
        assert sum(result.value(name) or 0 for name in MEMORY_TERMS) == result.value("budget_bytes")
    if result.value("tpot_mean_s") is None:
        assert result.findings
    if not result.value("fits"):
        assert any(finding.severity == "error" for finding in result.findings)
    for chart in KIND.charts(read, result):
        for trace in chart.traces:
            json.dumps([*trace.x, *trace.y, *(trace.low or ()), *(trace.high or ())], allow_nan=False)
    KIND.architecture(read, result)
    assert KIND.advice.questions(read, result)
    for variant in KIND.advice.variants(read, result):
        KIND.spec.model_validate({**read.model_dump(), **variant.change})
    for finding in result.findings:
        KIND.spec.model_validate({**read.model_dump(), **(finding.change or {})})
    KIND.advice.follow_ups(read, result)


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


@settings(max_examples=40, deadline=None)
@given(
    llm=st.sampled_from(["llama-3.1-70b", "deepseek-v3", "gpt-oss-120b", "gemma-3-27b"]),
    engine=st.sampled_from(["vllm", "sglang", "tensorrt_llm"]),
    concurrency=st.floats(1, 2000),
    input_tokens=st.floats(10, 8000),
)
def test_h200_is_never_worse_than_h100(llm: str, engine: str, concurrency: float, input_tokens: float) -> None:
    spec = {
        "llm": llm,
        "engine": engine,
        "gpus": 16,
        "tensor_parallel": 16,
        "concurrency": concurrency,
        "input_tokens": input_tokens,
        "max_model_len": 16384,
        "max_num_batched_tokens": 8192,
    }
    small, large = answer(gpu="h100-sxm", **spec), answer(gpu="h200-sxm", **spec)
    for name in ("kv_pool_tokens", "max_concurrency", "output_tokens_per_s", "max_request_rate_rps"):
        # Where requests wait for a place the two lean on measurements at different distances from their limits.
        assert (large.value(name) or 0) >= (small.value(name) or 0) * (1 - 1e-3), name
    # At a given rate each request is served faster; at a given concurrency faster replies put more of them into
    # the batch, so that only their rate must not fall.
    rate = {**spec, "concurrency": None, "rate_rps": 0.5}
    small, large = answer(gpu="h100-sxm", **rate), answer(gpu="h200-sxm", **rate)
    for name in ("ttft_mean_s", "tpot_mean_s", "ttft_p99_s", "tpot_p99_s"):
        before = small.value(name)
        assert before is None or (large.value(name) or math.inf) <= before * (1 + 1e-9), name


@settings(max_examples=40, deadline=None)
@given(fraction=st.floats(0.5, 0.95), more=st.floats(0, 0.05))
def test_a_larger_fraction_never_holds_fewer_tokens(fraction: float, more: float) -> None:
    few = answer(llm="llama-3.1-8b", memory_fraction=fraction, max_model_len=4096)
    many = answer(llm="llama-3.1-8b", memory_fraction=fraction + more, max_model_len=4096)
    assert (many.value("kv_pool_tokens") or 0) >= (few.value("kv_pool_tokens") or 0)


@settings(max_examples=40, deadline=None)
@given(hits=st.floats(0, 1), more=st.floats(0, 0.5))
def test_prefix_hits_shorten_ttft_and_lower_the_price(hits: float, more: float) -> None:
    cold = answer(llm="llama-3.1-70b", gpus=4, prefix_hit_rate=hits)
    warm = answer(llm="llama-3.1-70b", gpus=4, prefix_hit_rate=min(hits + more, 1.0))
    # TPOT may rise a little: who waits less for the first token runs more of the time.
    for name in ("ttft_mean_s", "e2e_mean_s", "cost_usd_per_m_output_tokens"):
        assert (warm.value(name) or 0) <= (cold.value(name) or 0) * (1 + 1e-6), name

"""Every field of memory changes something or says that it does not; what must hold for any of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.catalog import files
from planner.core.result import Finding, Result
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()
GIB = 2**30
TERMS = ("weights_bytes", "activation_bytes", "graph_bytes", "context_bytes", "other_bytes", "kv_pool_bytes")


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def finding(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


@pytest.mark.parametrize(
    ("field", "setting", "spec"),
    [
        ("engine_core", "v1", {"engine": "sglang"}),
        ("redundant_experts", 8, {}),
        ("all_to_all", "deepep", {}),
        ("hybrid_cache", "unified_pages", {}),
        ("measured_free_before_load_bytes", 70 * GIB, {}),
        ("measured_memory_fraction", 0.8, {}),
        ("checkpoint_dtype", "bf16", {}),
    ],
)
def test_a_field_that_changes_nothing_is_named(field: str, setting: Any, spec: dict[str, Any]) -> None:
    plain, given_ = answer(**spec), answer(**spec, **{field: setting})
    assert given_.metrics == plain.metrics
    assert f"({field}) changes nothing" in finding(given_, "field_ignored").message
    change = finding(given_, "field_ignored").change
    assert change is not None
    assert "field_ignored" not in codes(answer(**{**spec, field: setting, **change}))


@pytest.mark.parametrize(
    ("field", "setting", "spec"),
    [
        ("engine_core", "v0", {"engine_version": "0.8.3"}),
        ("redundant_experts", 32, {"llm": "gpt-oss-20b"}),
        ("all_to_all", "deepep", {"llm": "gpt-oss-20b"}),
        ("hybrid_cache", "unified_pages", {"llm": "gpt-oss-20b"}),
        ("visible_memory_bytes", 70 * GIB, {}),
        ("max_total_tokens", 10_000, {"engine": "sglang"}),
        ("checkpoint_dtype", "bf16", {"weight_dtype": "fp8"}),
        ("measured_free_before_load_bytes", 70 * GIB, {"engine": "sglang"}),
        ("measured_memory_fraction", 0.8, {"measured_kv_pool_bytes": 40 * GIB}),
        ("measured_weights_bytes", 16 * GIB, {}),
        ("measured_non_kv_bytes", 20 * GIB, {}),
        ("measured_kv_tokens", 300_000, {}),
    ],
)
def test_a_field_of_memory_changes_the_answer(field: str, setting: Any, spec: dict[str, Any]) -> None:
    plain, given_ = answer(**spec), answer(**spec, **{field: setting})
    assert given_.metrics != plain.metrics
    assert "field_ignored" not in codes(given_)


def test_words_of_quantisers_are_understood() -> None:
    for words, ours in (("bitsandbytes", "nf4"), ("gptq-int8", "int8"), ("AWQ", "int4"), ("gguf-q4_k_m", "q4_k_m")):
        assert answer(weight_dtype=words).metrics == answer(weight_dtype=ours).metrics


LLMS = st.sampled_from(["llama-3.1-8b", "gpt-oss-20b", "qwen3-5-35b-a3b", "gemma-3-12b", "deepseek-v2-lite"])
ENGINES = st.sampled_from(["vllm", "sglang", "tensorrt_llm"])


@settings(max_examples=60, deadline=None)
@given(llm=LLMS, engine=ENGINES, length=st.integers(1000, 30_000), dtype=st.sampled_from(["fp8", "nvfp4"]))
def test_a_narrower_cache_gains_less_than_its_ratio(llm: str, engine: str, length: int, dtype: str) -> None:
    """FP8 at most doubles what fits; recurrent states do not shrink, so hybrids gain less."""
    spec: dict[str, Any] = {"llm": llm, "gpu": "h200-sxm", "engine": engine, "max_model_len": length}
    wide, narrow = answer(**spec), answer(**spec, kv_dtype=dtype)
    gain = value(narrow, "max_concurrency") / value(wide, "max_concurrency")
    most = 2.0 if dtype == "fp8" else 2.0 / (0.5 + 1 / 16)
    assert gain >= 1 - 1e-9
    assert gain <= most * 1.005
    # SGLang cuts the states off first, so that its cache doubles and the states bind sooner.
    if CATALOG.llm(llm).linear and dtype == "fp8" and engine != "sglang":
        assert gain < 2.0


@settings(max_examples=40, deadline=None)
@given(engine=ENGINES, ranks=st.sampled_from([1, 2, 4, 8]), slug=st.sampled_from(["deepseek-v2-lite", "deepseek-v3"]))
def test_tensor_parallelism_never_divides_latent_cache(engine: str, ranks: int, slug: str) -> None:
    one = value(answer(llm=slug, gpu="b300-sxm", engine=engine, tensor_parallel=1), "kv_bytes_per_token")
    many = value(answer(llm=slug, gpu="b300-sxm", engine=engine, tensor_parallel=ranks), "kv_bytes_per_token")
    assert many == one


@settings(max_examples=60, deadline=None)
@given(
    llm=LLMS, engine=ENGINES, visible=st.floats(70e9, 290e9), more=st.floats(0, 100e9), ranks=st.sampled_from([1, 2])
)
def test_more_memory_never_holds_fewer_tokens(llm: str, engine: str, visible: float, more: float, ranks: int) -> None:
    spec: dict[str, Any] = {
        "llm": llm,
        "gpu": "b200-sxm",
        "engine": engine,
        "tensor_parallel": ranks,
        "max_model_len": 8192,
        "max_num_batched_tokens": 8192,
    }
    few = answer(**spec, visible_memory_bytes=visible)
    many = answer(**spec, visible_memory_bytes=visible + more)
    assert (many.value("kv_pool_tokens") or 0) >= (few.value("kv_pool_tokens") or 0)


@settings(max_examples=60, deadline=None)
@given(
    llm=LLMS,
    engine=ENGINES,
    size=st.floats(1, 60),
    fraction=st.floats(0.5, 0.95),
    kv_dtype=st.sampled_from(["bf16", "fp8"]),
    length=st.integers(1000, 30_000),
)
def test_a_measured_pool_comes_back_whatever_else_is_asked(
    llm: str, engine: str, size: float, fraction: float, kv_dtype: str, length: int
) -> None:
    spec: dict[str, Any] = {"llm": llm, "gpu": "h200-sxm", "engine": engine, "memory_fraction": fraction}
    spec |= {"kv_dtype": kv_dtype, "max_model_len": length, "measured_kv_pool_bytes": size * GIB}
    result = answer(**spec)
    assume(result.value("kv_pool_bytes") is not None)
    hybrid = engine == "sglang" and CATALOG.llm(llm).linear is not None
    assert value(result, "kv_pool_bytes") / GIB == pytest.approx(size * (1.9 if hybrid else 1.0), abs=0.001)
    assert sum(value(result, name) for name in TERMS) == value(result, "budget_bytes")

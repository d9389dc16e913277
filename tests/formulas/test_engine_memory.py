"""How engines divide a rank's memory: sums, versions, and what start-up logs say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import files
from planner.formulas import engine_memory, memory
from tests.formulas.llms import LLAMA_8B

GIB = 2**30
CATALOG = files.load()
COMMON = CATALOG.calibration("engine_memory")
RANK = engine_memory.Rank(
    visible_bytes=39.4 * GIB,
    weights_bytes=memory.rank_weight_bytes(LLAMA_8B, dtype="bf16"),
    activation_bytes=1e9,
    extra_bytes=0.0,
    tensor_parallel=1,
    pipeline_parallel=1,
    data_parallel=1,
    graph_capture=True,
)


def terms(engine: str, rank: engine_memory.Rank, **more: Any) -> engine_memory.Terms:
    settings = engine_memory.version_row(CATALOG.engine(engine).settings, version=more.pop("version", None))
    given: Mapping[str, Any] = {"memory_fraction": None, "batched_tokens": 2048, "graph_sequences": 256, **more}
    return engine_memory.engine_terms(settings, rank=rank, common=COMMON, **given)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@given(
    visible=st.floats(16e9, 300e9),
    weights=st.floats(1e9, 200e9),
    activation=st.floats(0, 20e9),
    extra=st.floats(0, 5e9),
    ranks=st.sampled_from([1, 2, 4, 8, 16]),
    fraction=st.one_of(st.none(), st.floats(0.1, 1)),
)
def test_terms_are_whole_and_sum_to_the_budget_exactly(
    engine: str, visible: float, weights: float, activation: float, extra: float, ranks: int, fraction: float | None
) -> None:
    rank = replace(
        RANK,
        visible_bytes=visible,
        weights_bytes=weights,
        activation_bytes=activation,
        extra_bytes=extra,
        tensor_parallel=ranks,
    )
    made = terms(engine, rank, memory_fraction=fraction)
    parts = [made.weights, made.activation, made.graph, made.context, made.other, made.kv_pool]
    assert sum(parts) == made.budget
    assert all(part.is_integer() for part in parts)
    assert min(parts[:-1]) >= 0
    assert made.budget <= visible + 1


@pytest.mark.parametrize(("version", "inside"), [("0.22.0", True), ("0.21", True), ("0.19.1", False), ("0.8.5", False)])
def test_graphs_moved_into_the_budget(version: str, inside: bool) -> None:
    made = terms("vllm", RANK, version=version)
    assert (made.graph > 0) is inside
    assert (made.outside > 0) is not inside


def test_versions_are_compared_as_numbers() -> None:
    settings = CATALOG.engine("vllm").settings
    assert engine_memory.version_row(settings, version="0.9.2")["since"] == "0.8"
    assert engine_memory.version_row(settings, version="0.10.0")["since"] == "0.8"
    assert engine_memory.version_row(settings, version="v0.21.0rc1")["since"] == "0.21"
    assert engine_memory.version_row(settings, version=None)["since"] == "0.21"
    assert engine_memory.version_row(settings, version="0.0.1")["since"] == "0.4"


def test_the_pool_of_a_start_up_log() -> None:
    # vLLM 0.15, Llama-3.1-8B on A100 40 GB, all defaults: "Available KV cache memory: 19.28 GiB".
    settings = engine_memory.version_row(CATALOG.engine("vllm").settings, version="0.15.0")
    activation = engine_memory.activation_bytes(
        LLAMA_8B,
        batched_tokens=2048,
        sequences=256,
        tensor_parallel=1,
        hidden_factor=settings["activation_hidden_factor"],
        logit_bytes=settings["logit_bytes"],
        mlp_width=14336,
    )
    made = terms("vllm", replace(RANK, activation_bytes=activation), version="0.15.0")
    assert made.kv_pool / GIB == pytest.approx(19.28, rel=0.03)


def test_sglang_takes_the_fraction_it_printed() -> None:
    # SGLang on one H100: mem_fraction_static 0.874, the floor of its reserve.
    rank = replace(RANK, visible_bytes=79.19 * GIB)
    reserve = CATALOG.engine("sglang").settings
    fraction = engine_memory.sglang_fraction(reserve, rank=rank, chunk=2048, graph_sequences=256)
    assert fraction == pytest.approx(0.874, abs=0.004)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@given(more=st.floats(0, 100e9))
def test_more_memory_never_leaves_less_for_the_cache(engine: str, more: float) -> None:
    # The floor of SGLang's reserve applies above 60 GiB only, so stay on one side of it.
    rank = replace(RANK, visible_bytes=70 * GIB)
    larger = replace(rank, visible_bytes=70 * GIB + more)
    assert terms(engine, larger).kv_pool >= terms(engine, rank).kv_pool - 1

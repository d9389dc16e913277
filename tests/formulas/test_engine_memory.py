"""How engines divide a rank's memory: sums, versions, and what start-up logs say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import files
from planner.formulas import activations, engine_memory, weights
from planner.formulas.memory_terms import Measured, Rank, Spread, Terms
from tests.formulas.llms import LLAMA_8B

GIB = 2**30
CATALOG = files.load()
RANK = Rank(
    visible=Spread.exact(39.4 * GIB),
    weights=Spread.exact(weights.rank_weight_bytes(LLAMA_8B, dtype="bf16")),
    activation=Spread.within(1e9, down=0.1, up=0.2),
    extra_bytes=0.0,
    tensor_parallel=1,
    pipeline_parallel=1,
    data_parallel=1,
    graph_capture=True,
)


def terms(engine: str, rank: Rank, **more: Any) -> Terms:
    settings = engine_memory.version_row(CATALOG.engine(engine).settings, version=more.pop("version", None))
    given: Mapping[str, Any] = {"memory_fraction": None, "batched_tokens": 2048, "graph_sequences": 256, **more}
    return engine_memory.engine_terms(settings, rank=rank, **given)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@given(
    visible=st.floats(16e9, 300e9),
    held=st.floats(1e9, 200e9),
    activation=st.floats(0, 20e9),
    extra=st.floats(0, 5e9),
    ranks=st.sampled_from([1, 2, 4, 8, 16]),
    fraction=st.one_of(st.none(), st.floats(0.1, 1)),
)
def test_terms_are_whole_and_sum_to_the_budget_exactly(
    engine: str, visible: float, held: float, activation: float, extra: float, ranks: int, fraction: float | None
) -> None:
    rank = replace(
        RANK,
        visible=Spread.exact(visible),
        weights=Spread.exact(held),
        activation=Spread.within(activation, down=0.2, up=0.5),
        extra_bytes=extra,
        tensor_parallel=ranks,
    )
    made = terms(engine, rank, memory_fraction=fraction)
    parts = [made.weights, made.activation, made.graph, made.context, made.other, made.kv_room]
    assert sum(parts) == made.budget
    assert all(part.is_integer() for part in parts)
    assert min(parts[:-1]) >= 0
    assert made.pool_low <= made.kv_room <= made.pool_high
    assert made.budget <= visible + 1


@pytest.mark.parametrize(("version", "inside"), [("0.22.0", True), ("0.21", True), ("0.19.1", False), ("0.8.5", False)])
def test_graphs_moved_into_the_budget(version: str, inside: bool) -> None:
    made = terms("vllm", RANK, version=version)
    assert (made.graph > 0) is inside
    assert (made.outside > 0) is not inside


def test_versions_are_compared_as_numbers() -> None:
    settings = CATALOG.engine("vllm").settings
    assert engine_memory.version_row(settings, version="0.9.1")["since"] == "0.8"
    assert engine_memory.version_row(settings, version="0.10.0")["since"] == "0.9.2"
    assert engine_memory.version_row(settings, version="0.6.3.post1")["since"] == "0"
    assert engine_memory.version_row(settings, version="0.6.4.post1")["since"] == "0.6.4"
    assert engine_memory.version_row(settings, version="main")["since"] == "0.21"
    assert engine_memory.version_row(settings, version="v0.21.0rc1")["since"] == "0.21"
    assert engine_memory.version_row(settings, version=None)["since"] == "0.21"
    assert engine_memory.version_row(settings, version="0.0.1")["since"] == "0"


def test_the_pool_of_a_start_up_log() -> None:
    # vLLM 0.15, Llama-3.1-8B on A100 40 GB, all defaults: "Available KV cache memory: 19.28 GiB".
    settings = engine_memory.version_row(CATALOG.engine("vllm").settings, version="0.15.0")
    step = activations.Step(
        batched_tokens=2048,
        sequences=256,
        max_model_len=131_072,
        block_size=16,
        tensor_parallel=1,
        hidden_factor=settings["activation_hidden_factor"],
        logit_bytes=settings["logit_bytes"],
    )
    peak = activations.peak_bytes(LLAMA_8B, step=step)
    made = terms("vllm", replace(RANK, activation=Spread.exact(peak)), version="0.15.0")
    assert made.kv_room / GIB == pytest.approx(19.28, rel=0.03)


def test_sglang_takes_the_fraction_it_printed() -> None:
    # SGLang on one H100: mem_fraction_static 0.874, the floor of its reserve.
    rank = replace(RANK, visible=Spread.exact(79.19 * GIB))
    reserve = engine_memory.version_row(CATALOG.engine("sglang").settings, version="0.4.7")
    fraction = engine_memory.sglang_fraction(reserve, rank=rank, chunk=2048, graph_sequences=256)
    assert fraction == pytest.approx(0.874, abs=0.004)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@given(more=st.floats(0, 100e9))
def test_more_memory_never_leaves_less_for_the_cache(engine: str, more: float) -> None:
    # The floor of SGLang's reserve applies above 60 GiB only, so stay on one side of it.
    rank = replace(RANK, visible=Spread.exact(70 * GIB))
    larger = replace(rank, visible=Spread.exact(70 * GIB + more))
    assert terms(engine, larger).kv_room >= terms(engine, rank).kv_room - 1


@pytest.mark.parametrize(("ranks", "fraction"), [(1, 0.88), (2, 0.87), (4, 0.85), (8, 0.83), (16, 0.79)])
def test_old_sglang_takes_a_fraction_by_ranks(ranks: int, fraction: float) -> None:
    settings = engine_memory.version_row(CATALOG.engine("sglang").settings, version="0.3.3")
    rank = replace(RANK, tensor_parallel=ranks)
    assert engine_memory.sglang_fraction(settings, rank=rank, chunk=8192, graph_sequences=160) == fraction


def test_buffers_of_a_row_of_the_log() -> None:
    # vLLM 0.19 on H100: non-torch memory 0.25 GiB with one rank, 2.07 with two, 2.13 with four.
    settings = engine_memory.version_row(CATALOG.engine("vllm").settings, version="0.19.0")
    for ranks, logged in ((1, 0.25), (2, 2.07), (4, 2.13)):
        found = engine_memory.ranks_row(settings["non_torch"], ranks=ranks, gpu_class="nvlink")
        assert found.typical / GIB == pytest.approx(logged, abs=0.06)
        assert found.low / GIB <= logged <= found.high / GIB


def test_the_fraction_of_what_a_trial_run_leaves() -> None:
    # TensorRT-LLM: (119.70 - 113.65 + 0.56) · 0.9 = 5.95 GiB, as one public log has it.
    held = Spread.exact((113.65 - 0.56) * GIB)
    rank = replace(RANK, visible=Spread.exact(119.70 * GIB), weights=held, activation=Spread.exact(0))
    rank = replace(rank, graph_capture=False, measured=Measured(context=0.0))
    assert terms("tensorrt_llm", rank).kv_room / GIB == pytest.approx(5.95, abs=0.005)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt_llm"])
@given(shift=st.floats(-1e9, 5e9))
def test_what_a_log_measured_moves_the_pool_by_as_much(engine: str, shift: float) -> None:
    before = terms(engine, RANK, memory_fraction=0.9)
    after = terms(engine, replace(RANK, measured=Measured(rest_shift=shift)), memory_fraction=0.9)
    assert after.kv_room == pytest.approx(before.kv_room - shift, abs=5)
    assert (
        sum((after.weights, after.activation, after.graph, after.context, after.other, after.kv_room)) == after.budget
    )


def test_ranges_of_independent_terms_add_in_squares() -> None:
    made = terms("vllm", RANK, version="0.19.0")
    away = [spread.high - spread.typical for spread in made.spreads.values()]
    assert made.kv_room - made.pool_low == pytest.approx(sum(part**2 for part in away) ** 0.5)


def test_no_term_falls_below_zero_whatever_a_log_says() -> None:
    made = terms("vllm", replace(RANK, measured=Measured(rest_shift=-9e9)), version="0.19.0")
    assert made.activation == made.context == 0
    assert made.kv_room == made.budget - made.weights

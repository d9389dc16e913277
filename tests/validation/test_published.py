"""Published results: every line of the table is answered for, and its words are read as they were meant."""

from __future__ import annotations

import csv
from functools import cache

import pytest

from tests.validation import published
from tests.validation import published_text as text
from tests.validation.rows import Row


@cache
def lines() -> dict[str, dict[str, str]]:
    with published.TABLE.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


@cache
def made() -> tuple[Row, ...]:
    return tuple(published.published_results())


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("Llama-3.1-405B (8xH100 1FP8-meta)", "llama-3-1-405b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("DeepSeek-V3/R1", "deepseek-v3"),
        ("Kimi-K2-Instruct", "kimi-k2"),
        ("GLM-5.2-FP8", "glm-5-2"),
        ("llama2-70b", "llama-2-70b"),
        ("Qwen/Qwen3.5-397B-A17B", "qwen3-5-397b-a17b"),
    ],
)
def test_an_llm_is_known_by_the_names_people_give_it(words: str, slug: str) -> None:
    assert text.llm_of(words).slug == slug


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("b200_sxm", "b200-sxm"),
        ("H100 SXM5", "h100-sxm"),
        ("H800", "h800-sxm"),
        ("a100-80gb", "a100-sxm-80gb"),
        ("RTX PRO 6000 Server", "rtx-pro-6000-server"),
        ("GB200", "gb200"),
    ],
)
def test_a_gpu_is_known_by_the_names_people_give_it(words: str, slug: str) -> None:
    assert text.gpu_of(words).slug == slug


@pytest.mark.parametrize(
    ("words", "engine", "row", "expected"),
    [
        ("TP8 PP1 attnDP1 moeTP8 moeEP1", "sglang", "", text.Cut(tensor=8, experts=1)),
        ("TP8 PP1 attnDP1 moeTP1 moeEP8", "tensorrt_llm", "", text.Cut(tensor=8, experts=8)),
        # vLLM writes TP and DP for the same four GPUs, and their product for the experts.
        ("TP4 PP1 attnDP4 moeTP1 moeEP16", "vllm", "", text.Cut(data=4, experts=4)),
        ("TP1 PP1 attnDP8 moeTP1 moeEP8", "tensorrt_llm", "", text.Cut(data=8, experts=8)),
        ("TP16 PP1 attnDP1 moeTP4 moeEP4", "sglang", "x_c64_tp4_ep4_1882", text.Cut(tensor=4, experts=4)),
        ("TP1 PP4", "tensorrt_llm", "", text.Cut(pipeline=4)),
        ("TP4 x 2 replica", "vllm", "", text.Cut(tensor=4, replicas=2)),
        ("tp8", "vllm", "", text.Cut(tensor=8)),
    ],
)
def test_a_layout_is_read_as_it_was_meant(words: str, engine: str, row: str, expected: text.Cut) -> None:
    assert text.cut_of(words, engine=engine, row=row) == expected


def test_pools_are_read_with_their_workers() -> None:
    pools = text.pools_of("P 1x(TP1 DP4 EP4) D 5x(TP8 DP1 EP8)")
    assert (pools.prefill_workers, pools.prefill.gpus) == (1, 4)
    assert (pools.decode_workers, pools.decode.gpus) == (5, 8)


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (text.llm_of, "13B LLM"),
        (text.gpu_of, "8 GPUs, type not in file"),
        (text.pools_of, "P x(TP8 DP1 EP8) D x(TP32 DP1 EP8)"),
        (text.per_gpu, "64-5120"),
    ],
)
def test_what_is_not_said_is_not_guessed(read: object, words: str) -> None:
    with pytest.raises(text.UnreadError, match=r"\.$"):
        read(words)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fp4 gemm=nvfp4 moe=nvfp4", "nvfp4"),
        ("fp8 gemm=fp8 moe=fp8_block", "fp8"),
        ("int4 gemm=int4_wo moe=int4_wo", "int4"),
        ("fp8 attn + nvfp4 moe", "nvfp4"),
        ("bf16 attn + fp8 moe", "fp8"),
        ("fp8 matmul+dispatch, bf16 MLA+combine", "fp8"),
        ("", None),
    ],
)
def test_a_format_is_that_of_the_weights_that_are_most(words: str, expected: str | None) -> None:
    assert text.format_of(words) == expected


def test_no_line_is_dropped() -> None:
    assert {row.id for row in made()} == set(lines())


def test_a_line_that_is_not_compared_says_why_in_a_sentence() -> None:
    for row in made():
        assert row.status == "compared" or row.reason.endswith("."), row.id


def test_whole_systems_are_within_15_percent() -> None:
    found = [row for row in made() if row.quantity == "system_throughput" and row.status == "compared"]
    assert {"r0001", "r0002", "r0009", "r0013"} <= {row.id for row in found}
    for row in found:
        assert row.error is not None
        assert row.error < 15, (row.id, row.predicted, row.measured)


def test_lines_of_public_dumps_are_compared_where_they_are_read_whole() -> None:
    """They stand in silicon_sample.csv under the id that their source names."""
    copies = [row for row in made() if "silicon_sample" in row.source]
    assert len(copies) > 300
    assert {row.status for row in copies} <= {"set aside", "not expressible"}


def test_offline_throughput_is_compared_with_all_places_taken() -> None:
    found = [row for row in made() if "perf-overview" in row.source]
    assert len(found) == 132
    assert all(row.group == "Throughput" and row.status == "compared" for row in found)

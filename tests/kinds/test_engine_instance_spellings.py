"""Specs as others write them: names of checkpoints, formats, ranks counted in other ways, fields left empty."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.catalog import UnknownEntry
from planner.core.result import Result
from planner.kinds import get

KIND = get("engine_instance")
CATALOG = files.load()


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def cut(**spec: Any) -> tuple[int, int, int, int]:
    found: tuple[int, int, int, int] = KIND.spec.model_validate(spec).cut()  # type: ignore[attr-defined]
    return found


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    ("name", "slug", "number"),
    [
        ("nvidia/DeepSeek-R1-NVFP4", "deepseek-r1", "nvfp4"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3", "nvfp4"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3-1-8b", "fp8"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b", "fp8"),
        ("zhipuai/GLM-5", "glm-5", "bf16"),
        ("RedHatAI/Qwen3-32B-FP8-dynamic", "qwen3-32b", "fp8"),
        ("someone/gpt-oss-120b", "gpt-oss-120b", "mxfp4"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1", "fp8"),
    ],
)
def test_a_copy_is_the_llm_in_the_format_of_its_name(name: str, slug: str, number: str) -> None:
    assert CATALOG.llm(name).slug == slug
    found = answer(llm=name, gpu="b200_sxm", gpus=8)
    assert found.provenance["weight_format"] == number
    assert found.metrics == answer(llm=slug, gpu="b200-sxm", gpus=8, weight_dtype=number).metrics


def test_what_is_stated_counts_more_than_the_name() -> None:
    found = answer(llm="nvidia/DeepSeek-R1-NVFP4", gpu="b200-sxm", gpus=8, weight_dtype="fp8")
    assert found.provenance["weight_format"] == "fp8"


@pytest.mark.parametrize("name", ["nvidia/No-Such-LLM-NVFP4", "FP8", "-FP8", "/", "a" * 500 + "-FP8"])
def test_a_name_of_nothing_is_refused_whatever_its_format(name: str) -> None:
    with pytest.raises(UnknownEntry):
        answer(llm=name)


@pytest.mark.parametrize(("llm", "number"), [("openai/gpt-oss-120b", "mxfp4"), ("deepseek-r1", "nvfp4")])
def test_fp4_is_that_of_the_llm(llm: str, number: str) -> None:
    spec = {"llm": llm, "gpu": "b200-sxm", "gpus": 8}
    assert answer(**spec, weight_dtype="fp4").metrics == answer(**spec, weight_dtype=number).metrics


def test_empty_text_is_left_out_but_not_of_the_llm() -> None:
    blank = dict.fromkeys(("weight_dtype", "engine_version", "gpus", "tensor_parallel", "concurrency", "draft"), "")
    assert answer(**blank).metrics == answer().metrics
    with pytest.raises(UnknownEntry):
        answer(llm="")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # vLLM with data-parallel attention as tables write it: t ranks, t copies, t² expert ranks on t GPUs.
        ({"engine": "vllm", "gpus": 4, "tensor_parallel": 4, "data_parallel_attention": 4}, (4, 1, 4, 1)),
        ({"engine": "vllm", "tensor_parallel": 4, "data_parallel_attention": 4, "expert_parallel": 4}, (4, 1, 4, 1)),
        ({"engine": "vllm", "tensor_parallel": 4, "data_parallel_attention": 4, "expert_parallel": 16}, (16, 4, 4, 1)),
        # Ranks and copies as products with the expert ranks.
        ({"gpus": 8, "tensor_parallel": 64, "expert_parallel": 8}, (8, 8, 1, 1)),
        ({"gpus": 8, "tensor_parallel": 64, "expert_parallel": 8, "data_parallel_attention": 1}, (8, 8, 1, 1)),
        ({"gpus": 4, "tensor_parallel": 1, "data_parallel_attention": 16, "expert_parallel": 4}, (4, 1, 4, 1)),
        # Off, as tables have it.
        ({"gpus": 2, "tensor_parallel": 2, "data_parallel_attention": 0, "expert_parallel": "0"}, (2, 2, 1, 1)),
    ],
)
def test_ranks_counted_in_other_ways_are_understood(spec: dict[str, Any], expected: tuple[int, int, int, int]) -> None:
    assert cut(**spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        {"gpus": 8, "tensor_parallel": 64, "expert_parallel": 8},
        {"gpus": 4, "data_parallel_attention": 16, "tensor_parallel": 1, "expert_parallel": 4},
        {"gpus": 4, "tensor_parallel": 4, "data_parallel_attention": 4, "expert_parallel": 16},
        {"gpus": 4, "expert_parallel": 16},
    ],
)
def test_a_placement_read_otherwise_than_stated_is_said(spec: dict[str, Any]) -> None:
    llm = {"llm": "deepseek-r1", "gpu": "b300-sxm", "weight_dtype": "fp4"}
    found = answer(**llm, **spec)
    assert found.value("tpot_mean_s") is not None
    finding = next(each for each in found.findings if each.code == "placement_read")
    assert finding.severity == "warning"
    assert finding.change is not None
    told = answer(**{**llm, **spec, **finding.change})
    assert told.metrics == found.metrics
    assert "placement_read" not in codes(told)


def test_copies_inside_the_ranks_need_no_remark_where_the_engine_counts_so() -> None:
    for engine in ("sglang", "tensorrt_llm"):
        found = answer(llm="deepseek-r1", gpu="h200-sxm", engine=engine, tensor_parallel=8, data_parallel_attention=8)
        assert "placement_read" not in codes(found)


@pytest.mark.parametrize(
    "spec",
    [
        {"gpus": 8, "tensor_parallel": 64},
        {"gpus": 8, "tensor_parallel": 64, "expert_parallel": 4},
        {"gpus": 8, "tensor_parallel": 16, "data_parallel_attention": 4, "expert_parallel": 8},
    ],
)
def test_ranks_that_no_reading_explains_are_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="gpus"):
        KIND.spec.model_validate(spec)

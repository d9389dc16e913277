from __future__ import annotations

import pytest

from planner.core import llm_names


@pytest.mark.parametrize(
    ("name", "number", "plain"),
    [
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "nvfp4", "DeepSeek-R1-0528"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "fp8", "Llama-3.1-8B-Instruct"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "fp8", "Llama-3.3-70B-Instruct"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "int4", "Meta-Llama-3.1-8B-Instruct"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "int8", "Qwen2.5-72B-Instruct"),
        ("unsloth/Meta-Llama-3.1-8B-bnb-4bit", "nf4", "Meta-Llama-3.1-8B"),
        ("amd/DeepSeek-R1-MXFP4", "mxfp4", "DeepSeek-R1"),
        # A version is no format, and a format inside a name is none of the whole.
        ("deepseek-ai/DeepSeek-V3", None, "DeepSeek-V3"),
        ("deepseek-ai/DeepSeek-V3-FP8", "fp8", "DeepSeek-V3"),
        ("someone/FP8-experiments", None, "FP8-experiments"),
    ],
)
def test_a_checkpoint_is_told_from_its_publisher_and_format(name: str, number: str | None, plain: str) -> None:
    assert llm_names.number_format(name) == number
    assert plain in llm_names.plain_names(name)


def test_a_plain_name_has_no_other() -> None:
    assert list(llm_names.plain_names("llama-3-1-8b")) == []

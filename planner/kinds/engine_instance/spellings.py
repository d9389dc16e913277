"""How engines and vendors spell what a spec says: ``true`` for all ranks, ``fp4``, ``auto``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WEIGHTS: Mapping[str, str | None] = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    "fp8_block": "fp8",
    "fp8_e4m3": "fp8",
    "int4_wo": "int4",
    "w4a16": "int4",
    "w8a8": "int8",
    "auto": None,
    "awq": "int4",
    "gptq": "int4",
    "awq-int4": "int4",
    "gptq-int4": "int4",
    "gptq-int8": "int8",
    "bitsandbytes": "nf4",
    "bitsandbytes-4bit": "nf4",
    "bnb": "nf4",
    "gguf-q4_k_m": "q4_k_m",
    "gguf-q8_0": "q8_0",
}
_NEEDED = ("llm", "gpu", "engine")
_SWITCHES = ("expert_parallel", "data_parallel_attention")
"""Engines switch these on or off; 0, as tables of others have it, is off."""
_ALIASES: Mapping[str, Mapping[str, str | None]] = {
    "weight_dtype": _WEIGHTS,
    "checkpoint_dtype": {**_WEIGHTS, "fp4": "nvfp4"},
    "kv_dtype": {"bfloat16": "bf16", "float16": "fp16", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "auto": None},
    "engine": {
        "tensorrt-llm": "tensorrt_llm",
        "trtllm": "tensorrt_llm",
        "trt-llm": "tensorrt_llm",
        "trt": "tensorrt_llm",
    },
}


def respelled(given: Mapping[str, Any]) -> dict[str, Any]:
    """A spec in our words; what is not known is left for its field to refuse.

    Empty text is left out, but for what a replica cannot be without.
    """
    read = {name: value for name, value in given.items() if value != "" or name in _NEEDED}
    for name, spellings in _ALIASES.items():
        if isinstance(read.get(name), str):
            word = read[name].lower()
            read[name] = spellings.get(word, word)
    for name in _SWITCHES:
        if read.get(name) is True:
            read[name] = _stage_ranks(read)
        elif read.get(name) in (False, "0"):
            read[name] = 1
    return read


def _stage_ranks(given: Mapping[str, Any]) -> Any:
    """GPUs of a pipeline stage as far as a spec that is not checked yet tells them."""
    gpus, stages = given.get("gpus") or given.get("tensor_parallel") or 1, given.get("pipeline_parallel") or 1
    return gpus // stages if isinstance(gpus, int) and isinstance(stages, int) else gpus

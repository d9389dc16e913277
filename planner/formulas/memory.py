"""Number formats, and the bytes of an LLM's weights in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas.parameters import (
    STORED_PARTS,
    attention_layer_parameters,
    expert_parameters,
    latent_down_parameters,
    parameters,
    shared_expert_parameters,
)

__all__ = [
    "BITS_PER_PARAMETER",
    "FOUR_BIT",
    "STORED_PARTS",
    "attention_layer_parameters",
    "dtype_name",
    "expert_parameters",
    "kv_dtype_bytes",
    "latent_down_parameters",
    "parameters",
    "part_bytes_per_parameter",
    "shared_expert_parameters",
    "weight_bytes",
]

BITS_PER_PARAMETER: Mapping[str, float] = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "int8": 8.16,
    "int4": 4.156,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "int4_g32": 4.5,
    "nf4": 4.5,
    "nf4_double": 4.127,
    "q4_k_m": 4.85,
    "q8_0": 8.5,
}
"""Width of a quantised linear parameter with its scales: int8 and int4 by groups of 128 (GPTQ, AWQ), MXFP4 one 8-bit
scale a 32 (OCP Microscaling v1.0, section 5), NVFP4 one 8-bit scale a 16, NF4 one 32-bit scale a 64 or, quantised
twice, 8 bits a 64 (Dettmers et al., arXiv:2305.14314, section 3), GGUF by its file sizes."""

FOUR_BIT = ("int4", "int4_g32", "mxfp4", "nvfp4")
_ALIASES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "fp4": "nvfp4", "awq": "int4", "gptq": "int4"}
_EVERY_PART = ("q4_k_m", "q8_0")
"""Formats that quantise embedding and head too."""
_KV_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp32": 4.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 0.5 + 1 / 16}
_EXPERT_PARTS = ("experts", "shared_experts")
_LINEAR_PARTS = ("attention", "indexer", "dense_mlp", *_EXPERT_PARTS)


def dtype_name(dtype: str) -> str:
    """The name used here for a number format; raises ValueError on an unknown one."""
    name = _ALIASES.get(dtype.lower(), dtype.lower())
    if name not in BITS_PER_PARAMETER:
        raise ValueError(f"unknown number format “{dtype}”; known are {', '.join(BITS_PER_PARAMETER)}")
    return name


def kv_dtype_bytes(dtype: str) -> float:
    """Bytes of a cached number; NVFP4 keeps one byte of scale for 16 numbers."""
    name = dtype_name(dtype)
    if name not in _KV_BYTES:
        raise ValueError(f"no engine keeps its KV cache in {dtype}")
    return _KV_BYTES[name]


def part_bytes_per_parameter(llm: Llm, *, part: str, dtype: str) -> float:
    """Bytes of a parameter of a part (a key of `parameters`) in a checkpoint of this format.

    Notes
    -----
    In the format it was published in, each part as the configuration of the checkpoint says, where it says so. Else:
    embedding, head, router and norms stay in 16 bits, and four-bit checkpoints of an LLM with experts quantise the
    experts only (gpt-oss, Kimi-K2, DeepSeek in NVFP4).

    References
    ----------
    Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0, 2023, section 5 (MXFP4); the other
    widths follow from group sizes as `BITS_PER_PARAMETER` says.
    """
    return _part_bytes(llm, part, dtype_name(dtype))


@lru_cache(maxsize=4096)
def _part_bytes(llm: Llm, part: str, name: str) -> float:
    published = name == llm.native_dtype
    native = (llm.quant_bits if published else 0.0) or BITS_PER_PARAMETER[name]
    shares = [(dtype, share) for kind, dtype, share in llm.part_formats if kind == part] if published else []
    if shares:
        bits = sum(share * (native if dtype == name else BITS_PER_PARAMETER[dtype]) for dtype, share in shares)
        return bits / 8
    if name in _EVERY_PART and part not in ("router", "norms", "vision"):
        return native / 8
    if part not in _LINEAR_PARTS:
        return max(2.0, native / 8) if name == "fp32" else 2.0
    if name in FOUR_BIT and llm.moe and part not in _EXPERT_PARTS:
        return 2.0
    return native / 8


def weight_bytes(llm: Llm, *, dtype: str) -> float:
    """Bytes of the whole checkpoint in a number format, draft layers left out [bytes]."""
    counts = parameters(llm)
    return sum(counts[part] * part_bytes_per_parameter(llm, part=part, dtype=dtype) for part in STORED_PARTS)

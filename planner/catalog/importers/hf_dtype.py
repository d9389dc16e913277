"""The number format of a checkpoint's 16- or 32-bit weights, and the widths of quantised ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt

FLOATS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PB_WO": "fp8",
    "FP8_BLOCK_SCALES": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "MXFP8": "fp8",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "W4A16_MXFP4": "mxfp4",
    "W4A16": "int4",
    "W4A16_AWQ": "int4",
    "W4A8_AWQ": "int4",
    "INT4_AWQ": "int4",
    "INT8_SQ": "int8",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "W8A16": "int8",
}
_SCALE_BITS = 16
_BLOCK_SCALE_BITS = 32
_MX_GROUP, _NV_GROUP = 32, 16
_BITS_AND_BYTES_BLOCK, _DOUBLE_QUANT_BLOCK = 64, 256


def plain_format(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    """The format ``dtype`` or ``torch_dtype`` names; 16-bit brain floats where neither does."""
    word = next((source[key] for source in (text, config) for key in ("dtype", "torch_dtype") if source.get(key)), None)
    if word is None:
        return "bf16"
    if not isinstance(word, str) or word.removeprefix("torch.") not in FLOATS:
        raise ImportProblem(None, "torch_dtype", f"“{excerpt(word)}” is not a known number format")
    return FLOATS[word.removeprefix("torch.")]


def by_bits(bits: Any, key: str, *, kind: Any = "int", group: int = 0) -> str:
    """Format of a weight of so many bits, whole or floating; 4-bit floats by 16 are NVFP4, by 32 MXFP4."""
    if isinstance(bits, bool) or not isinstance(bits, int) or bits not in (4, 8):
        raise ImportProblem(None, key, f"{excerpt(bits)} bits are not supported; 4 and 8 are")
    if kind != "float":
        return f"int{bits}"
    if bits == 8:
        return "fp8"
    return "mxfp4" if group == _MX_GROUP else "nvfp4"


def by_algorithm(name: Any, key: str) -> str:
    if isinstance(name, str) and name.upper() in ALGORITHMS:
        return ALGORITHMS[name.upper()]
    raise ImportProblem(None, key, f"“{excerpt(name)}” is not supported; known are {', '.join(sorted(ALGORITHMS))}")


def group_of(scheme: Mapping[str, Any], key: str = "group_size") -> int:
    """Parameters that share a scale; 0 where a whole channel or tensor does."""
    group = scheme.get(key)
    if group is None:
        return 0
    if isinstance(group, bool) or not isinstance(group, int) or not -1 <= group <= 2**20:
        raise ImportProblem(None, f"quantization_config.{key}", f"must be a whole number, not {excerpt(group)}")
    return max(group, 0)


def whole_bits(bits: int, *, group: int, symmetric: bool) -> float:
    """Bits of an integer weight with its 16-bit scale, and a zero point where it is not symmetric."""
    return bits + ((_SCALE_BITS + (0 if symmetric else bits)) / group if group else 0.0)


def block_bits(block: Any) -> float:
    """Bits of an 8-bit float with a 32-bit scale for each block; 0 where there are no blocks."""
    whole = isinstance(block, list) and len(block) == 2 and all(isinstance(each, int) and each > 0 for each in block)
    if block is not None and not whole:
        raise ImportProblem(None, "quantization_config.weight_block_size", "must be two whole numbers above zero")
    return 8 + _BLOCK_SCALE_BITS / (block[0] * block[1]) if block else 0.0


def bits_and_bytes(*, four: bool, double: bool) -> float:
    """NF4 by blocks of 64, the scales again in 8 bits by 256 where quantised twice; 8 bits by row."""
    if not four:
        return 8.0
    scales = 8 / _BITS_AND_BYTES_BLOCK + 32 / (_BITS_AND_BYTES_BLOCK * _DOUBLE_QUANT_BLOCK)
    return 4 + (scales if double else 32 / _BITS_AND_BYTES_BLOCK)

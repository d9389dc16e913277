"""The number format of a checkpoint, from its ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt

_FLOATS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
_ALGORITHMS = {"FP8": "fp8", "NVFP4": "nvfp4", "W4A16_AWQ": "int4", "INT4_AWQ": "int4", "INT8_SQ": "int8"}


def native_dtype(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    """The format of the linear weights: that of ``quantization_config``, else of ``dtype`` or ``torch_dtype``."""
    scheme = config.get("quantization_config") or text.get("quantization_config")
    if scheme:
        return _quantised(scheme)
    word = next((source[key] for source in (text, config) for key in ("dtype", "torch_dtype") if source.get(key)), None)
    if word is None:
        return "bf16"
    if not isinstance(word, str) or word.removeprefix("torch.") not in _FLOATS:
        raise ImportProblem(None, "torch_dtype", f"“{excerpt(word)}” is not a known number format")
    return _FLOATS[word.removeprefix("torch.")]


def _quantised(scheme: Any) -> str:
    if not isinstance(scheme, Mapping):
        raise ImportProblem(None, "quantization_config", "must be a JSON object")
    method = scheme.get("quant_method")
    if method in ("fp8", "fbgemm_fp8"):
        return "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if method in ("awq", "gptq", "auto-round"):
        return _by_bits(scheme.get("bits", scheme.get("w_bit")), "quantization_config.bits")
    if method == "bitsandbytes":
        return "int4" if scheme.get("load_in_4bit") else "int8"
    if method == "modelopt":
        return _by_algorithm(scheme.get("quant_algo"))
    if method == "compressed-tensors":
        return _by_groups(scheme)
    raise ImportProblem(None, "quantization_config.quant_method", f"“{excerpt(method)}” is not supported")


def _by_bits(bits: Any, key: str) -> str:
    if bits in (4, 8):
        return f"int{bits}"
    raise ImportProblem(None, key, f"{excerpt(bits)} bits are not supported; 4 and 8 are")


def _by_float_bits(bits: Any, key: str) -> str:
    if bits in (4, 8):
        return "fp8" if bits == 8 else "nvfp4"
    raise ImportProblem(None, key, f"floats of {excerpt(bits)} bits are not supported; 4 and 8 are")


def _by_algorithm(name: Any) -> str:
    if isinstance(name, str) and name in _ALGORITHMS:
        return _ALGORITHMS[name]
    raise ImportProblem(None, "quantization_config.quant_algo", f"“{excerpt(name)}” is not supported")


def _by_groups(scheme: Mapping[str, Any]) -> str:
    """compressed-tensors: the weights of its first group."""
    key = "quantization_config.config_groups"
    groups = scheme.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        raise ImportProblem(None, key, "names no weights")
    if weights.get("type") == "float":
        return _by_float_bits(weights.get("num_bits"), f"{key}.weights.num_bits")
    return _by_bits(weights.get("num_bits"), f"{key}.weights.num_bits")

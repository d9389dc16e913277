"""What ``quantization_config`` says: the format of each module, and which modules stay in 16 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_dtype import (
    bits_and_bytes,
    block_bits,
    by_algorithm,
    by_bits,
    group_of,
    whole_bits,
)
from planner.catalog.importers.hf_modules import Patterns, canonical

KEY = "quantization_config"
MIXED = "fp8 with listed layers"
"""An 8-bit checkpoint whose experts were quantised again: what the lists leave out stays in 8 bits."""
_MOST_NAMES = 200_000
_LISTS = ("ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules", "exclude", "llm_int8_skip_modules")
_EVERYTHING = ("Linear", "linear", "*", "re:.*")


@dataclass(slots=True)
class Rule:
    """Modules that ``targets`` names (all where it is None) are in ``dtype``."""

    dtype: str
    targets: Patterns | None = None

    def takes(self, name: str) -> bool:
        return self.targets is None or self.targets.match(name)


@dataclass(slots=True)
class Scheme:
    """A quantisation as read: ``bits`` and ``group_size`` of its widths where they are stated, else 0."""

    method: str
    rules: list[Rule] = field(default_factory=list)
    ignored: Patterns = field(default_factory=lambda: Patterns(()))
    bits: float = 0.0
    group_size: int = 0
    kv_dtype: str = ""
    remarks: list[str] = field(default_factory=list)

    def dtype_of(self, name: str) -> str:
        """Format of a module; 16 bits where nothing quantises it."""
        if self.ignored.match(name):
            return "bf16"
        return next((rule.dtype for rule in self.rules if rule.takes(name)), "bf16")


def read_scheme(scheme: Any, *, expert_dtype: Any = None) -> Scheme:
    """The scheme of a ``quantization_config``; raises `ImportProblem` on a method that is not known."""
    if not isinstance(scheme, Mapping):
        raise ImportProblem(None, KEY, "must be a JSON object")
    inner = scheme.get("quantization")
    if isinstance(inner, Mapping):
        scheme = {**scheme, **inner}
    method = scheme.get("quant_method") or ("modelopt" if scheme.get("quant_algo") else None)
    if isinstance(scheme.get("quantized_layers"), Mapping) or scheme.get("quant_algo"):
        reader: Callable[[Mapping[str, Any]], Scheme] | None = _modelopt
    else:
        reader = METHODS.get(method) if isinstance(method, str) else None
    if reader is None:
        known = ", ".join(sorted(METHODS))
        raise ImportProblem(None, f"{KEY}.quant_method", f"“{excerpt(method)}” is not supported; known are {known}")
    found = reader(scheme)
    found.ignored = Patterns(() if found.method == MIXED else _names(scheme))
    found.kv_dtype = _cache_format(scheme)
    if expert_dtype in ("fp4", "mxfp4") and found.method == "fp8":
        found.rules.insert(0, Rule("mxfp4", Patterns(["experts"])))
    unread = [*found.ignored.unread, *(name for rule in found.rules if rule.targets for name in rule.targets.unread)]
    found.remarks += [f"Pattern of modules not understood: {excerpt(each)}." for each in unread[:5]]
    return found


def _names(scheme: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in _LISTS:
        listed = scheme.get(key)
        if listed is None:
            continue
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise ImportProblem(None, f"{KEY}.{key}", "must be a list of module names")
        found += listed
    dynamic = scheme.get("dynamic")
    if isinstance(dynamic, Mapping):
        found += [f"re:{key[2:]}" for key in dynamic if isinstance(key, str) and key.startswith("-:")]
    return found[:_MOST_NAMES]


def _cache_format(scheme: Mapping[str, Any]) -> str:
    """Format of the cache that the checkpoint was calibrated for, where it says."""
    cache = scheme.get("kv_cache_scheme") or scheme.get("kv_cache_quant_algo")
    if isinstance(cache, Mapping):
        return "fp8" if cache.get("num_bits") == 8 else ""
    return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(str(cache).upper(), "")


def _fp8(scheme: Mapping[str, Any]) -> Scheme:
    block = scheme.get("weight_block_size")
    return Scheme("fp8", [Rule("fp8")], bits=block_bits(block), group_size=block[1] if block else 0)


def _fbgemm(scheme: Mapping[str, Any]) -> Scheme:
    del scheme
    return Scheme("fbgemm_fp8", [Rule("fp8")])


def _mxfp4(scheme: Mapping[str, Any]) -> Scheme:
    del scheme
    return Scheme("mxfp4", [Rule("mxfp4")], bits=4.25, group_size=32)


def _grouped(method: str) -> Callable[[Mapping[str, Any]], Scheme]:
    """AWQ, GPTQ, AutoRound: whole numbers by groups of a row."""

    def read(scheme: Mapping[str, Any]) -> Scheme:
        bits = scheme.get("bits", scheme.get("w_bit"))
        dtype = by_bits(bits, f"{KEY}.bits")
        group = group_of(scheme) or group_of(scheme, "q_group_size")
        symmetric = bool(scheme.get("sym", not scheme.get("zero_point", True)))
        return Scheme(
            method, [Rule(dtype)], bits=whole_bits(int(dtype[3:]), group=group, symmetric=symmetric), group_size=group
        )

    return read


def _bitsandbytes(scheme: Mapping[str, Any]) -> Scheme:
    four = bool(scheme.get("load_in_4bit"))
    bits = bits_and_bytes(four=four, double=bool(scheme.get("bnb_4bit_use_double_quant")))
    return Scheme("bitsandbytes", [Rule("int4" if four else "int8")], bits=bits, group_size=64 if four else 0)


def _eetq(scheme: Mapping[str, Any]) -> Scheme:
    del scheme
    return Scheme("eetq", [Rule("int8")], bits=8.0)


def _hqq(scheme: Mapping[str, Any]) -> Scheme:
    inner = scheme.get("quant_config")
    inner = inner.get("weight_quant_params", inner) if isinstance(inner, Mapping) else scheme
    inner = inner if isinstance(inner, Mapping) else {}
    dtype, group = by_bits(inner.get("nbits", inner.get("bits")), f"{KEY}.nbits"), group_of(inner)
    return Scheme("hqq", [Rule(dtype)], bits=whole_bits(int(dtype[3:]), group=group, symmetric=False), group_size=group)


def _torchao(scheme: Mapping[str, Any]) -> Scheme:
    """A name such as int4wo-128 or float8dq, or a mapping that names one of torchao's classes."""
    kind = scheme.get("quant_type")
    word = kind if isinstance(kind, str) else str(kind)[:2000] if isinstance(kind, Mapping) else ""
    low = word.lower().replace("_", "")
    for sign, dtype in (("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("int4", "int4"), ("float8", "fp8"), ("int8", "int8")):
        if sign in low:
            return Scheme("torchao", [Rule(dtype)], group_size=32 if dtype == "mxfp4" else 0)
    raise ImportProblem(None, f"{KEY}.quant_type", f"“{excerpt(kind)}” is not supported")


def _quark(scheme: Mapping[str, Any]) -> Scheme:
    """AMD Quark: one format for all and others by layer name."""
    rules = []
    layers = scheme.get("layer_quant_config")
    for pattern, own in layers.items() if isinstance(layers, Mapping) else ():
        rules.append(Rule(_quark_format(own), Patterns([str(pattern)])))
    rules.append(Rule(_quark_format(scheme.get("global_quant_config"))))
    return Scheme("quark", rules)


def _quark_format(own: Any) -> str:
    weight = own.get("weight") if isinstance(own, Mapping) else None
    weight = weight[0] if isinstance(weight, list) and weight else weight
    name = str(weight.get("dtype", "")).lower() if isinstance(weight, Mapping) else ""
    for sign, dtype in (("fp8", "fp8"), ("fp4", "mxfp4"), ("int4", "int4"), ("int8", "int8")):
        if sign in name:
            return dtype
    raise ImportProblem(None, f"{KEY}.global_quant_config", f"weights in “{excerpt(name)}” are not supported")


def _modelopt(scheme: Mapping[str, Any]) -> Scheme:
    """One algorithm for all, or one for each module listed."""
    layers = scheme.get("quantized_layers")
    group = group_of(scheme)
    if not isinstance(layers, Mapping):
        dtype = by_algorithm(scheme.get("quant_algo"), f"{KEY}.quant_algo")
        return Scheme("modelopt", [Rule(dtype)], group_size=group)
    by_format: dict[str, list[str]] = {}
    for name, own in list(layers.items())[:_MOST_NAMES]:
        algorithm = own.get("quant_algo") if isinstance(own, Mapping) else own
        by_format.setdefault(by_algorithm(algorithm, f"{KEY}.quantized_layers"), []).append(canonical(str(name)))
    rules = [Rule(dtype, Patterns(names)) for dtype, names in by_format.items()]
    if scheme.get("quant_method") == "fp8":
        return Scheme(MIXED, [*rules, Rule("fp8")], group_size=group)
    return Scheme("modelopt", rules, group_size=group)


def _compressed(scheme: Mapping[str, Any]) -> Scheme:
    """compressed-tensors: groups of modules, each with the numbers of its weights."""
    key = f"{KEY}.config_groups"
    groups = scheme.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        raise ImportProblem(None, key, "names no weights")
    rules, bits, size = [], 0.0, 0
    for group in groups.values():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if not isinstance(weights, Mapping):
            raise ImportProblem(None, key, "names no weights")
        size = group_of(weights)
        kind = weights.get("type")
        dtype = by_bits(weights.get("num_bits"), f"{key}.weights.num_bits", kind=kind, group=size)
        if dtype.startswith("int"):
            bits = whole_bits(int(dtype[3:]), group=size, symmetric=weights.get("symmetric", True) is not False)
        elif dtype == "fp8":
            bits = (
                block_bits(weights.get("block_structure")) if isinstance(weights.get("block_structure"), list) else 0.0
            )
        rules.append(Rule(dtype, _targets(group.get("targets"))))
    stated = bits if len(rules) == 1 else 0.0
    return Scheme("compressed-tensors", rules, bits=stated, group_size=size)


def _targets(targets: Any) -> Patterns | None:
    names: Iterable[Any] = targets if isinstance(targets, list) else ()
    words = [each for each in names if isinstance(each, str)]
    return None if not words or any(word in _EVERYTHING for word in words) else Patterns(words)


METHODS: Mapping[str, Callable[[Mapping[str, Any]], Scheme]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm,
    "finegrained_fp8": _fp8,
    "mxfp4": _mxfp4,
    "awq": _grouped("awq"),
    "gptq": _grouped("gptq"),
    "auto-round": _grouped("auto-round"),
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "torchao": _torchao,
    "quark": _quark,
    "hqq": _hqq,
    "eetq": _eetq,
}

"""The format of each part of a checkpoint, from the formats of its modules."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from planner.catalog.importers.hf_layers import DENSE, Shape
from planner.catalog.importers.hf_modules import Module, modules
from planner.catalog.importers.hf_quant import Scheme
from planner.core.catalog import CompressedKv, Indexer, LinearAttention, Llm, Mla, Moe, SlidingWindow
from planner.formulas.parameters import (
    attention_layer_parameters,
    expert_parameters,
    shared_expert_parameters,
)

_TYPES = {
    "moe": Moe,
    "mla": Mla,
    "sliding": SlidingWindow,
    "linear": LinearAttention,
    "indexer": Indexer,
}
_PLACES = 6


def quantisation(
    shape: Shape, scheme: Scheme, *, mixers: list[str], mlps: list[str], plain: str
) -> tuple[str, dict[str, Any]]:
    """Native format and the quantisation of a checkpoint, as an entry holds them.

    The native format is the one that holds most parameters of those that are quantised at all.
    """
    mlps = mlps or [DENSE] * len(mixers)
    by_part: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for module in modules(shape, mixers=mixers, mlps=mlps, widths=_widths(shape)):
        by_part[module.part][scheme.dtype_of(module.name)] += module.params
    totals: dict[str, float] = defaultdict(float)
    for formats in by_part.values():
        for dtype, params in formats.items():
            totals[dtype] += params
    quantised = {dtype: params for dtype, params in totals.items() if dtype != "bf16"}
    native = max(quantised, key=lambda dtype: quantised[dtype]) if quantised else plain
    if not quantised:
        scheme.remarks.append("No module of the decoder is quantised: counted in 16 bits.")
    if any(rule.targets and rule.targets.match("lm_head") for rule in scheme.rules):
        by_part["head"][scheme.dtype_of("lm_head")] = 1.0
    stated = scheme.bits if scheme.rules and scheme.rules[-1].dtype == native else 0.0
    found = {
        "method": scheme.method,
        "bits": stated,
        "group_size": scheme.group_size,
        "kv_dtype": scheme.kv_dtype,
        "parts": [each for part, formats in by_part.items() for each in _shares(part, formats)],
    }
    return native, found


def _shares(part: str, formats: dict[str, float]) -> list[dict[str, Any]]:
    """Shares of the formats of a part, rounded so that they still sum to one."""
    whole = sum(formats.values())
    if not whole:
        return []
    shares = {dtype: round(params / whole, _PLACES) for dtype, params in formats.items()}
    shares = {dtype: share for dtype, share in shares.items() if share}
    largest = max(shares, key=lambda dtype: shares[dtype])
    shares[largest] = round(1 - sum(share for dtype, share in shares.items() if dtype != largest), _PLACES)
    return [{"part": part, "dtype": dtype, "share": share} for dtype, share in shares.items()]


def _widths(shape: Shape) -> dict[str, float]:
    """Parameters of one layer: attention by matrix, the rest by part."""
    llm = _plain(shape)
    found = _attention(llm)
    found |= {
        "linear": float(llm.linear.layer_params if llm.linear else 0),
        "indexer": float(llm.indexer.layer_params if llm.indexer else 0),
        "dense": float(llm.mlp_matrices * llm.hidden * llm.intermediate),
        "experts": (llm.moe.experts if llm.moe else 0) * expert_parameters(llm),
        "shared": shared_expert_parameters(llm),
    }
    return found


def _plain(shape: Shape) -> Llm:
    parts = {name: made(**shape[name]) for name, made in _TYPES.items() if shape.get(name)}
    rest = {name: value for name, value in shape.items() if name not in (*_TYPES, "compressed")}
    if compressed := shape.get("compressed"):
        ratios = tuple((each["ratio"], each["layers"]) for each in compressed["ratios"])
        parts["compressed"] = CompressedKv(**(compressed | {"ratios": ratios}))
    return Llm(slug="", name="", family="", native_dtype="bf16", source="", **rest, **parts)


def _attention(llm: Llm) -> dict[str, float]:
    hidden = llm.hidden
    if llm.compressed:
        wide, own = llm.heads * llm.head_dim, llm.compressed
        named = {
            "q_a_proj": hidden * own.q_lora_rank,
            "q_b_proj": own.q_lora_rank * wide,
            "o_proj": wide * own.o_lora_rank + own.o_groups * own.o_lora_rank * hidden,
        }
        return named | {"kv_proj": attention_layer_parameters(llm) - sum(named.values())}
    if llm.mla:
        mla, query = llm.mla, llm.heads * (llm.mla.nope_dim + llm.mla.rope_dim)
        low = {"q_a_proj": float(hidden * mla.q_lora_rank), "q_b_proj": float(mla.q_lora_rank * query)}
        return (low if mla.q_lora_rank else {"q_proj": float(hidden * query)}) | {
            "kv_a_proj_with_mqa": float(hidden * (mla.kv_lora_rank + mla.rope_dim)),
            "kv_b_proj": float(mla.kv_lora_rank * llm.heads * (mla.nope_dim + mla.v_dim)),
            "o_proj": float(llm.heads * mla.v_dim * hidden),
        }
    value = llm.v_dim or llm.head_dim
    return {
        "q_proj": float(hidden * llm.heads * llm.head_dim * (2 if llm.gated_attention else 1)),
        "k_proj": float(hidden * llm.kv_heads * llm.head_dim),
        "v_proj": float(hidden * llm.kv_heads * value),
        "o_proj": float(hidden * llm.heads * value),
    }


__all__ = ["Module", "quantisation"]

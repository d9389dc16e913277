"""What follows from the architecture of an LLM: its parameters by part, its weights and its KV cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.core.catalog import Catalog, Llm
from planner.formulas import attention, memory, moe

KV_DTYPES = ("bf16", "fp8")
WEIGHT_DTYPES = ("bf16", "fp8", "int4", "mxfp4", "nvfp4")
TOTALS = ("total", "active", "mtp")
LENGTHS = (1024, 8192, 32_768, 131_072, 1_048_576)
USUAL_GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "a100-sxm-80gb", "l40s", "rtx-4090")


def llm_facts(llm: Llm, catalog: Catalog | None = None) -> dict[str, Any]:
    """Facts of an LLM, ready for JSON.

    ``kv_bytes_per_token`` is the marginal figure on one GPU at a long context, by format of the cache; where layers
    have a window, a request's cache is the curve ``kv_bytes_by_length``; an indexer's keys come on top.
    ``weight_bytes`` are by format; ``part_formats`` say what the published checkpoint holds each part in. With a
    catalog, ``gpus_to_hold_weights`` says how many of the usual GPUs the weights fill, in the LLM's own format.
    """
    counts = memory.parameters(llm)
    facts: dict[str, Any] = {
        "parameters": {name: counts[name] for name in TOTALS if name in counts},
        "parameters_by_part": {name: value for name, value in counts.items() if name not in TOTALS and value},
        "published_difference": _difference(counts["total"], llm.published_params),
        "weight_bytes": {dtype: memory.weight_bytes(llm, dtype=dtype) for dtype in _weight_dtypes(llm)},
        "kv_bytes_per_token": {
            dtype: attention.kv_bytes_per_token(llm, dtype_bytes=memory.kv_dtype_bytes(dtype)) for dtype in KV_DTYPES
        },
        "indexer_bytes_per_token": {
            dtype: attention.indexer_bytes_per_token(llm, dtype_bytes=memory.kv_dtype_bytes(dtype))
            for dtype in KV_DTYPES
            if llm.indexer
        },
        "kv_split_by_tensor_parallel": llm.mla is None and llm.compressed is None,
        "layers_by_kind": layers_by_kind(llm),
        "part_formats": [{"part": part, "dtype": dtype, "share": share} for part, dtype, share in llm.part_formats],
        "kv_bytes_by_length": [
            {"tokens": tokens, "bytes": attention.request_kv_bytes(llm, tokens=tokens, dtype_bytes=2.0)}
            for tokens in (*(length for length in LENGTHS if length < llm.max_context_tokens), llm.max_context_tokens)
        ],
        "state_bytes_per_request": attention.recurrent_state_bytes(llm),
    }
    if catalog is not None:
        facts["gpus_to_hold_weights"] = _gpus_to_hold(facts["weight_bytes"], llm=llm, catalog=catalog)
    return facts


def layers_by_kind(llm: Llm) -> dict[str, int]:
    """How many layers keep what: full caches, windows, compressed entries, states, nothing; and those with experts."""
    found = {"attention": attention.full_layers(llm), "experts": moe.expert_layers(llm)}
    if llm.compressed:
        found["attention"] = 0
        found |= {f"compressed {ratio} to 1" if ratio else "window": layers for ratio, layers in llm.compressed.ratios}
    if llm.sliding:
        found["chunk" if llm.sliding.chunked else "window"] = llm.sliding.layers
    if llm.linear:
        found[llm.linear.kind or "recurrent"] = llm.linear.layers
    if llm.plain_layers:
        found["MLP or experts only"] = llm.plain_layers
    if llm.indexer:
        found["indexer"] = llm.indexer.layers
    return {kind: layers for kind, layers in found.items() if layers}


def published_totals(catalog: Catalog) -> list[dict[str, Any]]:
    """Counted against published parameters of every LLM that quotes a total, the largest error first."""
    rows = []
    for llm in catalog.llms():
        if llm.published_params:
            counted = memory.parameters(llm)["total"]
            error = _difference(counted, llm.published_params)
            rows.append({"llm": llm, "counted": counted, "published": llm.published_params, "error": error})
    return sorted(rows, key=lambda row: -abs(row["error"] or 0.0))


def _weight_dtypes(llm: Llm) -> tuple[str, ...]:
    return tuple(dict.fromkeys((llm.native_dtype, *WEIGHT_DTYPES)))


def _difference(counted: float, published: float | None) -> float | None:
    """How far the count is off the published total, as a share of it."""
    return counted / published - 1 if published else None


def _gpus_to_hold(weight_bytes: Mapping[str, float], *, llm: Llm, catalog: Catalog) -> dict[str, int]:
    needed = weight_bytes[llm.native_dtype]
    memories = {gpu.slug: gpu.figure("visible_memory_bytes") for gpu in map(catalog.gpu, USUAL_GPUS)}
    return {slug: math.ceil(needed / size) for slug, size in memories.items()}

"""What follows from the architecture of an LLM: its parameters by part, its weights and its KV cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.core.catalog import Catalog, Llm
from planner.formulas import attention, memory

KV_DTYPES = ("bf16", "fp8")
WEIGHT_DTYPES = ("bf16", "fp8", "int4", "mxfp4", "nvfp4")
TOTALS = ("total", "active", "mtp")
LENGTHS = (1024, 8192, 32_768, 131_072, 1_048_576)
USUAL_GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "mi300x", "a100-sxm-80gb", "l40s", "rtx-4090")


def llm_facts(llm: Llm, catalog: Catalog | None = None) -> dict[str, Any]:
    """Facts of an LLM, ready for JSON.

    ``kv_bytes_per_token`` is the marginal figure on one GPU at a long context, by format of the cache; where layers
    have a window, a request's cache is the curve ``kv_bytes_by_length``. ``weight_bytes`` are by format. With a
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
        "kv_split_by_tensor_parallel": llm.mla is None,
        "kv_bytes_by_length": [
            {"tokens": tokens, "bytes": attention.request_kv_bytes(llm, tokens=tokens, dtype_bytes=2.0)}
            for tokens in (*(length for length in LENGTHS if length < llm.max_context_tokens), llm.max_context_tokens)
        ],
        "state_bytes_per_request": attention.recurrent_state_bytes(llm),
    }
    if catalog is not None:
        facts["gpus_to_hold_weights"] = _gpus_to_hold(facts["weight_bytes"], llm=llm, catalog=catalog)
    return facts


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

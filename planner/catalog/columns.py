"""The columns of a trace as they are stored: a compressed npz of plain numbers, never a pickle."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers.traces import Trace
from planner.core.simulation import Blocks, Workload

_NEEDED = ("arrival_s", "input_tokens", "output_tokens")


def pack(trace: Trace) -> bytes:
    columns: dict[str, Any] = {name: getattr(trace, name) for name in _NEEDED}
    if trace.cached_tokens is not None:
        columns["cached_tokens"] = trace.cached_tokens
    if trace.blocks is not None:
        columns["block_ids"] = trace.blocks.ids.astype(np.int32)
        columns["block_offsets"] = trace.blocks.offsets
        columns["block_tokens"] = np.int64(trace.blocks.tokens)
    if trace.adapters is not None:
        columns["adapters"] = trace.adapters.astype(np.int32)
    stored = io.BytesIO()
    np.savez_compressed(stored, **columns)
    return stored.getvalue()


def unpack(stored: bytes, *, name: str, source: str) -> Workload:
    """The requests of a stored trace under a name and its source."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as file:
        columns: dict[str, NDArray[Any]] = {key: file[key] for key in file.files}
    return Workload(
        name=name,
        **{key: columns[key] for key in _NEEDED},
        cached_tokens=columns.get("cached_tokens"),
        blocks=_blocks(columns),
        adapters=columns["adapters"].astype(np.int64) if "adapters" in columns else None,
        source=source,
    )


def workload_of(trace: Trace, *, name: str, source: str) -> Workload:
    """The requests of a trace that was just read."""
    return Workload(
        name=name,
        **{key: getattr(trace, key) for key in _NEEDED},
        cached_tokens=trace.cached_tokens,
        blocks=trace.blocks,
        adapters=trace.adapters,
        source=source,
    )


def _blocks(columns: dict[str, NDArray[Any]]) -> Blocks | None:
    if "block_ids" not in columns:
        return None
    return Blocks(
        ids=columns["block_ids"].astype(np.int64),
        offsets=columns["block_offsets"],
        tokens=int(columns["block_tokens"]),
    )

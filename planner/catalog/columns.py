"""The columns of a trace as they are stored: a compressed npz of plain numbers, never a pickle."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers.traces import Trace

STORED = ("arrival_s", "input_tokens", "output_tokens", "cached_tokens")


def pack(trace: Trace) -> bytes:
    columns = {name: getattr(trace, name) for name in STORED if getattr(trace, name) is not None}
    stored = io.BytesIO()
    np.savez_compressed(stored, **columns)
    return stored.getvalue()


def unpack(stored: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(stored), allow_pickle=False) as columns:
        return {name: columns[name] for name in STORED if name in columns.files}

"""Block hashes as dense integers, so that no loop of a cache needs a hash table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


def dense_ids(hashes: Sequence[Any] | NDArray[Any]) -> Ids:
    """Hashes (integers or strings) as 0, 1, 2 … in the order in which they first appear."""
    values = np.asarray(hashes)
    if not len(values):
        return np.empty(0, np.int32)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    ids: Ids = rank[inverse.reshape(-1)]
    return ids


def checked_ids(ids: Sequence[int] | NDArray[Any]) -> tuple[Ids, int]:
    """The ids as the kernels take them, and how many blocks they may name; they index arrays, so none is negative."""
    values = np.ascontiguousarray(ids, np.int32)
    if values.ndim != 1:
        raise ValueError("block ids must be one flat sequence; requests are told apart by offsets")
    if not len(values):
        return values, 0
    if int(values.min()) < 0:
        raise ValueError("block ids must be dense integers from 0 on: pass hashes through dense_ids first")
    return values, int(values.max()) + 1

"""Chains of blocks as segments: runs of blocks that only ever come together, in the same order.

A request is then a path of whole segments. Blocks whose hashes are chained form a tree, cut where prompts branch or
end; ids that are not chained give shorter runs, at worst single blocks, and stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.parts.interning import Ids

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Paths:
    """Segments of all requests in one row; request r has ``segments[offsets[r]:offsets[r + 1]]``.

    ``blocks`` is how many blocks each segment has.
    """

    segments: Ints
    offsets: Ints
    blocks: Ints


def _only(keys: Ints, partners: Ints, *, count: int) -> Ints:
    """For each key its only partner; −1 when there is none or more than one."""
    least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, np.int64)
    np.minimum.at(least, keys, partners)
    np.maximum.at(most, keys, partners)
    return np.where(least == most, most, -1)


def segments_of(ids: Ids | Ints, *, offsets: Ints, single: bool = False) -> Paths:
    """The fewest segments that all requests are made of; ``single`` keeps every block apart, for tests."""
    count = int(ids.max()) + 1 if len(ids) else 0
    begins = np.zeros(len(ids) + 1, np.bool_)
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    before, after = ids[:-1].astype(np.int64), ids[1:].astype(np.int64)
    inside = ~begins[1:-1]
    uses = np.bincount(ids, minlength=count)
    follower = _only(before[inside], after[inside], count=count)
    leader = _only(after[inside], before[inside], count=count)
    # A block that a request ends with, or begins with, is used more often than it has a neighbour there.
    follower[uses != np.bincount(before[inside], minlength=count)] = -1
    leader[uses != np.bincount(after[inside], minlength=count)] = -1
    if len(ids):
        tight = (follower[before] == after) & (leader[after] == before) & (not single)
        begins[1:-1] |= ~tight
    starts = np.flatnonzero(begins[:-1])
    heads, lengths = ids[starts], np.diff(np.append(starts, len(ids)))
    _, first, segments = np.unique(heads, return_index=True, return_inverse=True)
    bounds = np.searchsorted(starts, offsets)
    return Paths(segments.reshape(-1).astype(np.int64), bounds.astype(np.int64), lengths[first].astype(np.int64))

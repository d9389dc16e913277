"""The event calendar: a winner tree over a fixed set of sources, each with at most one next event.

Re-planning a source is one store and a walk to the root; there are no stale entries. Ties go to the lower
source, so the order of events never depends on history.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler

NEVER = math.inf


def clock_arrays(sources: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Times (all `NEVER`) padded to a power of two, and the tree of winners above them."""
    size = 1 << max(1, (sources - 1).bit_length())
    tree = np.zeros(size, np.int64)
    for node in range(size - 1, 0, -1):
        tree[node] = 2 * node - size if 2 * node >= size else tree[2 * node]
    return np.full(size, NEVER), tree


@handler
def schedule(times, tree, source, at_s):  # type: ignore[no-untyped-def]
    """Set the next event of ``source``; `NEVER` clears it."""
    times[source] = at_s
    size = len(times)
    node = (size + source) >> 1
    while node >= 1:
        left = 2 * node
        if left >= size:
            first, second = left - size, left + 1 - size
        else:
            first, second = tree[left], tree[left + 1]
        tree[node] = first if times[first] <= times[second] else second
        node >>= 1


@handler
def next_source(tree):  # type: ignore[no-untyped-def]
    """The source whose event comes first."""
    return tree[1]

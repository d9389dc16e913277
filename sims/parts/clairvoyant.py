"""The ceiling of any eviction policy: keep what is used again soonest, and do not even store what is not (Belady).

It knows the future, so it is no design, only the distance that a better policy could close at most.

References: L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (2),
1966, pp. 78-101.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from sims.parts.interning import Ids

NEVER_AGAIN = np.iinfo(np.int64).max


def next_uses(ids: Ids) -> NDArray[np.int64]:
    """For each touch the moment of the block's next one."""
    order = np.argsort(ids, kind="stable")
    following = np.full(len(ids), NEVER_AGAIN, np.int64)
    same = ids[order[:-1]] == ids[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    return following


def clairvoyant_hits(ids: Ids, *, capacity_blocks: int) -> int:
    """Hits of a cache of ``capacity_blocks`` that knows all next uses and may leave a block out."""
    resident: dict[int, int] = {}
    farthest: list[tuple[int, int]] = []
    hits = 0
    for block, following in zip(ids.tolist(), next_uses(ids).tolist(), strict=True):
        if block in resident:
            hits += 1
        elif following == NEVER_AGAIN or not _has_room(resident, farthest, following, capacity_blocks):
            continue
        if following == NEVER_AGAIN:
            del resident[block]
            continue
        resident[block] = following
        heappush(farthest, (-following, block))
    return hits


def _has_room(resident: dict[int, int], farthest: list[tuple[int, int]], following: int, capacity_blocks: int) -> bool:
    """Whether a newcomer fits, if need be instead of the block whose next use is farthest, unless its own is."""
    if len(resident) < capacity_blocks:
        return True
    if capacity_blocks <= 0:
        return False
    while resident.get(farthest[0][1]) != -farthest[0][0]:
        heappop(farthest)
    if -farthest[0][0] <= following:
        return False
    del resident[heappop(farthest)[1]]
    return True

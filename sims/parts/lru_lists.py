"""Orders of last use over a fixed set of items, several for each owner, linked through arrays.

``state.older[owner, which, item]`` and ``state.newer`` are the links; ``state.ends[owner, which]`` names the oldest
and the newest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END

OUT = -2
OLDEST, NEWEST = 0, 1


class LruArrays(NamedTuple):
    """Empty orders."""

    older: NDArray[np.int64]
    newer: NDArray[np.int64]
    ends: NDArray[np.int64]


def lru_arrays(owners: int, *, orders: int, items: int) -> LruArrays:
    """``orders`` empty orders for each owner."""
    shape = (owners, orders, items)
    return LruArrays(
        np.full(shape, OUT, np.int64), np.full(shape, OUT, np.int64), np.full((owners, orders, 2), END, np.int64)
    )


def fill_order(lists: LruArrays, *, owner: int, which: int, items: NDArray[np.int64]) -> None:
    """Put ``items`` into an empty order, the newest first."""
    if not len(items):
        return
    lists.older[owner, which, items] = np.append(items[1:], END)
    lists.newer[owner, which, items] = np.append([END], items[:-1])
    lists.ends[owner, which, NEWEST], lists.ends[owner, which, OLDEST] = items[0], items[-1]


@handler
def oldest(state, owner, which):  # type: ignore[no-untyped-def]
    """What was used longest ago; −1 when there is nothing."""
    return state.ends[owner, which, OLDEST]


@handler
def put_newest(state, owner, which, item):  # type: ignore[no-untyped-def]
    """Add an item that is not in the order."""
    before = state.ends[owner, which, NEWEST]
    state.older[owner, which, item] = before
    state.newer[owner, which, item] = END
    state.ends[owner, which, NEWEST] = item
    if before == END:
        state.ends[owner, which, OLDEST] = item
    else:
        state.newer[owner, which, before] = item


@handler
def take_out(state, owner, which, item):  # type: ignore[no-untyped-def]
    """Remove an item; 0 when it was not there."""
    before, after = state.older[owner, which, item], state.newer[owner, which, item]
    if before == OUT:
        return 0
    if before == END:
        state.ends[owner, which, OLDEST] = after
    else:
        state.newer[owner, which, before] = after
    if after == END:
        state.ends[owner, which, NEWEST] = before
    else:
        state.older[owner, which, after] = before
    state.older[owner, which, item] = OUT
    state.newer[owner, which, item] = OUT
    return 1

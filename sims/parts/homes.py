"""Replicas that an adapter is at home on, and how policies choose among replicas.

``state.homes[adapter]`` is an order of all replicas that may be chosen; the first ``state.copies[adapter]`` of them
that are up are the adapter's homes, so that a lost replica's adapters move to the next in their own order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.engine.streams import stream

ASK = np.dtype([("luck", "f8"), ("adapter", "i8")])


@handler
def draw(ask, count):  # type: ignore[no-untyped-def]
    """A number from 0 to ``count`` − 1; the rest of the luck is as good as new for the next draw."""
    scaled = ask.luck * count
    whole = min(int(scaled), count - 1)
    ask.luck = scaled - whole
    return whole


@handler
def least_loaded(state, first, last, at):  # type: ignore[no-untyped-def]
    """The replica up with the fewest requests of ``first`` … ``last`` − 1; ties go to the first from ``at`` on."""
    best = END
    count = last - first
    for ahead in range(count):
        u = first + (at + ahead) % count
        if state.units[u].alive == 1 and (best == END or state.units[u].load < state.units[best].load):
            best = u
    return best


@handler
def nth_home(state, adapter, number):  # type: ignore[no-untyped-def]
    """The adapter's home with this number from 0 on, among replicas that are up; −1 when there are not so many."""
    seen = 0
    for at in range(state.homes.shape[1]):
        u = state.homes[adapter, at]
        if state.units[u].alive == 1:
            if seen == number:
                return u
            seen += 1
    return END


@handler
def homes_up(state, adapter):  # type: ignore[no-untyped-def]
    """How many homes the adapter has now."""
    up = 0
    for at in range(state.homes.shape[1]):
        up += state.units[state.homes[adapter, at]].alive
    return min(up, state.copies[adapter])


def hashed_orders(adapters: int, *, replicas: int, seed: int) -> NDArray[np.int64]:
    """An order of the replicas for each adapter [adapter, replica], by the highest of random weights.

    Notes
    -----
    Highest random weight (Thaler and Ravishankar 1998) does what a ring of hashes does, without its uneven arcs:
    when a replica goes, only what was on it moves.
    """
    weights = stream(seed, name="homes").random((adapters, replicas))
    return np.argsort(weights, axis=1).astype(np.int64)


def balanced_orders(
    shares: NDArray[np.float64], *, copies: NDArray[np.int64], orders: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Orders whose first ``copies`` replicas are chosen so that all get the same share of the traffic.

    Notes
    -----
    The most popular first, each copy to the replica with the least traffic so far (the longest job first, Graham
    1969); of equals the one with the fewest adapters, so that those without traffic are spread too.
    """
    count = orders.shape[1]
    load, held = np.zeros(count), np.zeros(count)
    placed = orders.copy()
    for adapter in np.argsort(-shares, kind="stable"):
        order, wanted = orders[adapter], int(copies[adapter])
        best = order[np.lexsort((held[order], load[order]))][:wanted]
        load[best] += shares[adapter] / wanted
        held[best] += 1
        placed[adapter, :wanted] = best
        placed[adapter, wanted:] = order[~np.isin(order, best)]
    return placed

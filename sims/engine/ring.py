"""Buckets by finish step: a sequence's last step is known when it joins, so no token costs an event.

``ring[unit, step & mask]`` heads a list of slots. A sequence that ends beyond the ring's reach waits in its
last bucket and is put back when that comes up, so the ring stays small whatever the longest output.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END

REACH = 2048


def ring_array(units: int, *, reach: int = REACH) -> NDArray[np.int64]:
    """Empty rings; ``reach`` is a power of two."""
    return np.full((units, reach), END, np.int64)


@handler
def put(ring, unit, pool, slot, step):  # type: ignore[no-untyped-def]
    """File ``slot`` under its ``finish_step``, which lies after ``step``; the bucket it went to."""
    reach = ring.shape[1]
    at = min(pool[slot].finish_step, step + reach - 1) & (reach - 1)
    pool[slot].next = ring[unit, at]
    ring[unit, at] = slot
    return at


@handler
def take_out(ring, unit, pool, slot, at):  # type: ignore[no-untyped-def]
    """Remove ``slot`` from the bucket it lies in."""
    if ring[unit, at] == slot:
        ring[unit, at] = pool[slot].next
        return
    before = ring[unit, at]
    for _ in range(len(pool)):
        if pool[before].next == slot:
            break
        before = pool[before].next
    pool[before].next = pool[slot].next


@handler
def take_all(ring, unit, step):  # type: ignore[no-untyped-def]
    """Detach the list of the bucket of ``step`` and return its head."""
    at = step & (ring.shape[1] - 1)
    head = ring[unit, at]
    ring[unit, at] = END
    return head


@handler
def steps_to_next(ring, unit, step):  # type: ignore[no-untyped-def]
    """Steps until the next bucket that holds anything (at least one; the whole reach when none does)."""
    reach = ring.shape[1]
    for ahead in range(1, reach):
        if ring[unit, (step + ahead) & (reach - 1)] != END:
            return ahead
    return reach - 1

"""What was used longest ago gives way."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END


@handler
def choose(store, first, count, over, now_s):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all
    """The list whose oldest entry is the oldest of all."""
    best = -1
    if over:
        for line in range(first, first + count):
            e = store.lines[line].oldest
            if e != END and (best < 0 or store.entries[e].stamp < store.entries[store.lines[best].oldest].stamp):
                best = line
    return best

"""What was not used for the time to live of its kind goes, whether room is needed or not; then the oldest."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.eviction import lru


@handler
def choose(store, first, count, over, now_s):  # type: ignore[no-untyped-def]
    """A list whose oldest entry is past its time, or the one with the oldest of all when room is needed."""
    for line in range(first, first + count):
        e = store.lines[line].oldest
        if e != END and now_s - store.entries[e].used_s > store.kinds[line % store.book[0].kinds].ttl_s:
            return line
    return lru.choose(store, first, count, over, now_s)

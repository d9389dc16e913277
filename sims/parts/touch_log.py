"""Exact LRU over dense ids: the stream itself is the list.

``last[id]`` is the moment of a block's latest touch. All that was touched since a moment ``oldest`` is resident, so a
look-up is one comparison; to evict, ``oldest`` moves up the stream, and what it passes leaves unless it was touched
again later. No links, two memory accesses a look-up.
"""

from __future__ import annotations

from sims.engine.kernel import handler, loop


@handler
def passed(log, last, oldest):  # type: ignore[no-untyped-def]
    """Move up the log to the first touch that is still some block's latest; the moment after it."""
    for _ in range(len(log)):
        if last[log[oldest]] == oldest:
            break
        oldest += 1
    return oldest + 1


@loop
def replay_lru(ids, last, capacity, hit):  # type: ignore[no-untyped-def]
    """Look all of ``ids`` up in an LRU of ``capacity`` blocks; marks ``hit`` and returns how many hit."""
    oldest = resident = hits = 0
    for now in range(len(ids)):
        block = ids[now]
        found = last[block] >= oldest
        last[block] = now
        hit[now] = found
        if found:
            hits += 1
        elif resident < capacity:
            resident += 1
        else:
            oldest = passed(ids, last, oldest)
    return hits


@loop
def replay_paths(ids, bounds, last, capacity, hit):  # type: ignore[no-untyped-def]
    """The same by requests: all blocks of one are looked up before any is touched; their order is that of touching."""
    oldest = resident = hits = 0
    for request in range(len(bounds) - 1):
        for at in range(bounds[request], bounds[request + 1]):
            hit[at] = last[ids[at]] >= oldest
            hits += hit[at]
        for now in range(bounds[request], bounds[request + 1]):
            block = ids[now]
            found = last[block] >= oldest
            last[block] = now
            if not found:
                if resident < capacity:
                    resident += 1
                else:
                    oldest = passed(ids, last, oldest)
    return hits


@loop
def replay_exclusive(ids, last, first, second, tally):  # type: ignore[no-untyped-def]
    """Two tiers that never hold the same block: what leaves the first goes to the top of the second, hits come back.

    Together they are one stack: the first tier its top, the second what follows. ``tally``: hits 1, hits 2, writes 2.
    """
    top = bottom = upper = lower = 0
    for now in range(len(ids)):
        block = ids[now]
        touched = last[block]
        last[block] = now
        if touched >= top:
            tally[0] += 1
            continue
        if touched >= bottom:
            tally[1] += 1
            lower -= 1
        if upper < first:
            upper += 1
            continue
        if second == 0:
            top = passed(ids, last, top)
            bottom = top
            continue
        tally[2] += 1
        top = passed(ids, last, top)
        lower += 1
        if lower > second:
            bottom = passed(ids, last, bottom)
            lower -= 1


@loop
def replay_inclusive(ids, last, log, last_below, first, second, misses_only, tally):  # type: ignore[no-untyped-def]
    """Two tiers, what is fetched or computed is in both; the second sees all touches, or the first one's misses only.

    ``log`` and ``last_below`` are the second tier's own stream. ``tally``: hits 1, hits 2, writes 2.
    """
    top = bottom = upper = lower = below = 0
    for now in range(len(ids)):
        block = ids[now]
        found = last[block] >= top
        last[block] = now
        if found:
            tally[0] += 1
        elif upper < first:
            upper += 1
        else:
            top = passed(ids, last, top)
        if found and misses_only:
            continue
        held = last_below[block] >= bottom
        last_below[block] = below
        log[below] = block
        below += 1
        if held:
            tally[1] += 0 if found else 1
            continue
        tally[2] += 1 if second > 0 else 0
        if lower < second:
            lower += 1
        else:
            bottom = passed(log, last_below, bottom)

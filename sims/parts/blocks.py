"""KV in blocks: how many a batch takes as it decodes, without a look at its sequences.

A sequence has ``origin`` + clock tokens, where the clock counts what each sequence of its unit has been given; all but
the newest are in KV. It takes a block when the token it computes is the first of one, once in ``block`` tokens, always
at the same place of the clock's round: a histogram of those places tells what any number of steps takes.
"""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def blocks_of(tokens, block):  # type: ignore[no-untyped-def]
    """Blocks that hold so many tokens."""
    return (tokens + block - 1) // block


@handler
def place_of(origin, block):  # type: ignore[no-untyped-def]
    """Where in the clock's round a sequence takes its blocks."""
    return (1 - origin) % block


@handler
def blocks_taken(places, block, running, begin, end):  # type: ignore[no-untyped-def]
    """Blocks that ``running`` sequences take while the clock goes from ``begin`` to ``end``."""
    whole = (end - begin) // block
    taken = whole * running
    place = begin % block
    for _ in range(end - begin - whole * block):
        taken += places[place]
        place += 1
        if place == block:
            place = 0
    return taken


@handler
def clock_at_overflow(places, block, running, begin, free):  # type: ignore[no-untyped-def]
    """The last moment of the clock that ``free`` blocks let it reach from ``begin`` on."""
    whole = free // running
    left = free - whole * running
    clock = begin + whole * block
    for _ in range(block):
        left -= places[clock % block]
        if left < 0:
            break
        clock += 1
    return clock

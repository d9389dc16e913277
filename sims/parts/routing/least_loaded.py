"""The station with the least load (queued prompt tokens, or pledged KV tokens) for what it can take.

``weight`` is 1 for a usual station, more for a slower or smaller one; ties go to the first.
"""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def choose(stations, turn):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen station; −1 when none is alive."""
    best, least = -1, 0.0
    for index in range(len(stations)):
        if stations[index].alive == 1:
            weighs = stations[index].load * stations[index].weight
            if best < 0 or weighs < least:
                best, least = index, weighs
    return best

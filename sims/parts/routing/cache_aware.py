"""The station that is through with the request first: what it has to do, and what of the request it does not find in
its cache (``asks``), both for what it can take; ties go to the first.
"""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def choose(stations, turn):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen station; −1 when none is alive."""
    best, least = -1, 0.0
    for index in range(len(stations)):
        if stations[index].alive == 1:
            weighs = (stations[index].load + stations[index].asks) * stations[index].weight
            if best < 0 or weighs < least:
                best, least = index, weighs
    return best

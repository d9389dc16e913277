"""The station with the least load (queued prompt tokens, or pledged KV tokens) for what it can take.

``weight`` is 1 for a usual station, more for a slower or smaller one; ties go to the first.
"""

from __future__ import annotations

from sims.engine.clock import NEVER
from sims.engine.kernel import handler


@handler
def burden(station):  # type: ignore[no-untyped-def]
    """What a station carries; endless when it is not alive."""
    return station.load * station.weight if station.alive == 1 else NEVER


@handler
def choose(stations, turn):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen station; −1 when none is alive."""
    # Four minima side by side: each comparison would otherwise wait for the one before, for hundreds of stations.
    count = len(stations)
    least, second, third, fourth = NEVER, NEVER, NEVER, NEVER
    for index in range(0, count - 3, 4):
        least = min(least, burden(stations[index]))
        second = min(second, burden(stations[index + 1]))
        third = min(third, burden(stations[index + 2]))
        fourth = min(fourth, burden(stations[index + 3]))
    for index in range(count - count % 4, count):
        least = min(least, burden(stations[index]))
    least = min(least, second, third, fourth)
    if least == NEVER:
        return -1
    for index in range(count):
        if burden(stations[index]) == least:
            return index
    return -1

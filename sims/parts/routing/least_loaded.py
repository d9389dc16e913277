"""The station with the least load (queued prompt tokens, or pledged KV tokens); ties go to the first."""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def choose(stations, turn):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen station; −1 when none is alive."""
    best = -1
    for index in range(len(stations)):
        if stations[index].alive == 1 and (best < 0 or stations[index].load < stations[best].load):
            best = index
    return best

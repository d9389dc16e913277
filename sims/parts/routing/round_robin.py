"""Stations in turn, whatever their load; the dead are passed over."""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def choose(stations, turn):  # type: ignore[no-untyped-def]
    """Index of the chosen station; −1 when none is alive."""
    count = len(stations)
    for ahead in range(count):
        index = (turn + ahead) % count
        if stations[index].alive == 1:
            return index
    return -1

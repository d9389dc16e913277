"""The clock's first source in every system: the next arrival of the chunk at hand."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler

ARRIVALS = 0


@handler
def load_arrival(state):  # type: ignore[no-untyped-def]
    """Put the next arrival on the clock."""
    totals = state.totals[0]
    at_s = NEVER
    if totals.next_arrival < totals.arrivals:
        at_s = state.arrivals[totals.next_arrival].at_s
    schedule(state.times, state.tree, ARRIVALS, at_s)


@handler
def begin_event(totals, now_s):  # type: ignore[no-untyped-def]
    """Set the clock to an event and count it."""
    if now_s < totals.now_s:
        totals.backwards += 1
    totals.now_s = now_s
    totals.events += 1

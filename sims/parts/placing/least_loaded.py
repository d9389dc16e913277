"""The instance with the fewest answers among those with room; without one the answer waits for the first that has."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.decaying_batch import has_room


@handler
def choose(state, group):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen instance; −1 when none has room."""
    best, least = END, 0
    for i in range(len(state.instances)):
        load = state.instances[i].running + state.lines[i].queued
        if (best == END or load < least) and has_room(state, i):
            best, least = i, load
    return best

"""All answers of a problem on one instance, the one with the fewest answers when the first was placed."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.decaying_batch import may_bind


@handler
def choose(state, group):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when there is none."""
    home = state.groups[group].home
    if home != END and state.instances[home].alive == 1:
        return home
    if not may_bind(state):
        return END
    best, least = END, 0
    for i in range(len(state.instances)):
        load = state.instances[i].running + state.lines[i].queued
        if state.instances[i].alive == 1 and (best == END or load < least):
            best, least = i, load
    state.groups[group].home = best
    return best

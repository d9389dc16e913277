"""The open instance with the fewest requests that the router knows of; ties are broken at random."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.asking import lowest_score


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    for i in range(len(state.instances)):
        state.scores[i] = state.loads[ask.known, i]
    return lowest_score(state, ask)

"""The less loaded of two open instances drawn at random (of ``choices``, if told so)."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.asking import draw_open


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    best = draw_open(state, ask)
    for _ in range(state.params[0].choices - 1):
        other = draw_open(state, ask)
        if other >= 0 and state.loads[ask.known, other] < state.loads[ask.known, best]:
            best = other
    return best

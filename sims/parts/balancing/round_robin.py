"""Instances in turn, each router by itself; those closed are passed over."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.asking import is_open


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    count = len(state.instances)
    for ahead in range(count):
        i = (state.turns[ask.router] + ahead) % count
        if is_open(state.closed, ask, i):
            state.turns[ask.router] = (i + 1) % count
            return i
    return END

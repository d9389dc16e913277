"""Instances in turn, whatever their load; the dead are passed over."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.decaying_batch import may_bind


@handler
def choose(state, group):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen instance; −1 when there is none."""
    if not may_bind(state):
        return END
    count, totals = len(state.instances), state.totals[0]
    for ahead in range(count):
        i = (totals.rotation + ahead) % count
        if state.instances[i].alive == 1:
            totals.rotation = (i + 1) % count
            return i
    return END

"""Replicas in turn, whatever they hold."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]  # noqa: ARG001 - one signature for all policies
    """Index of the chosen replica; −1 when none is up."""
    count, totals = state.homes.shape[1], state.totals[0]
    for ahead in range(count):
        u = (totals.turn + ahead) % count
        if state.units[u].alive == 1:
            totals.turn = (u + 1) % count
            return u
    return END

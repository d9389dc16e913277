"""The replica with the fewest requests; ties by chance."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts import homes


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen replica; −1 when none is up."""
    count = state.homes.shape[1]
    return homes.least_loaded(state, 0, count, homes.draw(ask, count))

"""The one replica that the adapter hashes to; the next in its own order while that is down."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.homes import nth_home


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen replica; −1 when none is up."""
    return nth_home(state, ask.adapter, 0)

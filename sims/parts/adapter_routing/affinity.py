"""One of the adapter's homes, each as likely: as many copies for all adapters, placed by hash."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.homes import draw, homes_up, nth_home


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen replica; −1 when none is up."""
    up = homes_up(state, ask.adapter)
    return nth_home(state, ask.adapter, draw(ask, up)) if up > 0 else END

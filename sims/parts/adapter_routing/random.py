"""Any replica, each as likely."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.homes import draw


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen replica; −1 when none is up."""
    count, up = state.homes.shape[1], 0
    for u in range(count):
        up += state.units[u].alive
    if up == 0:
        return END
    skip = draw(ask, up)
    for u in range(count):
        if state.units[u].alive == 1:
            if skip == 0:
                return u
            skip -= 1
    return END

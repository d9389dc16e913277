"""Any open instance, each as likely."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.asking import draw_open


@handler
def choose(state, ask):  # type: ignore[no-untyped-def]
    """Index of the chosen instance; −1 when none is open."""
    return draw_open(state, ask)

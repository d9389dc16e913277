"""How the sentences of this kind say shares, counts, times and money."""

from __future__ import annotations

from planner.core.quantities import NBSP
from planner.core.wording import percent


def times(factor: float) -> str:
    """A factor as people say it: "1.18 ×", "62 ×"."""
    return f"{factor:,.0f}{NBSP}×" if factor >= 10 else f"{factor:.3g}{NBSP}×"


def slower(factor: float) -> str:
    """How much longer a step takes: "18 % longer", "3.1 times as long"."""
    return f"{percent(factor - 1)} longer" if factor < 2 else f"{factor:.2g} times as long"


def loaded(used: float) -> str:
    """Load over what is done in time: "56 % used", "3.16 × what they do in time"."""
    return f"{percent(used)} used" if used <= 1 else f"{times(used)} what is done in time"


def some(count: float) -> str:
    """A mean count in three digits: "48.8", "1.02", "0.3"."""
    return f"{count:,.0f}" if count >= 1000 else f"{count:.3g}"

"""How the sentences of this kind say shares, counts, times and money."""

from __future__ import annotations

from planner.core.quantities import NBSP, show


def percent(share: float | None) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if share is None or 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio")
    return f"{100 * share:,.0f}{NBSP}%"


def counted(count: float, noun: str) -> str:
    """So many of a noun: "1 slot", "102 slots"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"


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

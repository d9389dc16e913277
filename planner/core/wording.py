"""How the sentences of every kind say shares and counts."""

from __future__ import annotations

from planner.core.quantities import NBSP, show


def percent(share: float | None) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if share is None or 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio")
    return f"{100 * share:,.0f}{NBSP}%"


def counted(count: float, noun: str) -> str:
    """So many of a noun: "1 replica", "68 replicas"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"

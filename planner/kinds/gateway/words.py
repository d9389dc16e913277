"""How the sentences of this kind say shares, counts and times."""

from __future__ import annotations

from planner.core.quantities import show


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio").replace("\u00a0", " ")
    return f"{100 * share:.0f} %"


def counted(count: float, noun: str) -> str:
    """So many of a noun: "1 replica", "68 replicas"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"


def about(count: float, noun: str) -> str:
    """The same of a figure that has decimals: "0.4 requests", "62.5 requests"."""
    if count >= 1000 or count == round(count):
        return counted(count, noun)
    return f"{count:.3g} {noun}s"

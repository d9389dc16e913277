"""How the sentences of this kind say shares, counts and times."""

from __future__ import annotations

from planner.core.quantities import show, show_parts


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio").replace("\u00a0", " ")
    return f"{100 * share:.0f} %"


def counted(count: float, noun: str) -> str:
    """So many of a noun: "1 replica", "68 replicas"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"


def those_left(count: int, verb: str) -> str:
    """The survivors with their verb: "the one left is", "the 4 left are"; ``verb`` is that of many."""
    singular = {"are": "is", "need": "needs"}[verb]
    return f"the one left {singular}" if count == 1 else f"the {count:,} left {verb}"


def a_second(rate: float, noun: str) -> str:
    """A rate in words: "320 k look-ups a second"."""
    return f"{show_parts(rate, '1/s')[0]} {noun} a second"


def few(count: float, noun: str) -> str:
    """A count that may be far below one: "75 requests", "hardly any request (0.025)"."""
    if 0 < count < 0.95:
        return f"hardly any {noun} ({count:.2g})"
    return show(count, f"{noun}s")

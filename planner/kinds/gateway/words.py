"""How the sentences of this kind say shares, counts and times."""

from __future__ import annotations

from planner.core.quantities import NBSP, show, show_parts


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio")
    return f"{100 * share:,.0f}{NBSP}%"


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


def failing(count: float) -> str:
    """Requests that fail for good when one instance dies, which may be far below one: "one in 40 such failures"."""
    if count < 0.001:
        return "none fails for good"
    if count < 0.5:
        return f"one fails for good in {1 / count:,.0f} such failures"
    if count < 1.5:
        return "about one fails for good"
    return f"{show(count, 'requests')} fail for good"

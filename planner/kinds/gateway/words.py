"""How the sentences of this kind say shares, counts and times."""

from __future__ import annotations

from planner.core.quantities import show, show_parts


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

"""How the sentences of this kind say shares, counts and modes."""

from __future__ import annotations

from planner.core.quantities import NBSP, show

IN_WORDS = {
    "synchronous": "synchronous",
    "one_step_off": "one step off",
    "asynchronous": "fully asynchronous",
    "colocated": "co-located",
}


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only below one and close to a hundred."""
    if 0.995 <= share < 1 or 0 < share < 0.01:
        return show(share, "ratio")
    return f"{100 * share:,.0f}{NBSP}%"


def counted(count: float, noun: str) -> str:
    """So many of a noun: "1 instance", "25 GPUs"."""
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"

"""How the sentences of this kind say shares, counts, times and tiers."""

from __future__ import annotations

import math

from planner.core.quantities import NBSP, show

DIGITS, NEARLY_ALL_DIGITS = 6, 4
"""Of a share of hits: what an approximation says beyond is noise, close to all of them sooner."""


def rounded(share: float) -> float:
    """A share of hits without the digits that an approximation does not have."""
    return round(share, NEARLY_ALL_DIGITS if share > 0.999 else DIGITS)


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only close to nothing and close to all."""
    share = rounded(share)
    if 0.99 < share < 1:
        return show(share, "ratio")
    return f"{100 * share:,.0f}{NBSP}%" if share >= 0.01 or share <= 0 else f"{100 * share:.1g}{NBSP}%"


def times(factor: float) -> str:
    """A factor as people say it: "4.7 ×", "89 ×"."""
    return f"{factor:,.0f}{NBSP}×" if factor >= 10 else f"{factor:.2g}{NBSP}×"


def lasting(time_s: float) -> str:
    """How long something stays; "for good" where nothing pushes it out."""
    return "for good" if math.isinf(time_s) else show(time_s, "s")


def money(usd: float) -> str:
    """Dollars without needless cents."""
    return f"${usd:,.0f}" if abs(usd) >= 100 else f"${usd:,.2f}"


def worth_of(usd: float) -> str:
    """Dollars, or "nothing" where no cent is left."""
    return "nothing" if abs(usd) < 0.005 else money(usd)


def steps(share: float, apart: str) -> str:
    """How a fleet takes cold traffic: "all the traffic at once", "steps of 6 % of the traffic, 36.8 min apart"."""
    return "all the traffic at once" if share >= 1 else f"steps of {percent(share)} of the traffic, {apart} apart"

"""Designs on equal terms: the demand that the budget of another design buys."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal

DIGITS = 3
"""Of the demand that is found: more would be read as if it were known."""
_DOUBLINGS = 20


def demand_within(spent: Callable[[float], float | None], *, budget: float, start: float) -> float | None:
    """The largest demand, to three digits, that costs no more than a budget.

    Parameters
    ----------
    spent : what a demand costs, in the unit of the budget, not decreasing; None where it has no answer
    budget : [GPUs, USD/h, …]
    start : a demand to begin with, > 0

    Returns
    -------
    None where even the smallest demand looked at costs more than the budget.

    >>> demand_within(lambda demand: 8 * -(-demand // 100), budget=33, start=10)
    400.0
    """

    def fits(demand: float) -> bool:
        found = spent(demand)
        return found is not None and found <= budget * (1 + 1e-9)

    low = _bracket(fits, start=start)
    if low is None:
        return None
    high = 2 * low
    while high - low > low * 10.0**-DIGITS / 4:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    # A step of the fleet lies just above `low`: the next rounder demand may be it.
    above = float(_rounded(low * (1 + 10.0**-DIGITS / 2)))
    return above if above >= low and fits(above) else float(_rounded(low))


def _bracket(fits: Callable[[float], bool], *, start: float) -> float | None:
    """A demand that fits and of which the double does not."""
    demand = start
    if fits(demand):
        for _ in range(_DOUBLINGS):
            if not fits(2 * demand):
                return demand
            demand *= 2
        return None
    for _ in range(_DOUBLINGS):
        demand /= 2
        if fits(demand):
            return demand
    return None


def _rounded(demand: float) -> Decimal:
    """Down to three significant digits."""
    exact = Decimal(repr(demand))
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), rounding=ROUND_FLOOR)

"""The demand that a budget buys: against fleets whose steps are known, and as a property."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from planner.core.equal import demand_within


def test_the_last_demand_before_the_next_unit() -> None:
    # A unit of 144 GPUs carries 1,850 × 144 / (1.2 × 800) = 277.5 req/s: two of them 555.
    def gpus(rps: float) -> float:
        return 144 * math.ceil(rps * 800 / 1850 * 1.2 / 144 - 1e-9)

    assert demand_within(gpus, budget=288, start=500) == 555.0
    assert demand_within(gpus, budget=287, start=500) == 277.0
    assert demand_within(gpus, budget=143, start=500) is None


def test_nothing_fits() -> None:
    assert demand_within(lambda _demand: 100.0, budget=10, start=1) is None
    assert demand_within(lambda _demand: None, budget=10, start=1) is None


@given(st.floats(1e-3, 1e6), st.floats(0.01, 1e5), st.floats(1e-2, 1e4))
def test_it_fits_and_little_more_does_not(budget: float, each: float, start: float) -> None:
    def spent(demand: float) -> float:
        return demand * each

    found = demand_within(spent, budget=budget, start=start)
    if found is not None:
        assert spent(found) <= budget * (1 + 1e-9)
        assert spent(found * 1.011) > budget

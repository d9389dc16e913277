"""Units up and down against exact binomial arithmetic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import reliability


def upper_tail(needed: int, units: int, up: float) -> float:
    return math.fsum(math.comb(units, k) * up**k * (1 - up) ** (units - k) for k in range(needed, units + 1))


def test_a_unit_is_up_mtbf_over_mtbf_and_repair() -> None:
    nodes, rate, repair = 18, 5e-5, 0.75
    between_failures = 1 / (nodes * rate)
    assert reliability.unit_availability(nodes, failures_per_node_h=rate, repair_h=repair) == pytest.approx(
        between_failures / (between_failures + repair)
    )


@given(units=st.integers(1, 60), needed=st.integers(1, 60), up=st.floats(0.5, 0.99999))
def test_enough_units_up_is_the_binomial_tail(units: int, needed: int, up: float) -> None:
    found = reliability.at_least_up(needed, units=units, availability=up)
    assert found == pytest.approx(upper_tail(needed, units, up) if needed <= units else 0.0, abs=1e-12)


@given(needed=st.integers(1, 40), up=st.floats(0.6, 0.9999), target=st.floats(0.5, 0.99999))
def test_the_units_for_a_promise_are_the_fewest(needed: int, up: float, target: float) -> None:
    units = reliability.units_for_availability(needed, availability=up, target=target)
    assert units is not None
    assert upper_tail(needed, units, up) >= target - 1e-12
    if units > needed:
        assert upper_tail(needed, units - 1, up) < target + 1e-12


def test_a_promise_that_no_number_of_units_keeps_has_no_answer() -> None:
    assert reliability.units_for_availability(10, availability=0.0, target=0.9, at_most=1000) is None
    assert reliability.units_for_availability(0, availability=0.5, target=0.9) == 0


def test_nothing_is_needed_without_a_need() -> None:
    assert reliability.capacity_left(2, lost=1, unit_gpus=144, needed_gpus=0.0) is None
    assert reliability.capacity_left(1, lost=3, unit_gpus=144, needed_gpus=10.0) == 0
    assert reliability.at_least_up(0, units=0, availability=0.5) == 1


def test_the_reference_fleet_keeps_two_thirds_of_its_need() -> None:
    # Two units of 144 GPUs, 500 · 800 / 1,850 GPUs needed: 144 / 216.2.
    left = reliability.capacity_left(2, lost=1, unit_gpus=144, needed_gpus=500 * 800 / 1850)
    assert left == pytest.approx(144 * 1850 / 400_000)
    assert reliability.failures_per_day(100, failures_per_node_h=1e-4) == pytest.approx(0.24)

"""The mix of commitments against every mix of whole units, and against the newsvendor's rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import diurnal
from planner.formulas.commitment import Rates, cheapest_mix, committed_by_fractile, critical_share


def by_enumeration(need: list[int], *, rates: Rates, spot_share: float, start_h: float) -> float:
    """Every commitment, and for each every number of rented units in every hour; the rest runs on spot."""
    hour = 8760 / len(need)
    committed = (rates.reserved_1y_usd_per_h, rates.reserved_3y_usd_per_h)
    cheapest_committed = min(price for price in committed if price is not None)
    best = np.inf
    for units in range(max(need) + 1):
        base = units * cheapest_committed * 8760
        for rented in itertools.product(range(max(need) + 1), repeat=len(need)):
            spot = [each - units - more for each, more in zip(need, rented, strict=True)]
            if any(more > max(np.floor(spot_share * each), 0) for more, each in zip(spot, need, strict=True)):
                continue
            if rates.spot_usd_per_h is None and max(spot) > 0:
                continue
            starts = sum(max(rented[(at + 1) % len(need)] - more, 0) for at, more in enumerate(rented))
            on_spot = sum(max(more, 0) for more in spot) * (rates.spot_usd_per_h or 0)
            price = rates.on_demand_usd_per_h
            best = min(best, base + hour * (sum(rented) * price + on_spot + starts * start_h * price))
    return float(best)


@given(
    need=st.lists(st.integers(0, 4), min_size=2, max_size=4),
    committed=st.floats(0.5, 3.5),
    spot=st.one_of(st.none(), st.floats(0.5, 3.0)),
    spot_share=st.sampled_from([0.0, 0.5, 1.0]),
    start_h=st.sampled_from([0.0, 0.25, 2.0]),
)
def test_no_mix_of_whole_units_is_cheaper(need, committed, spot, spot_share, start_h):
    rates = Rates(on_demand_usd_per_h=3.0, reserved_1y_usd_per_h=committed, spot_usd_per_h=spot)
    mix = cheapest_mix(np.array([need]), rates=rates, spot_share=spot_share, start_h=start_h)
    best = by_enumeration(need, rates=rates, spot_share=spot_share, start_h=start_h)
    assert mix.usd == pytest.approx(best, rel=1e-9, abs=1e-6)
    assert mix.gap_usd <= 1e-6 * max(best, 1.0)


@given(need=st.lists(st.integers(0, 30), min_size=1, max_size=60), committed=st.floats(0.1, 1.3))
def test_two_tiers_commit_by_the_critical_fractile(need, committed):
    """Without starts and spot the programme is the newsvendor's: a unit is committed to where P(need >= k) > c / p."""
    mix = cheapest_mix(np.array([need]), rates=Rates(1.0, reserved_1y_usd_per_h=committed))
    rule = committed_by_fractile(need, committed_usd_per_h=committed, on_demand_usd_per_h=1.0)
    by_rule = 8760 * (rule * committed + sum(max(each - rule, 0) for each in need) / len(need))
    assert mix.usd == pytest.approx(by_rule, rel=1e-9, abs=1e-6)


def test_the_fractile_of_a_textbook():
    """Hopp and Spearman, Factory Physics, section 2.4: underage 15, overage 10, a fractile of 0.6."""
    assert 1 - critical_share(10.0, on_demand_usd_per_h=25.0) == pytest.approx(0.6)


def test_three_years_are_taken_only_where_they_are_needed_for_three_years():
    """Two units all the time, a third from the second year on: the third is committed to a year at a time."""
    need = np.array([[2, 2]] * 12 + [[3, 3]] * 24)
    mix = cheapest_mix(need, rates=Rates(4.0, reserved_1y_usd_per_h=2.0, reserved_3y_usd_per_h=1.0))
    assert mix.reserved_3y_units == 3, "a unit needed two years of three is still cheaper for three: 3 × 1 < 2 × 2"
    dearer = cheapest_mix(need, rates=Rates(4.0, reserved_1y_usd_per_h=2.0, reserved_3y_usd_per_h=1.5))
    assert (dearer.reserved_3y_units, dearer.reserved_1y_units) == (2, (0, 1, 1))
    assert dearer.usd == pytest.approx(8760 * (2 * 1.5 * 3 + 2.0 * 2))


def test_a_unit_is_kept_through_a_gap_shorter_than_it_takes_to_start():
    need = np.array([[1, 1, 0, 1]])
    assert cheapest_mix(need, rates=Rates(1.0), start_h=0.5).on_demand_units.tolist() == [[1, 1, 0, 1]]
    assert cheapest_mix(need, rates=Rates(1.0), start_h=1.5).on_demand_units.tolist() == [[1, 1, 1, 1]]


def test_nothing_is_bought_for_nothing():
    mix = cheapest_mix(np.zeros((1, 168), dtype=np.int64), rates=Rates(2.0, reserved_3y_usd_per_h=1.0))
    assert (mix.usd, mix.reserved_3y_units, mix.on_demand_units.sum()) == (0.0, 0, 0)


@given(mean=st.floats(0.3, 0.95), needed=st.floats(0.0, 40.0), growth=st.floats(0.0, 0.1))
def test_the_plan_lies_between_perfect_scaling_and_a_fleet_for_the_peak(mean, needed, growth):
    demand = diurnal.grown(diurnal.stretched(diurnal.global_week(), mean=mean)[:24], months=2, growth=growth)
    units = diurnal.whole_units(demand, needed_units=needed, headroom=0.2, beside=0)
    rates = Rates(3.0, reserved_1y_usd_per_h=2.0, spot_usd_per_h=1.5)
    mix = cheapest_mix(units, rates=rates, spot_share=0.3)
    least = diurnal.perfect_usd(demand * needed, usd_per_h=rates.cheapest_usd_per_h, hours=8760)
    most = diurnal.peak_usd(units, usd_per_h=3.0, hours=8760)
    assert least <= mix.usd * (1 + 1e-9) + 1e-6
    assert mix.usd <= most * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("week", [diurnal.flat_week(), diurnal.office_week(), diurnal.global_week()])
def test_a_week_has_168_hours_its_peak_at_one_and_the_mean_asked_for(week):
    assert len(week) == 168
    assert week.max() == 1
    assert week.min() > 0
    if week.min() < 1:
        stretched = diurnal.stretched(week, mean=0.45)
        assert stretched.mean() == pytest.approx(0.45, abs=1e-9)
        assert stretched.max() == 1


def test_a_commitment_for_nothing_is_taken_for_all_of_it():
    """Every mix that commits to the peak costs nothing; the programme must not run off along the ties."""
    week = diurnal.stretched(diurnal.office_week(), mean=0.4)
    need = diurnal.whole_units(diurnal.grown(week, months=24, growth=0.5), needed_units=3.0, headroom=0.2, beside=0)
    mix = cheapest_mix(need, rates=Rates(2.0, reserved_1y_usd_per_h=0.0, spot_usd_per_h=1.0), spot_share=0.5)
    assert mix.usd == 0.0
    assert mix.committed_units(0) >= need[0].max()

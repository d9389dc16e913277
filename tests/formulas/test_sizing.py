"""From tokens to GPUs, units and nodes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import sizing


@given(units=st.integers(0, 10_000), unit=st.integers(1, 1000), percent=st.integers(0, 200))
def test_a_need_of_whole_units_is_not_rounded_up_by_rounding_errors(units: int, unit: int, percent: int) -> None:
    headroom = percent / 100
    exactly = float(Fraction(units * unit * 100, 100 + percent))
    assert sizing.units_needed(exactly, unit_gpus=unit, headroom=headroom) == units


@given(units=st.integers(0, 10_000), unit=st.integers(1, 1000))
def test_a_little_more_than_whole_units_takes_one_more(units: int, unit: int) -> None:
    assert sizing.units_needed((units + 1e-4) * unit, unit_gpus=unit, headroom=0.0) == units + 1


def test_the_reference_demand_becomes_its_units() -> None:
    prefill = sizing.gpus_needed(500 * 3000 * 0.5, tokens_per_s_per_gpu=4000.0)
    decode = sizing.gpus_needed(500 * 800, tokens_per_s_per_gpu=1850.0)
    assert (prefill, decode) == (187.5, pytest.approx(216.2162, abs=1e-4))
    assert sizing.units_needed(prefill, unit_gpus=32, headroom=0.2) == 8
    assert sizing.units_needed(decode, unit_gpus=144, headroom=0.2) == 2


@pytest.mark.parametrize(
    ("units", "unit", "nodes"), [(8, 32, 32), (2, 144, 36), (3, 12, 6), (5, 4, 3), (4, 2, 1), (0, 8, 0), (3, 5, 3)]
)
def test_nodes_hold_whole_large_units_or_several_small_ones(units: int, unit: int, nodes: int) -> None:
    assert sizing.nodes_of_units(units, unit_gpus=unit, gpus_per_node=8) == nodes


def test_a_unit_fails_with_any_of_its_nodes() -> None:
    assert sizing.nodes_failing_with_a_unit(unit_gpus=144, gpus_per_node=8) == 18
    assert sizing.nodes_failing_with_a_unit(unit_gpus=2, gpus_per_node=8) == 1

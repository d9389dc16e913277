"""Drive writes and years against the rows of the specification."""

from __future__ import annotations

import doctest
import math

import pytest

from planner.formulas import endurance


@pytest.mark.parametrize(
    ("turns_per_s", "tokens", "writes_a_day", "years"),
    # 960 TB, 160 kB a token, 1 DWPD rated over five years.
    [(50, 1_000, 0.72, 6.9), (100, 1_000, 1.44, 3.5), (400, 1_000, 5.76, 0.87), (100, 8_192, 11.8, 0.42)],
)
def test_the_reference_pool_wears(turns_per_s: float, tokens: float, writes_a_day: float, years: float) -> None:
    written = endurance.write_through_bytes_per_s(turns_per_s, new_tokens=tokens, kv_bytes_per_token=160e3)
    found = endurance.drive_writes_per_day(written, capacity_bytes=960e12)
    assert found == pytest.approx(writes_a_day, rel=0.005)
    assert endurance.endurance_years(found, rated_writes_per_day=1.0) == pytest.approx(years, rel=0.011)


def test_a_filter_saves_what_it_drops_and_nothing_else_does() -> None:
    assert endurance.write_back_bytes_per_s(16e9, admitted_share=1.0) == 16e9
    assert endurance.write_back_bytes_per_s(16e9, admitted_share=0.6) == pytest.approx(9.6e9)
    assert endurance.write_back_bytes_per_s(16e9, admitted_share=1.0, moved_again=0.35) == pytest.approx(21.6e9)
    assert endurance.unwritten_bytes(16e9, delay_s=60.0) == 960e9
    assert endurance.unwritten_bytes(0.0, delay_s=math.inf) == 0


def test_amplification_shortens_and_the_rating_has_its_own() -> None:
    rated = endurance.endurance_years(1.44, rated_writes_per_day=1.0)
    random = endurance.endurance_years(
        1.44, rated_writes_per_day=1.0, amplification=endurance.RANDOM_AMPLIFICATION, rated_amplification=1.0
    )
    assert random == pytest.approx(rated / 3)
    sequential = endurance.endurance_years(1.44, rated_writes_per_day=1.0, rated_amplification=5.0)
    assert sequential == pytest.approx(endurance.SEQUENTIAL_OPTIMISM * rated)
    # The data sheets behind it, terabytes written at random and in sequence.
    for at_random, in_sequence in ((2_054, 11_339), (1_367, 7_854), (8_400, 43_980)):
        assert in_sequence / at_random > endurance.SEQUENTIAL_OPTIMISM


def test_no_writes_last_for_ever_and_no_drive_wears_at_once() -> None:
    assert endurance.drive_writes_per_day(0.0, capacity_bytes=0.0) == 0
    assert endurance.endurance_years(0.0, rated_writes_per_day=1.0) == math.inf
    assert endurance.drive_writes_per_day(1.0, capacity_bytes=0.0) == math.inf
    assert endurance.endurance_years(math.inf, rated_writes_per_day=1.0) == 0


def test_its_examples_hold() -> None:
    assert doctest.testmod(endurance).failed == 0

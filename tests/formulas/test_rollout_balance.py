"""Rollout near balance against walks drawn step by step, and against textbook limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.formulas.rollout_balance import missing_at_rest, step_deviation, steps_to_rest

WALKS = [(1.0, 0.02, 0.05), (1.0, 0.0, 0.05), (1.0, -0.001, 0.05), (2.0, 0.01, 0.1), (0.5, 0.004, 0.03)]


def walked(*, room: float, drift: float, deviation: float) -> tuple[float, float]:
    """Mean distance from the upper wall in the long run, mean steps of the first way there: 400 walks."""
    rng = np.random.default_rng(7)
    place, first = np.zeros(400), np.full(400, math.nan)
    distances = []
    for step in range(1, 6001):
        place = np.clip(place + rng.normal(drift, deviation, 400), 0.0, room)
        first = np.where(np.isnan(first) & (place >= room), step, first)
        if step > 3000:
            distances.append(float(np.mean(room - place)))
    return float(np.mean(distances)), float(np.nanmean(first))


@pytest.mark.parametrize(("room", "drift", "deviation"), WALKS)
def test_a_walk_between_walls(room: float, drift: float, deviation: float) -> None:
    missing, steps = walked(room=room, drift=drift, deviation=deviation)
    # A walk in steps runs past a wall by 0.58 deviations on average, as if it stood so much further.
    wider = room + 0.5826 * deviation
    assert missing_at_rest(room, drift=drift, deviation=deviation) == pytest.approx(missing, abs=0.6 * deviation)
    assert steps_to_rest(wider, drift=drift, deviation=deviation) == pytest.approx(steps, rel=0.09)


@pytest.mark.parametrize("drift", [1e-9, -1e-9, 1e-3, -1e-3])
def test_no_jump_where_the_drift_vanishes(drift: float) -> None:
    assert missing_at_rest(1.0, drift=drift, deviation=1.0) == pytest.approx(0.5, abs=1e-3)
    assert steps_to_rest(1.0, drift=drift, deviation=1.0) == pytest.approx(1.0, abs=1e-2)


def test_without_chance_only_the_drift_counts() -> None:
    assert missing_at_rest(3.0, drift=0.1, deviation=0.0) == 0.0
    assert missing_at_rest(3.0, drift=-0.1, deviation=0.0) == 3.0
    assert steps_to_rest(3.0, drift=0.1, deviation=0.0) == pytest.approx(30.0)
    assert math.isinf(steps_to_rest(3.0, drift=-0.1, deviation=0.0))
    assert step_deviation(variation=0.0, answers=100) == 0.0


def test_far_ends_are_finite() -> None:
    for drift in (1e6, -1e6):
        assert 0 <= missing_at_rest(1.0, drift=drift, deviation=1e-3) <= 1
    assert math.isinf(steps_to_rest(1.0, drift=-1.0, deviation=1e-3))

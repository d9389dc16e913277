"""Steps set by the slowest rank, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import lockstep


@pytest.mark.parametrize("count", [1, 2, 5, 32])
def test_the_longest_of_uniform_draws_is_m_over_m_plus_one(count: int) -> None:
    values = (np.arange(20_000) + 0.5) / 20_000
    found = lockstep.mean_longest(values, weights=np.ones(len(values)), count=count)
    assert found == pytest.approx(count / (count + 1), abs=1e-4)


def test_the_longest_of_exponential_draws_is_the_harmonic_number() -> None:
    values = -np.log(1 - (np.arange(200_000) + 0.5) / 200_000)
    found = lockstep.mean_longest(values, weights=np.ones(len(values)), count=8)
    assert found == pytest.approx(sum(1 / k for k in range(1, 9)), rel=1e-3)


def test_weights_count_as_repetitions_and_no_draw_is_nothing() -> None:
    values, weights = np.array([1.0, 3.0]), np.array([3.0, 1.0])
    repeated = lockstep.mean_longest(np.array([1.0, 1.0, 1.0, 3.0]), weights=np.ones(4), count=3)
    assert lockstep.mean_longest(values, weights=weights, count=3) == pytest.approx(repeated)
    assert lockstep.mean_longest(values, weights=weights, count=0) == 0

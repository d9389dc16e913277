"""Retries: printed figures, and requests tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import retries


@pytest.mark.parametrize(("failure", "most", "mean"), [(0.5, 3, 1.875), (1.0, 3, 4.0), (0.0, 3, 1.0), (0.7, 0, 1.0)])
def test_attempts_are_the_printed_sums(failure: float, most: int, mean: float) -> None:
    assert retries.attempts(failure, retries=most) == pytest.approx(mean)


def test_attempts_and_losses_are_those_of_requests_tried_one_by_one() -> None:
    draws = np.random.default_rng(1)
    fails = draws.random((100_000, 4)) < 0.4
    tried = 1 + np.cumprod(fails[:, :3], axis=1).sum(axis=1)
    assert retries.attempts(0.4, retries=3) == pytest.approx(tried.mean(), rel=0.01)
    assert retries.failed_after_retries(0.4, retries=3) == pytest.approx(fails.all(axis=1).mean(), rel=0.05)


def test_layers_multiply() -> None:
    assert [retries.attempts_of_layers(3, layers=layers) for layers in (0, 1, 3)] == [1, 4, 64]
    assert retries.attempts_of_layers(0, layers=5) == 1


def test_a_budget_bounds_the_attempts() -> None:
    assert retries.attempts_within_budget(1.0, retries=10, budget=0.2) == pytest.approx(1.2)
    assert retries.attempts_within_budget(0.05, retries=3, budget=0.2) == pytest.approx(1.052625)
    assert retries.attempts_within_budget(0.5, retries=3, budget=0.0) == 1
    assert retries.failed_after_retries(0.5, retries=3, budget=0.0) == 0.5
    assert retries.failed_after_retries(1.0, retries=3, budget=0.2) == 1
    assert retries.failed_after_retries(0.0, retries=0) == 0

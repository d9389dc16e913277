from __future__ import annotations

import numpy as np

from sims.engine.interval import batch_interval


def test_independent_batches_are_covered_in_about_95_percent_of_runs() -> None:
    rng = np.random.default_rng(11)
    runs = rng.normal(10.0, 1.0, (2000, 16))
    found = [batch_interval(float(run.mean()), batches=list(run)) for run in runs]
    covered = np.mean([one.low <= 10.0 <= one.high for one in found])
    # Four standard errors of a share of 0.95 in 2,000 runs.
    assert abs(covered - 0.95) < 0.02


def test_the_interval_is_centred_on_the_pooled_value_not_on_the_batches() -> None:
    found = batch_interval(5.0, batches=[1.0, 2.0] * 8)
    assert found.low + found.high == 10.0


def test_a_trend_over_the_batches_is_called_unreliable() -> None:
    assert "correlated" in batch_interval(8.0, batches=[float(n) for n in range(16)]).reason


def test_few_batches_are_called_unreliable() -> None:
    assert batch_interval(1.0, batches=[1.0]).unreliable
    assert batch_interval(1.0, batches=[1.0, 1.1, 0.9]).reason == "only 3 batches"


def test_batches_shorter_than_the_memory_of_the_system_are_called_unreliable() -> None:
    values = [1.0, 1.2, 0.9, 1.1, 1.0, 0.8, 1.1, 1.0, 1.2, 0.9, 1.0, 1.1]
    assert not batch_interval(1.0, batches=values, span_s=100.0, relaxation_s=1.0).unreliable
    assert "short" in batch_interval(1.0, batches=values, span_s=10.0, relaxation_s=1.0).reason


def test_equal_batches_are_not_called_correlated_by_their_rounding() -> None:
    same = [0.1] * 16
    assert not batch_interval(same[0], batches=same).unreliable

from __future__ import annotations

import numpy as np
import pytest

from sims.engine.interval import batch_interval, replicated_interval


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


def test_equal_batches_are_not_called_correlated_by_their_rounding() -> None:
    same = [0.1] * 16
    assert not batch_interval(same[0], batches=same).unreliable


def covered(between: float, *, runs: int, batches: int = 16, seed: int = 5) -> tuple[float, float]:
    """Share of 2,000 studies whose interval covers the mean 0, and the mean half-width.

    Batches vary by 1; replications by ``between`` besides, which batches of one replication cannot see.
    """
    rng = np.random.default_rng(seed)
    hits, widths = [], []
    for _ in range(2000):
        rows = rng.normal(0.0, 1.0, (runs, batches)) + rng.normal(0.0, between, (runs, 1))
        found = replicated_interval(float(rows.mean()), own=rows.mean(axis=1).tolist(), batches=rows.tolist())
        hits.append(found.low <= 0.0 <= found.high)
        widths.append((found.high - found.low) / 2)
    return float(np.mean(hits)), float(np.mean(widths))


def test_replications_whose_batches_tell_all_are_covered_and_narrow() -> None:
    share, half = covered(0.0, runs=3)
    # Four standard errors of a share of 0.95 in 2,000 studies are 0.02; the F test at 5 % makes some wider.
    assert 0.93 <= share <= 0.98
    # Student's t of two degrees of freedom alone would give 4.30 / √48 = 0.62, all batches 2.01 / √48 = 0.29.
    assert half < 0.45


def test_replications_that_differ_by_more_than_their_batches_are_still_covered() -> None:
    share, _ = covered(1.0, runs=5)
    assert share > 0.92


def test_batches_of_one_replication_alone_would_miss_what_only_replications_show() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(0.0, 1.0, (2000, 16)) + rng.normal(0.0, 1.0, (2000, 1))
    found = [batch_interval(float(run.mean()), batches=run.tolist()) for run in rows]
    assert np.mean([one.low <= 0.0 <= one.high for one in found]) < 0.6


def test_replications_without_usable_batches_give_students_interval_of_their_own_values() -> None:
    found = replicated_interval(5.0, own=[4.0, 5.0, 6.0], batches=[])
    assert (found.high - found.low) / 2 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert found.low + found.high == 10.0
    assert not found.unreliable


def test_one_replication_is_what_it_is_today() -> None:
    values = [1.0, 1.2, 0.9, 1.1, 1.0, 0.8, 1.1, 1.0, 1.2, 0.9, 1.0, 1.1]
    assert replicated_interval(1.0, own=[1.0], batches=[values]) == batch_interval(1.0, batches=values)

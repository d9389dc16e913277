from __future__ import annotations

import numpy as np
import pytest

from sims.engine import batches
from sims.engine.interval import Interval, batch_interval
from sims.engine.kernel import from_python
from sims.engine.run import COMPLETE, FULL
from sims.engine.sketch import BINS, bin_of

bin_of = from_python(bin_of)


def test_a_quantile_is_read_from_the_pool_and_its_spread_from_the_batches() -> None:
    histograms = np.zeros((16, BINS), np.int64)
    for batch, row in enumerate(histograms):
        row[bin_of(1.0 + batch % 2)] = 100
    found = batches.quantile(histograms, q=0.25)
    assert found is not None
    assert not found.unreliable
    assert found.value == pytest.approx(1.0, rel=0.01)
    # Half of the batches say 1, half 2: their mean is 1.5, the standard deviation of the sixteen 0.516.
    assert (found.high - found.low) / 2 == pytest.approx(2.131 * 0.516 / 4, rel=0.02)


def test_few_observations_beyond_a_quantile_are_said() -> None:
    histograms = np.zeros((16, BINS), np.int64)
    histograms[:, bin_of(1.0)] = 400
    found = batches.quantile(histograms, q=0.99)
    assert found is not None
    assert found.reason == "too few requests beyond the quantile"
    assert batches.quantile(np.zeros((16, BINS), np.int64), q=0.5) is None


def test_a_ratio_passes_over_batches_with_nothing_below_the_line() -> None:
    found = batches.ratio(np.array([1, 0, 3]), below=np.array([2, 0, 2]))
    assert found == batch_interval(1.0, batches=[0.5, 1.5])
    assert batches.ratio(np.zeros(3), below=np.zeros(3)) is None


def test_an_interval_moves_with_a_constant() -> None:
    assert Interval(2.0, 1.0, 4.0, 12, "why").shifted(0.5) == Interval(2.5, 1.5, 4.5, 12, "why")


def test_growth_is_what_stays_of_what_arrives() -> None:
    moments = np.arange(90.0)
    assert batches.growth_share(moments * 0.3, arrived=moments) == pytest.approx(0.3, rel=0.02)
    assert batches.growth_share(np.zeros(8), arrived=np.arange(8.0)) == 0.0


def test_steady_is_a_small_growth_or_a_few_requests_and_never_a_full_system() -> None:
    arrived = 1000 * np.arange(1.0, 91.0)
    growing = np.arange(90.0)
    assert batches.is_steady(growing, arrived=arrived, ending=COMPLETE)
    assert not batches.is_steady(growing * 100, arrived=arrived, ending=COMPLETE)
    assert batches.is_steady(growing / 9, arrived=growing / 9, ending=COMPLETE)
    assert not batches.is_steady(np.zeros(90), arrived=arrived, ending=FULL)
    assert batches.is_steady(np.zeros(0), arrived=np.zeros(0), ending=COMPLETE)


def test_a_quantile_of_replications_is_read_from_all_of_them_and_its_spread_from_each() -> None:
    histograms = np.zeros((6, BINS), np.int64)
    for batch, row in enumerate(histograms):
        row[bin_of(1.0 + batch // 2)] = 100
    found = batches.quantile(histograms, q=0.5, runs=3)
    assert found is not None
    assert found.value == pytest.approx(2.0, rel=0.01)
    # The replications say 1, 2 and 3; their batches are too few to be used.
    assert (found.high - found.low) / 2 == pytest.approx(4.3027 / 3**0.5, rel=0.02)


def test_a_ratio_of_replications_is_of_all_tallies() -> None:
    found = batches.ratio(np.array([1, 1, 3, 1]), below=np.array([2, 2, 2, 2]), runs=2)
    assert found is not None
    assert found.value == 0.75
    assert (found.high - found.low) / 2 == pytest.approx(12.706 * 0.25, rel=1e-3)
    only_one = batches.ratio(np.array([1, 1, 0, 0]), below=np.array([2, 2, 0, 0]), runs=2)
    assert only_one is not None
    assert only_one.unreliable


def test_replications_with_too_few_beyond_a_quantile_say_so() -> None:
    histograms = np.zeros((32, BINS), np.int64)
    histograms[:, bin_of(1.0)] = 20
    rare = batches.quantile(histograms, q=0.99, runs=2)
    assert rare is not None
    assert rare.reason == batches.TOO_FEW

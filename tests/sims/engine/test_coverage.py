"""Do intervals cover? Against the exact percentile of M/M/1, over many seeded runs.

The sojourn time of M/M/1 is exponential with rate μ − λ; runs are made here by Lindley's recursion, not by a simulator.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from sims.engine import batches
from sims.engine.interval import Interval
from sims.engine.sketch import BINS, LOWEST_S, PER_E

BATCHES = 16
RUNS = 100


def sojourns(rng: np.random.Generator, *, rho: float, requests: int) -> np.ndarray:
    """Sojourn times of successive requests in steady state, in units of the mean service."""
    services, gaps = rng.exponential(1.0, requests), rng.exponential(1.0 / rho, requests)
    first = rng.exponential(1.0 / (1.0 - rho)) if rng.random() < rho else 0.0
    walk = np.concatenate([[first], first + np.cumsum(services[:-1] - gaps[1:])])
    return walk - np.minimum.accumulate(np.minimum(walk, 0.0)) + services


def histograms(times: np.ndarray) -> np.ndarray:
    """One histogram a batch of equally many requests."""
    each = len(times) // BATCHES
    bins = np.clip((np.log(times / LOWEST_S) * PER_E).astype(int), 0, BINS - 1)[: each * BATCHES]
    rows = np.repeat(np.arange(BATCHES), each)
    return np.bincount(rows * BINS + bins, minlength=BATCHES * BINS).reshape(BATCHES, BINS)


class Study(NamedTuple):
    covered: np.ndarray
    reliable: np.ndarray


@cache
def study(*, rho: float, requests: int, runs: int = 1) -> Study:
    """Whether the interval of P99 of each of `RUNS` studies covers, and whether it says that it can be relied on."""
    rng, exact = np.random.default_rng(1), math.log(100.0) / (1.0 - rho)
    found: list[Interval] = []
    for _ in range(RUNS):
        rows = [histograms(sojourns(rng, rho=rho, requests=requests)) for _ in range(runs)]
        interval = batches.quantile(np.concatenate(rows), q=0.99, runs=runs)
        assert interval is not None
        found.append(interval)
    covered = [one.low <= exact <= one.high for one in found]
    return Study(np.array(covered), np.array([not one.unreliable for one in found]))


FLOOR = 0.95 - 3 * math.sqrt(0.95 * 0.05 / RUNS)
"""0.885: three standard errors of a share of 0.95 in 100 runs below it. One seed in a thousand would fail here."""


def test_batches_of_260_relaxation_times_cover_and_are_relied_on() -> None:
    found = study(rho=0.8, requests=300_000)
    assert found.covered.mean() >= FLOOR
    assert found.reliable.mean() >= 0.95


@pytest.mark.parametrize(("rho", "requests"), [(0.8, 30_000), (0.9, 60_000)], ids=["26 times", "11 times"])
def test_batches_too_short_to_cover_say_so(rho: float, requests: int) -> None:
    found = study(rho=rho, requests=requests)
    assert found.covered.mean() < FLOOR  # else there were nothing to say
    assert found.reliable.mean() < 0.15


def test_replications_cover_where_batches_of_one_run_do_not() -> None:
    found = study(rho=0.8, requests=30_000, runs=5)
    assert found.covered.mean() >= FLOOR
    assert found.reliable.all()


@pytest.mark.parametrize("requests", [30_000, 100_000])
def test_a_batch_counts_as_many_observations_as_it_has_relaxation_times(requests: int) -> None:
    rng, rho = np.random.default_rng(3), 0.8
    counts = [batches.independent(histograms(sojourns(rng, rho=rho, requests=requests))) for _ in range(40)]
    relaxations = requests / BATCHES / rho * (1.0 - math.sqrt(rho)) ** 2
    # The median of forty estimates from fifteen degrees of freedom each: good to a tenth.
    assert np.median(counts) == pytest.approx(relaxations, rel=0.2)


def test_observations_that_do_not_depend_on_each_other_count_in_full() -> None:
    rng = np.random.default_rng(4)
    rows = [batches.independent(histograms(rng.exponential(1.0, 16_000))) for _ in range(40)]
    assert np.median(rows) == pytest.approx(1000, rel=0.2)


def test_equal_batches_count_without_limit() -> None:
    rows = np.zeros((BATCHES, BINS), np.int64)
    rows[:, 700] = 10
    assert batches.independent(rows) == math.inf
    assert batches.independent(rows[:1]) == math.inf

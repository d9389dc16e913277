"""Zipf's law against the plain sum, Che's approximation against published figures and an LRU of its own."""

from __future__ import annotations

import doctest
import itertools
import math
import random

import numpy as np
import pytest

from planner.formulas import popularity
from planner.formulas.caching import characteristic_time_s, hit_share
from planner.formulas.gaps import Exponential
from planner.formulas.popularity import IndependentItems, Popularity, SharedPrefixes, zipf
from tests.formulas import lru


@pytest.mark.parametrize(("items", "exponent"), [(1, 1.0), (200, 0.8), (5_000, 0.0), (20_000, 1.0), (100_000, 1.3)])
def test_few_classes_sum_as_all_items_do(items: int, exponent: float) -> None:
    shares = np.arange(1.0, items + 1) ** -exponent
    shares /= shares.sum()
    short = zipf(items, exponent=exponent)
    assert float(short.items.sum()) == pytest.approx(items, rel=1e-12)
    assert short.most == pytest.approx(shares[0], rel=1e-9)
    assert short.collision == pytest.approx(float((shares**2).sum()), rel=1e-9)
    for requests in (10.0, items / 3, 20.0 * items):
        held = float(-np.expm1(-shares * requests).sum())
        assert IndependentItems(short).occupancy_tokens(requests) == pytest.approx(held, rel=1e-8)


@pytest.mark.parametrize(
    ("items", "exponent", "capacity", "time", "share"),
    # Che's fixed point over all items: the specification's golden rows.
    [
        (10**4, 0.8, 1e3, 1472.4795, 0.43666),
        (10**4, 1.0, 1e3, 2352.1784, 0.675602),
        (10**4, 1.2, 100.0, 225.6388, 0.656341),
        (10**5, 0.9, 5e3, 8652.2741, 0.515196),
    ],
)
def test_che_on_zipf(items: int, exponent: float, capacity: float, time: float, share: float) -> None:
    loads = [IndependentItems(zipf(items, exponent=exponent))]
    found = characteristic_time_s(loads, capacity_tokens=capacity)
    assert found == pytest.approx(time, abs=5e-5)
    assert hit_share(loads, time_s=found) == pytest.approx(share, abs=5e-7 if share != 0.43666 else 5e-6)


def test_che_on_zipf_is_what_an_lru_hits() -> None:
    items, requests = 2_000, 60_000
    weights = list(itertools.accumulate(1 / rank for rank in range(1, items + 1)))
    stream = random.Random(3).choices(range(items), cum_weights=weights, k=requests)
    loads = [IndependentItems(zipf(items, exponent=1.0))]
    for capacity in (50, 400):
        cache = lru.Lru(capacity)
        found = [cache.touch(item) for item in stream][5_000:]
        time = characteristic_time_s(loads, capacity_tokens=float(capacity))
        # 55,000 requests: a standard error of 0.002
        assert sum(found) / len(found) == pytest.approx(hit_share(loads, time_s=time), abs=0.006)


def exact_lru(shares: tuple[float, ...], capacity: int) -> float:
    """Stationary LRU by its stack: probability of each order of the most recent items (King 1971)."""
    hit = 0.0
    for order in itertools.permutations(range(len(shares)), capacity):
        left, probability = 1.0, 1.0
        for item in order:
            probability *= shares[item] / left
            left -= shares[item]
        hit += probability * sum(shares[item] for item in order)
    return hit


def test_tiny_caches_are_where_che_is_poor() -> None:
    shares = (0.5, 0.3, 0.2)
    loads = [IndependentItems(Popularity(np.array(shares), np.ones(3)))]
    for capacity, exact, che in ((1, 0.38, 0.370909), (2, 0.7192857, 0.715413)):
        assert exact_lru(shares, capacity) == pytest.approx(exact, abs=5e-8)
        found = hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=float(capacity)))
        assert found == pytest.approx(che, abs=1e-6)  # the second is 0.7154123: printed a digit too high
        assert abs(found - exact) < 0.01
    assert hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=3.0)) == 1


def test_prefixes_of_single_turns_are_independent_items() -> None:
    popular = zipf(500, exponent=0.9)
    prefixes = SharedPrefixes(popular, 7.0, sessions_per_s=3.0, mean_turns=1.0, gaps=Exponential(60.0))
    items = IndependentItems(popular, requests_per_s=3.0, item_tokens=7.0)
    for time_s in (1.0, 40.0, math.inf):
        assert prefixes.occupancy_tokens(time_s) == pytest.approx(items.occupancy_tokens(time_s))
        assert prefixes.hit_tokens_per_s(time_s) == pytest.approx(items.hit_tokens_per_s(time_s))
        assert prefixes.growth_tokens_per_s(time_s) == pytest.approx(items.growth_tokens_per_s(time_s))


@pytest.mark.parametrize(
    "load",
    [
        SharedPrefixes(zipf(900, exponent=0.7), 5.0, sessions_per_s=2.0, mean_turns=4.0, gaps=Exponential(60.0)),
        IndependentItems(zipf(900, exponent=0.7), requests_per_s=2.0),
    ],
)
def test_growth_is_the_slope_of_the_occupancy(load: SharedPrefixes | IndependentItems) -> None:
    for time_s in (0.5, 30.0, 600.0):
        slope = (load.occupancy_tokens(time_s + 1e-3) - load.occupancy_tokens(time_s - 1e-3)) / 2e-3
        assert load.growth_tokens_per_s(time_s) == pytest.approx(slope, rel=1e-5)


def test_prefixes_that_nobody_asks_for_hold_nothing() -> None:
    for load in (
        SharedPrefixes(zipf(900, exponent=0.7), 5.0, sessions_per_s=0.0, mean_turns=4.0, gaps=Exponential(60.0)),
        IndependentItems(zipf(900, exponent=0.7), requests_per_s=0.0),
    ):
        assert characteristic_time_s([load], capacity_tokens=10.0) == math.inf
        assert load.hit_tokens_per_s(math.inf) == 0
        assert load.occupancy_tokens(np.array([0.0, math.inf])).tolist() == [0, 0]


def test_its_examples_hold() -> None:
    assert doctest.testmod(popularity).failed == 0

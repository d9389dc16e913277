"""Affinity and random placement: sums over turns in closed form, published figures, and several LRUs side by side."""

from __future__ import annotations

import doctest
import itertools
import math
import random

import numpy as np
import pytest
from scipy import stats

from planner.formulas import placement
from planner.formulas.caching import OneShots, Sessions, characteristic_time_s, hit_share
from planner.formulas.gaps import Exponential, LogNormal
from planner.formulas.placement import Scattered, scattered_sessions
from planner.formulas.popularity import IndependentItems, zipf
from tests.formulas import lru

GROWING = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)


@pytest.mark.parametrize(("nodes", "share"), [(8, 0.0480), (32, 0.0120)])
def test_sessions_at_random_hit_as_published(nodes: int, share: float) -> None:
    load = scattered_sessions(GROWING, nodes=nodes, capacity_tokens=1e7)
    time_s = characteristic_time_s([load], capacity_tokens=1e7)
    assert hit_share([load], time_s=time_s) == pytest.approx(share, abs=5e-5)
    assert time_s < characteristic_time_s([GROWING], capacity_tokens=1e7)


@pytest.mark.parametrize("nodes", [2, 8, 32])
def test_gaps_without_memory_return_after_sums_of_gamma(nodes: int) -> None:
    """The sum over turns back, each with its Erlang law, 300 terms of it."""
    law = Scattered.of(Exponential(300.0), nodes=nodes, follow_share=0.8, until_s=2_000.0)
    for time_s in (10.0, 150.0, 1_900.0):
        by_hand = sum(
            (1 / nodes) * (1 - 1 / nodes) ** (j - 1) * 0.8 ** (j - 1) * stats.gamma(j, scale=300.0).cdf(time_s)
            for j in range(1, 60)
        )
        assert law.cdf(time_s) == pytest.approx(by_hand, rel=1e-4)


def test_contexts_that_grow_weigh_as_turns_that_end() -> None:
    """Sum over turns k of S_(k-j) q^k over that of S_(k-1) q^k is q^(j-1), whatever the contexts."""
    follows, contexts = 0.8, [2_000.0 + 1_000.0 * k for k in range(400)]
    for back in (1, 2, 5):
        weights = [follows**k for k in range(400)]
        found = sum(weights[k] * contexts[k - back] for k in range(back, 400))
        whole = sum(weights[k] * contexts[k - 1] for k in range(1, 400))
        assert found / whole == pytest.approx(follows ** (back - 1))


def test_its_integrals_belong_together() -> None:
    law = Scattered.of(LogNormal(120.0, 1.5), nodes=4, follow_share=0.8, until_s=1_000.0)
    times_s = np.linspace(0.0, 1_000.0, 20_001)
    kept = np.concatenate(([0.0], np.cumsum((law.survival(times_s)[1:] + law.survival(times_s)[:-1]) / 2 * 0.05)))
    assert law.mean_min_s(times_s) == pytest.approx(kept, abs=1e-4)
    assert law.density_per_s(500.0) == pytest.approx((law.cdf(501.0) - law.cdf(499.0)) / 2, rel=0.01)
    assert law.cdf(law.quantile_s(0.1)) == pytest.approx(0.1, rel=1e-6)
    assert law.quantile_s(0.99) == math.inf
    assert law.mean_s == math.inf


def test_random_sessions_hit_as_several_lrus_do() -> None:
    nodes, capacity = 3, 1_000
    load = Sessions.of_turns(Exponential(20.0), sessions_per_s=4.0, turns=5, first_tokens=4.0)
    # Five turns each: q as a geometric law has it, 4/5 of the turns are followed. Few turns back count at T = 40 s.
    spread = scattered_sessions(load, nodes=nodes, capacity_tokens=float(nodes * capacity))
    time_s = characteristic_time_s([spread], capacity_tokens=float(nodes * capacity))
    draw = random.Random(9)
    caches = [lru.Lru(capacity) for _ in range(nodes)]
    found = asked = 0
    for turn in lru.sessions(
        starts_per_s=4.0,
        until_s=3_000.0,
        goes_on=lambda d, _: d.random() < 0.8,
        gap_s=lambda d: d.expovariate(1 / 20.0),
        blocks=lambda _: 4,
        seed=6,
    ):
        hit = lru.touch_context(draw.choice(caches), turn)
        if turn.time_s > 500.0:
            found, asked = found + hit, asked + turn.reusable
    assert found / asked == pytest.approx(hit_share([spread], time_s=time_s), abs=0.012)


def test_affinity_makes_one_cache_of_many_and_random_does_not() -> None:
    """20,000 groups by Zipf's law on 200 caches of 30: 0.8364 and 0.2251 by Che, 0.8342 and 0.2246 simulated."""
    groups, nodes, each = 20_000, 200, 30
    items = IndependentItems(zipf(groups, exponent=1.0))
    together, apart = (
        hit_share([items], time_s=characteristic_time_s([items], capacity_tokens=float(capacity)))
        for capacity in (nodes * each, each)
    )
    assert (together, apart) == (pytest.approx(0.8364, abs=5e-5), pytest.approx(0.2251, abs=5e-5))
    draw = random.Random(1)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, groups + 1)))
    asked = draw.choices(range(groups), cum_weights=weights, k=150_000)
    home = [draw.randrange(nodes) for _ in range(groups)]
    by_affinity, at_random = ([lru.Lru(each) for _ in range(nodes)] for _ in range(2))
    found = [(by_affinity[home[group]].touch(group), at_random[draw.randrange(nodes)].touch(group)) for group in asked][
        60_000:
    ]
    assert sum(a for a, _ in found) / len(found) == pytest.approx(together, abs=0.006)
    assert sum(b for _, b in found) / len(found) == pytest.approx(apart, abs=0.006)


def test_one_cache_and_no_load_are_answers() -> None:
    assert scattered_sessions(GROWING, nodes=1, capacity_tokens=1e7) is GROWING
    none = Sessions(Exponential(300.0), 0.0, 0.0)
    assert scattered_sessions(none, nodes=8, capacity_tokens=1e7) is none
    empty = scattered_sessions(GROWING, nodes=8, capacity_tokens=0.0)
    assert hit_share([empty], time_s=characteristic_time_s([empty], capacity_tokens=0.0)) == 0
    endless = Sessions(Exponential(300.0), 1_000.0, 0.0)
    spread = scattered_sessions(endless, nodes=4, capacity_tokens=1e6)
    assert 0 < hit_share([spread], time_s=characteristic_time_s([spread], capacity_tokens=1e6)) <= 1
    crowded = scattered_sessions(GROWING, nodes=8, capacity_tokens=1e7, others=[OneShots(1e5)])
    assert crowded.gaps.until_s < scattered_sessions(GROWING, nodes=8, capacity_tokens=1e7).gaps.until_s


def test_its_examples_hold() -> None:
    assert doctest.testmod(placement).failed == 0

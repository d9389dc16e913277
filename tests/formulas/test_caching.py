"""Characteristic times against published figures, exact stationary LRU and small simulations of sessions."""

from __future__ import annotations

import doctest
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import caching
from planner.formulas.caching import OneShots, Sessions, characteristic_time_s, hit_share
from planner.formulas.gap_samples import Empirical
from planner.formulas.gaps import Exponential, GapLaw, LogNormal, hyperexponential
from planner.formulas.popularity import SharedPrefixes, zipf
from tests.formulas import lru

GROWING = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)


@pytest.mark.parametrize(
    ("capacity_tokens", "time_s", "share", "reuse_s"),
    # C = 70,000 · 300 · (1 − e^(−T/300)) + 14,000 · T, solved by hand: the specification's golden rows.
    [
        (1e6, 12.105587, 0.039548657, 0.23776998),
        (1e7, 143.62421, 0.38044101, 25.148633),
        (2e7, 368.19230, 0.70691942, 104.16581),
        (4e7, 1372.5973, 0.98969704, 282.76730),
    ],
)
def test_growing_sessions_fill_a_cache_as_published(
    capacity_tokens: float, time_s: float, share: float, reuse_s: float
) -> None:
    found_s = characteristic_time_s([GROWING], capacity_tokens=capacity_tokens)
    assert found_s == pytest.approx(time_s, rel=1e-7)
    assert hit_share([GROWING], time_s=found_s) == pytest.approx(share, rel=1e-7)
    assert GROWING.gaps.partial_mean_s(found_s) == pytest.approx(reuse_s, rel=1e-7)


def test_contexts_grow_to_the_mean_of_their_sum() -> None:
    first, grown, follows, most = 2000.0, 1000.0, 5 / 6, 20_000.0
    by_hand = sum((1 - follows) * follows**k * min(first + grown * k, most) for k in range(2000))
    assert caching.mean_context_tokens(
        first, tokens_per_turn=grown, follow_share=follows, most_tokens=most
    ) == pytest.approx(by_hand)
    assert caching.mean_context_tokens(first, tokens_per_turn=grown, follow_share=1.0) == math.inf
    assert caching.mean_context_tokens(first, tokens_per_turn=grown, follow_share=1.0, most_tokens=9e3) == 9e3
    assert caching.mean_context_tokens(first, tokens_per_turn=0.0, follow_share=1.0) == first
    assert caching.mean_context_tokens(first, tokens_per_turn=grown, follow_share=0.0) == first


def test_sessions_of_as_many_turns_add_up_turn_by_turn() -> None:
    load = Sessions.of_turns(Exponential(60.0), sessions_per_s=2.0, turns=5, first_tokens=4800.0, tokens_per_turn=800.0)
    contexts = [4800.0 + 800.0 * k for k in range(5)]
    assert load.reusable_tokens_per_s == pytest.approx(2.0 * sum(contexts[:-1]))
    assert load.final_tokens_per_s == pytest.approx(2.0 * contexts[-1])
    single = Sessions.of_turns(Exponential(60.0), sessions_per_s=2.0, turns=1, first_tokens=4800.0)
    assert (single.reusable_tokens_per_s, single.final_tokens_per_s) == (0, 9600)


def blocks(turn: int) -> int:
    return 2 + turn


GAPS = {
    "exponential": (Exponential(20.0), lambda draw: draw.expovariate(1 / 20.0)),
    "log-normal": (LogNormal(20.0, 1.5), lambda draw: draw.lognormvariate(math.log(20.0), 1.5)),
    "hyperexponential": (
        hyperexponential((0.8, 0.2), means_s=(2.0, 100.0)),
        lambda draw: draw.expovariate(1 / (2.0 if draw.random() < 0.8 else 100.0)),
    ),
}


@pytest.mark.parametrize("name", GAPS)
def test_sessions_hit_as_an_lru_of_their_blocks_does(name: str) -> None:
    # 10,000 sessions after the first 1,500 s: 40,000 reused turns, and a load that is right to 1 %.
    law, gap_s = GAPS[name]
    load = Sessions.of_turns(law, sessions_per_s=4.0, turns=5, first_tokens=2.0, tokens_per_turn=1.0)
    for capacity in (800, 4_000):
        cache, found, reusable = lru.Lru(capacity), 0, 0
        stream = lru.sessions(
            starts_per_s=4.0, until_s=4_000.0, goes_on=lambda _, k: k < 4, gap_s=gap_s, blocks=blocks, seed=7
        )
        for turn in stream:
            hit = lru.touch_context(cache, turn)
            if turn.time_s > 1_500.0:
                found, reusable = found + hit, reusable + turn.reusable
        time_s = characteristic_time_s([load], capacity_tokens=float(capacity))
        assert found / reusable == pytest.approx(hit_share([load], time_s=time_s), abs=0.01)


def test_one_shots_and_shared_prefixes_take_their_part_of_one_cache() -> None:
    law, groups, prefix = Exponential(30.0), 200, 4
    private = Sessions.of_turns(law, sessions_per_s=4.0, turns=5, first_tokens=2.0, tokens_per_turn=1.0)
    shared = SharedPrefixes(zipf(groups, exponent=0.9), prefix, sessions_per_s=4.0, mean_turns=5.0, gaps=law)
    loads = [private, shared, OneShots(30.0)]
    for capacity in (1_500, 5_000):
        time_s = characteristic_time_s(loads, capacity_tokens=float(capacity))
        sessions_hit, prefixes_hit = replay_of_a_mix(capacity, groups=groups, prefix=prefix)
        assert sessions_hit == pytest.approx(hit_share([private], time_s=time_s), abs=0.01)
        assert prefixes_hit == pytest.approx(hit_share([shared], time_s=time_s), abs=0.01)


def replay_of_a_mix(capacity: int, *, groups: int, prefix: int) -> tuple[float, float]:
    draw, cache = random.Random(5), lru.Lru(capacity)
    weights = [1 / (rank + 1) ** 0.9 for rank in range(groups)]
    group_of: dict[int, int] = {}
    found, asked, found_shared, asked_shared = 0, 0, 0, 0
    once_s, once = draw.expovariate(10.0), 0
    for turn in lru.sessions(
        starts_per_s=4.0,
        until_s=3_000.0,
        goes_on=lambda _, k: k < 4,
        gap_s=lambda d: d.expovariate(1 / 30.0),
        blocks=blocks,
        seed=11,
    ):
        while once_s < turn.time_s:  # one-shots of three blocks, ten a second
            once_s, once = once_s + draw.expovariate(10.0), once + 1
            for block in range(3):
                cache.touch(("once", once, block))
        group = group_of.setdefault(turn.session, draw.choices(range(groups), weights)[0])
        hit = lru.touch_context(cache, turn)
        hit_shared = sum(cache.touch(("group", group, block)) for block in range(prefix))
        if turn.time_s > 500.0:
            found, asked = found + hit, asked + turn.reusable
            found_shared, asked_shared = found_shared + hit_shared, asked_shared + prefix
    return found / asked, found_shared / asked_shared


@given(
    law=st.sampled_from([Exponential(30.0), LogNormal(120.0, 1.5), LogNormal(50.0, 0.0), Empirical([5.0, 50.0, 70.0])]),
    reusable=st.one_of(st.just(0.0), st.floats(1e-3, 1e6)),
    final=st.one_of(st.just(0.0), st.floats(1e-3, 1e6)),
    capacity=st.floats(0, 1e12),
)
def test_the_time_is_the_one_at_which_the_cache_is_full(
    law: GapLaw, reusable: float, final: float, capacity: float
) -> None:
    loads = [Sessions(law, reusable, final), OneShots(final / 3)]
    time_s = characteristic_time_s(loads, capacity_tokens=capacity)
    if math.isinf(time_s):
        assert capacity >= caching.total_occupancy_tokens(loads, time_s=1e15) * (1 - 1e-9)
    else:
        assert caching.total_occupancy_tokens(loads, time_s=time_s) == pytest.approx(capacity, rel=1e-9, abs=1e-6)
    assert 0 <= hit_share(loads, time_s=time_s) <= 1


def test_many_capacities_at_once_answer_as_one_at_a_time() -> None:
    loads = [GROWING, OneShots(5_000.0)]
    capacities = np.array([0.0, 1e3, 1e6, 1e7, 1e12, np.inf])
    times_s = characteristic_time_s(loads, capacity_tokens=capacities)
    assert [characteristic_time_s(loads, capacity_tokens=float(one)) for one in capacities] == pytest.approx(
        list(times_s)
    )
    assert times_s[0] == 0
    assert times_s[-1] == math.inf


def test_nothing_that_comes_and_nothing_that_is_reused_are_answers() -> None:
    none = Sessions.geometric(Exponential(300.0), turns_per_s=0.0, follow_share=0.8, context_tokens=7000.0)
    assert characteristic_time_s([none], capacity_tokens=1e6) == math.inf
    assert characteristic_time_s([], capacity_tokens=1e6) == math.inf
    assert hit_share([none], time_s=math.inf) == 0
    never = Sessions.geometric(Exponential(300.0), turns_per_s=2.0, follow_share=0.0, context_tokens=7000.0)
    assert hit_share([never], time_s=characteristic_time_s([never], capacity_tokens=1e6)) == 0
    endless = Sessions.geometric(Exponential(300.0), turns_per_s=2.0, follow_share=1.0, context_tokens=7000.0)
    assert characteristic_time_s([endless], capacity_tokens=2.0 * 7000 * 300) == math.inf
    assert characteristic_time_s([endless], capacity_tokens=2.0 * 7000 * 300 * (1 - math.exp(-1))) == pytest.approx(300)


def test_what_expires_first_leaves_first() -> None:
    assert caching.kept_s(368.0, ttl_s=300.0) == 300
    assert list(caching.kept_s(np.array([10.0, math.inf]), ttl_s=60.0)) == [10, 60]


def test_its_examples_hold() -> None:
    assert doctest.testmod(caching).failed == 0

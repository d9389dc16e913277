"""Eviction by value against a cache of sessions that compares the oldest of each class, and published figures."""

from __future__ import annotations

import doctest
import math
import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from planner.formulas import eviction
from planner.formulas.caching import CachedLoad, OneShots, Sessions, characteristic_time_s, hit_share
from planner.formulas.eviction import value_ranked
from planner.formulas.gaps import Exponential, GapLaw, LogNormal
from planner.formulas.popularity import IndependentItems, SharedPrefixes, zipf
from tests.formulas import lru

AGENT, HUMAN = Exponential(10.0), LogNormal(120.0, 1.5)
FIRST, MORE, STARTS_PER_S = 4_000, 800, 6.0


def loads_of(agent: float, human: float, one_shot: float) -> list[CachedLoad]:
    context = {"first_tokens": float(FIRST), "tokens_per_turn": float(MORE)}
    return [
        Sessions.of_turns(AGENT, sessions_per_s=STARTS_PER_S * agent, turns=8, **context),
        Sessions.of_turns(HUMAN, sessions_per_s=STARTS_PER_S * human, turns=5, **context),
        OneShots(STARTS_PER_S * one_shot * FIRST),
    ]


PUBLISHED = {
    # agent, human, one-shot: (LRU, by value) at 0.5 M, 2 M and 8 M tokens.
    (0.5, 0.5, 0.0): ((0.114, 0.158), (0.415, 0.578), (0.827, 0.828)),
    (0.2, 0.3, 0.5): ((0.198, 0.339), (0.588, 0.685), (0.832, 0.873)),
    (0.1, 0.1, 0.8): ((0.378, 0.654), (0.800, 0.863), (0.919, 0.986)),
    (0.0, 1.0, 0.0): ((0.006, 0.006), (0.062, 0.062), (0.304, 0.304)),
}
CAPACITIES = np.array([0.5e6, 2e6, 8e6])


@pytest.mark.parametrize("mix", PUBLISHED)
def test_gains_are_near_the_published_ones(mix: tuple[float, float, float]) -> None:
    """The published runs are finite, and say neither how long nor what counts as a turn's context: hits to 0.065."""
    loads = loads_of(*mix)
    found_lru = hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=CAPACITIES))
    found = value_ranked(loads).hit_share(CAPACITIES)
    by_lru, by_value = (np.array(column) for column in zip(*PUBLISHED[mix], strict=True))
    assert found_lru == pytest.approx(by_lru, abs=0.065)
    assert found == pytest.approx(by_value, abs=0.065)
    assert found - found_lru == pytest.approx(by_value - by_lru, abs=0.055)


@dataclass
class ValueCache:
    """Sessions in lists by class, oldest first; of the oldest of each the one with the least rate of return goes."""

    capacity: float
    rates: list[Callable[[float], float]]

    def __post_init__(self) -> None:
        self.lists: list[OrderedDict[int, tuple[float, int]]] = [OrderedDict() for _ in self.rates]
        self.held = 0

    def touch(self, session: int, kind: int, tokens: int, now_s: float) -> bool:
        found = self.lists[kind].pop(session, None)
        self.held += tokens - (found[1] if found else 0)
        self.lists[kind][session] = (now_s, tokens)
        while self.held > self.capacity:
            self.evict(now_s)
        return found is not None

    def evict(self, now_s: float) -> None:
        oldest = [
            (rate(now_s - next(iter(line.values()))[0]), kind)
            for kind, (line, rate) in enumerate(zip(self.lists, self.rates, strict=True))
            if line
        ]
        _, (_, tokens) = self.lists[min(oldest)[1]].popitem(last=False)
        self.held -= tokens


def rate_table(law: GapLaw, follow_share: float) -> Callable[[float], float]:
    """Looked up, since it is asked for at every eviction."""
    table = eviction.return_rate_per_s(np.geomspace(1e-3, 1e5, 1_601), gaps=law, follow_share=follow_share).tolist()
    return lambda age_s: table[min(1_600, max(0, round(200 * math.log10(max(age_s, 1e-3) * 1e3))))]


def replayed(mix: tuple[float, float, float], capacity: float) -> float:
    kinds = random.Random(8)
    kind_of: dict[int, int] = {}

    def kind(session: int) -> int:
        return kind_of.setdefault(session, kinds.choices(range(3), mix)[0])

    cache = ValueCache(capacity, [rate_table(AGENT, 7 / 8), rate_table(HUMAN, 4 / 5), lambda _: 0.0])
    found = asked = 0
    for turn in sessions_of(kind):
        hit = cache.touch(turn.session, kind(turn.session), turn.blocks, turn.time_s)
        if turn.turn and turn.time_s > 3_000.0:
            found, asked = found + hit * turn.reusable, asked + turn.reusable
    return found / asked


def sessions_of(kind: Callable[[int], int]) -> list[lru.Turn]:
    """Six sessions a second of each their kind, in order of time."""
    draw = random.Random(4)
    now_s, turns = 0.0, []
    for session in range(int(STARTS_PER_S * 5_000)):
        now_s += draw.expovariate(STARTS_PER_S)
        time_s, of = now_s, kind(session)
        for k in range((8, 5, 1)[of]):
            turns.append(lru.Turn(time_s, session, k, FIRST + MORE * (k - 1) if k else 0, FIRST + MORE * k))
            time_s += draw.expovariate(0.1) if of == 0 else draw.lognormvariate(math.log(120.0), 1.5)
    return sorted((turn for turn in turns if turn.time_s < 5_000.0), key=lambda turn: turn.time_s)


@pytest.mark.parametrize(
    ("mix", "capacity"), [((0.5, 0.5, 0.0), 2e6), ((0.1, 0.1, 0.8), 0.5e6), ((0.1, 0.1, 0.8), 8e6)]
)
def test_a_cache_that_compares_the_oldest_of_each_class_hits_as_much(
    mix: tuple[float, float, float], capacity: float
) -> None:
    assert value_ranked(loads_of(*mix)).hit_share(capacity) == pytest.approx(replayed(mix, capacity), abs=0.02)


def test_one_class_alone_is_lru() -> None:
    for law in (AGENT, HUMAN):
        load = Sessions.of_turns(law, sessions_per_s=6.0, turns=5, first_tokens=4_000.0)
        for capacity in np.geomspace(1e4, 1e9, 30):
            assert eviction.gain_by_value([load], capacity_tokens=float(capacity)) == pytest.approx(0.0, abs=5e-4)


def test_it_is_never_worse_than_lru_where_classes_differ() -> None:
    for mix in PUBLISHED:
        gains = eviction.gain_by_value(loads_of(*mix), capacity_tokens=np.geomspace(1e4, 1e10, 60))
        assert gains.min() > -5e-4
        assert gains[-1] == pytest.approx(0.0, abs=1e-3)


def test_room_goes_where_more_is_saved() -> None:
    same = [Sessions.of_turns(AGENT, sessions_per_s=6.0, turns=5, first_tokens=4_000.0) for _ in range(2)]
    even = value_ranked(same).held_by_load_tokens(1e5)
    first = value_ranked(same, saved_s_per_token=[2.0, 1.0]).held_by_load_tokens(1e5)
    assert even.sum() == pytest.approx(1e5)
    assert first[0] > first[1]
    worthless = value_ranked(same, saved_s_per_token=[1.0, -1.0]).held_by_load_tokens(1e5)
    assert list(worthless) == pytest.approx([1e5, 0.0], abs=1.0)


def test_items_asked_for_independently_are_kept_by_their_rate() -> None:
    popular = zipf(5_000, exponent=0.9)
    shares = np.arange(1.0, 5_001) ** -0.9
    shares /= shares.sum()
    for load in (
        IndependentItems(popular, requests_per_s=3.0, item_tokens=7.0),
        SharedPrefixes(popular, 7.0, sessions_per_s=1.5, mean_turns=2.0, gaps=AGENT),
    ):
        ranked = value_ranked([load])
        for kept in (10, 200, 5_000):
            assert ranked.hit_share(7.0 * kept) == pytest.approx(shares[:kept].sum(), rel=2e-3)


def test_the_rate_of_return_falls_as_sessions_turn_out_to_be_over() -> None:
    found = eviction.return_rate_per_s(np.array([0.0, 10.0, 1e4]), gaps=AGENT, follow_share=0.8)
    by_hand = [0.8 * math.exp(-t / 10) / 10 / (0.8 * math.exp(-t / 10) + 0.2) for t in (0.0, 10.0, 1e4)]
    assert list(found) == pytest.approx(by_hand)
    assert eviction.return_rate_per_s(1e9, gaps=AGENT, follow_share=1.0) == 0
    assert eviction.entry_value(0.5, saved_s=-0.1, held_bytes=1e9) == 0


def test_no_load_and_no_room_are_answers() -> None:
    assert value_ranked([]).hit_share(1e6) == 0
    assert value_ranked([OneShots(1e5)]).hit_share(np.array([0.0, 1e9])).tolist() == [0, 0]
    assert value_ranked(loads_of(0.5, 0.5, 0.0)).hit_share(0.0) == 0
    assert value_ranked(loads_of(0.5, 0.5, 0.0)).hit_share(math.inf) == pytest.approx(1.0)
    assert value_ranked(loads_of(0.0, 0.0, 0.0)).hit_share(1e6) == 0


def test_its_examples_hold() -> None:
    assert doctest.testmod(eviction).failed == 0

"""The mean over replicas against simulated placements (notes of the kind) and against items placed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas.popularity import Popularity, zipf
from planner.formulas.typical_replica import TypicalReplica, anywhere, beyond, by_hash, by_load


def distinct(seen: TypicalReplica, *, batch: float) -> float:
    kept = seen.popularity.shares < 1
    missed = (1 - seen.popularity.shares[kept]) ** batch
    return float(seen.popularity.items[kept] @ (1 - missed) + seen.popularity.items[~kept].sum())


def lru(popularity: Popularity, *, slots: float) -> float:
    """Che's approximation by bisection: a few lines of its own."""
    if slots >= popularity.items.sum():
        return 1.0
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        held = popularity.items @ -np.expm1(-popularity.shares * middle)
        low, high = (middle, high) if held < slots else (low, middle)
    return float((popularity.items * popularity.shares) @ -np.expm1(-popularity.shares * low))


@pytest.mark.parametrize(
    ("exponent", "copies", "hit"), [(0.9, 1, 0.947), (0.9, 2, 0.771), (0.9, 4, 0.615), (1.2, 1, 0.983)]
)
def test_hits_of_hashed_placements_as_simulated(exponent: float, copies: int, hit: float) -> None:
    seen = by_hash(zipf(1000, exponent=exponent), replicas=8, copies=copies)
    assert lru(seen.popularity, slots=102) == pytest.approx(hit, abs=0.006)


@pytest.mark.parametrize(("copies", "different"), [(1, 33.1), (2, 38.6), (4, 44.0)])
def test_distinct_items_of_hashed_placements_as_simulated(copies: int, different: float) -> None:
    # simulated with 64 on each replica; in proportion to the load the replica of the hottest item has more and the
    # others fewer, so that the mean is up to 6 % lower
    seen = by_hash(zipf(1000, exponent=0.9), replicas=8, copies=copies)
    assert different * 0.93 < distinct(seen, batch=64) < different * 1.005


def test_all_replicas_hold_all_without_affinity() -> None:
    seen = anywhere(zipf(1000, exponent=0.9), replicas=8)
    assert lru(seen.popularity, slots=102) == pytest.approx(0.47914, abs=2e-5)
    assert distinct(seen, batch=64) == pytest.approx(48.917, abs=1e-3)
    assert seen.imbalance == 1.0


@pytest.mark.parametrize(("exponent", "hit"), [(0.9, 0.946), (1.2, 0.981)])
def test_copies_by_load_keep_the_hits_and_the_balance(exponent: float, hit: float) -> None:
    seen = by_load(zipf(1000, exponent=exponent), replicas=8)
    assert lru(seen.popularity, slots=102) == pytest.approx(hit, abs=0.006)
    assert seen.imbalance == 1.0


@pytest.mark.parametrize(("exponent", "copies", "busiest"), [(0.9, 1, 1.69), (0.9, 2, 1.38), (0.9, 4, 1.20)])
def test_the_busiest_replica_of_a_hash(exponent: float, copies: int, busiest: float) -> None:
    # one simulated placement has a spread of its own
    seen = by_hash(zipf(1000, exponent=exponent), replicas=8, copies=copies)
    assert seen.imbalance == pytest.approx(busiest, rel=0.15)


def test_as_items_drawn_one_by_one() -> None:
    random, shares = np.random.default_rng(7), zipf(200, exponent=0.7).shares
    loads, tallies = [], []
    for _ in range(400):
        mine = shares[random.random(200) < 1 / 4]
        loads.append(mine.sum())
        tallies.append(-np.expm1(-mine / 0.25 * 20).sum())
    seen = by_hash(zipf(200, exponent=0.7), replicas=4)
    told = seen.popularity.items @ -np.expm1(-seen.popularity.shares * 20)
    assert np.mean(loads) == pytest.approx(0.25, rel=0.03)
    assert told == pytest.approx(np.mean(tallies), rel=0.02)


@pytest.mark.parametrize("replicas", [1, 3, 50])
def test_shares_of_a_replica_add_to_one(replicas: int) -> None:
    popularity = zipf(5000, exponent=1.1)
    for seen in (by_hash(popularity, replicas=replicas), by_load(popularity, replicas=replicas, least=2)):
        assert float(seen.popularity.items @ seen.popularity.shares) == pytest.approx(1.0)
        assert 1.0 <= seen.imbalance <= replicas


def test_one_replica_has_everything() -> None:
    seen = by_hash(zipf(10, exponent=1.0), replicas=1, copies=3)
    assert seen.items == pytest.approx(10.0)
    assert seen.imbalance == 1.0


def test_what_misses_is_what_hits_leave() -> None:
    popularity = zipf(2000, exponent=1.0)
    seen = by_load(popularity, replicas=4)
    rest, share = beyond(popularity, seen=seen, held=150, replicas=4)
    assert share == pytest.approx(1 - lru(seen.popularity, slots=150), abs=1e-9)
    assert float(rest.items @ rest.shares) == pytest.approx(1.0)
    assert rest.most < popularity.most / 5


def test_misses_as_of_a_cache_played_through() -> None:
    random, popularity = np.random.default_rng(3), zipf(100, exponent=0.8)
    seen = anywhere(popularity, replicas=1)
    held: dict[int, None] = {}
    missed = np.zeros(100)
    asked = random.choice(100, size=60_000, p=popularity.shares / popularity.shares.sum())
    for item in asked.tolist():
        if item in held:
            del held[item]
        else:
            missed[item] += 1
            if len(held) == 20:
                del held[next(iter(held))]
        held[item] = None
    rest, share = beyond(popularity, seen=seen, held=20, replicas=1)
    assert share == pytest.approx(missed.sum() / len(asked), abs=0.006)
    assert rest.shares[:10] == pytest.approx(missed[:10] / missed.sum(), rel=0.15)


def test_nothing_misses_where_all_is_held() -> None:
    popularity = zipf(50, exponent=1.0)
    assert beyond(popularity, seen=anywhere(popularity, replicas=3), held=50, replicas=3)[1] == 0.0

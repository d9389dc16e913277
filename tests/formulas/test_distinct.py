"""Different adapters at once and hits of their tiers, against sums, an LRU of its own and drawn placements."""

from __future__ import annotations

import doctest
import itertools
import random

import numpy as np
import pytest

from planner.formulas import copy_placement, distinct, placed_hits, zipf_fit
from planner.formulas.copy_placement import everywhere, hashed, load_aware, load_aware_copies, zipf_shares
from planner.formulas.distinct import distinct_in_batch, distinct_in_load, lru_hits, tier_shares, without_hottest
from planner.formulas.placed_hits import distinct_per_replica, lru_hits_per_replica, running_items
from planner.formulas.popularity import Popularity, zipf
from planner.formulas.zipf_fit import counted, fit_zipf
from tests.formulas import lru

ROWS = [
    (0.0, (15.8806, 62.025, 225.957), (0.00800, 0.03200, 0.10200, 0.25600)),
    (0.6, (15.6520, 58.966, 199.656), (0.02364, 0.08627, 0.22357, 0.42934)),
    (0.9, (14.4429, 48.917, 150.041), (0.11257, 0.28710, 0.47914, 0.66405)),
    (1.2, (11.4645, 33.485, 92.026), (0.36249, 0.59980, 0.75993, 0.86726)),
]
"""A thousand adapters, from the specification: different ones in batches, hits of slots."""


@pytest.mark.parametrize(("exponent", "different", "hits"), ROWS)
def test_a_thousand_adapters(exponent: float, different: tuple[float, ...], hits: tuple[float, ...]) -> None:
    popular = zipf(1000, exponent=exponent)
    for batch, count in zip((16, 64, 256), different, strict=True):
        assert distinct_in_batch(popular, batch=batch) == pytest.approx(count, abs=6e-4)
    for slots, share in zip((8, 32, 102, 256), hits, strict=True):
        assert lru_hits(popular, slots=slots) == pytest.approx(share, abs=6e-6)


@pytest.mark.parametrize(
    ("exponent", "mean", "deviation"),
    [(0.0, 61.995, 7.63), (0.6, 58.910, 7.18), (0.9, 48.849, 6.16), (1.2, 33.428, 4.74)],
)
def test_running_at_once(exponent: float, mean: float, deviation: float) -> None:
    found = distinct_in_load(zipf(1000, exponent=exponent), running=64)
    assert found.mean == pytest.approx(mean, abs=6e-4)
    assert found.deviation == pytest.approx(deviation, abs=6e-3)


def test_draws_agree() -> None:
    rng = np.random.default_rng(5)
    shares = zipf_shares(1000, exponent=0.9)
    found = [len(set(rng.choice(1000, 64, p=shares).tolist())) for _ in range(600)]
    # a standard error of 0.12
    assert np.mean(found) == pytest.approx(distinct_in_batch(zipf(1000, exponent=0.9), batch=64), abs=0.4)


def test_tiers_are_what_two_inclusive_lrus_hit() -> None:
    weights = list(itertools.accumulate(zipf_shares(1000, exponent=0.9).tolist()))
    stream = random.Random(1).choices(range(1000), cum_weights=weights, k=60_000)
    near, far = lru.Lru(102), lru.Lru(256)
    found = [(near.touch(item), far.touch(item)) for item in stream][5_000:]
    tiers = tier_shares(zipf(1000, exponent=0.9), slots=102, host=256)
    gpu = sum(a for a, _ in found) / len(found)
    host = sum(b and not a for a, b in found) / len(found)
    # a standard error of 0.002
    assert (gpu, host) == (pytest.approx(tiers.gpu, abs=0.007), pytest.approx(tiers.host, abs=0.007))
    assert tiers.gpu + tiers.host + tiers.store == pytest.approx(1.0, abs=1e-15)


def test_all_adapters_in_memory_or_none() -> None:
    popular = zipf(1000, exponent=0.9)
    assert lru_hits(popular, slots=1000) == lru_hits(popular, slots=float("inf")) == 1
    assert lru_hits(popular, slots=0) == 0
    assert distinct_in_batch(popular, batch=0) == 0
    assert distinct_in_load(popular, running=0.0) == (0.0, 0.0)


def test_pinned_adapters_leave_the_rest() -> None:
    rest, share = without_hottest(zipf(1000, exponent=0.9), pinned=50)
    plain = np.arange(1.0, 1001.0) ** -0.9
    assert share == pytest.approx(plain[:50].sum() / plain.sum(), rel=1e-9)
    assert distinct_in_batch(rest, batch=64) == pytest.approx(
        (1 - (1 - plain[50:] / plain[50:].sum()) ** 64).sum(), rel=1e-9
    )
    everything, all_of_it = without_hottest(Popularity(np.array([0.25]), np.array([4.0])), pinned=4)
    assert (float(everything.items.sum()), all_of_it) == (0, 1)
    half, part = without_hottest(Popularity(np.array([0.25]), np.array([4.0])), pinned=3)
    assert (half.shares.tolist(), half.items.tolist(), part) == ([1.0], [1.0], 0.75)


@pytest.mark.parametrize(
    ("requests", "reads", "close"), [(1_000, 0.72, 0.02), (10_000, 0.62, 0.01), (100_000, 0.603, 0.004)]
)
def test_an_exponent_of_six_tenths_reads_high_from_few_requests(requests: int, reads: float, close: float) -> None:
    rng = np.random.default_rng(2)
    fits = [fit_zipf(rng.multinomial(requests, zipf_shares(1000, exponent=0.6))) for _ in range(12)]
    assert np.mean([fit.exponent for fit in fits if fit]) == pytest.approx(reads, abs=close)
    assert all(fit and fit.enough == (requests >= 10_000) for fit in fits)


def test_exact_counts_give_the_exponent_back() -> None:
    for exponent in (0.0, 0.6, 1.2, 2.5):
        fit = fit_zipf(1e9 * zipf_shares(500, exponent=exponent))
        assert fit is not None
        assert fit.exponent == pytest.approx(exponent, abs=1e-7)


def test_the_deviation_of_the_exponent_is_that_of_repeated_draws() -> None:
    rng = np.random.default_rng(4)
    fits = [fit_zipf(rng.multinomial(100_000, zipf_shares(1000, exponent=0.9))) for _ in range(60)]
    spread = float(np.std([fit.exponent for fit in fits if fit]))
    assert fits[0] is not None
    assert spread == pytest.approx(fits[0].deviation, rel=0.35)  # sixty draws: 10 % of standard error, and the ranks


def test_counts_that_say_nothing() -> None:
    assert fit_zipf([7]) is None
    assert fit_zipf([0, 0]) is None
    one_sided = fit_zipf([9, 0, 0], items=5)
    assert one_sided is not None
    assert one_sided.exponent == 20
    assert counted([0, 0]).shares.tolist() == [0.0]
    assert distinct_in_batch(counted([3, 3, 3, 0]), batch=1e9) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("exponent", "copies", "different", "hits", "busiest"),
    [
        (0.9, 8, 48.9, 0.479, 1.0),
        (0.9, 1, 33.1, 0.947, 1.69),
        (0.9, 2, 38.6, 0.771, 1.38),
        (0.9, 4, 44.0, 0.615, 1.20),
        (1.2, 1, 22.6, 0.983, 2.57),
    ],
)
def test_affinity_by_random_placement(
    exponent: float, copies: int, different: float, hits: float, busiest: float
) -> None:
    shares = zipf_shares(1000, exponent=exponent)
    placed = [hashed(shares, replicas=8, copies=copies, salt=salt) for salt in range(24)]
    found = np.array(
        [(distinct_per_replica(p, batch=64), lru_hits_per_replica(p, slots=102), p.imbalance) for p in placed]
    ).mean(axis=0)
    assert found[0] == pytest.approx(different, rel=0.015)
    assert found[1] == pytest.approx(hits, abs=0.003)
    # The imbalance of a placement has a deviation of 0.2 to 0.4 with one copy: a mean of 24 one of up to 0.08
    assert found[2] == pytest.approx(busiest, abs=0.16 if copies == 1 else 0.06)


@pytest.mark.parametrize(("exponent", "hits"), [(0.9, 0.946), (1.2, 0.981)])
def test_placement_by_load_is_even_and_keeps_the_hits(exponent: float, hits: float) -> None:
    placed = load_aware(zipf_shares(1000, exponent=exponent), replicas=8)
    assert placed.imbalance == pytest.approx(1.0, abs=0.005)
    assert lru_hits_per_replica(placed, slots=102) == pytest.approx(hits, abs=0.001)
    assert placed.loads.sum() == pytest.approx(1.0)


def test_copies_lie_on_different_replicas_and_carry_all_requests() -> None:
    shares = zipf_shares(5000, exponent=1.1)
    for placed, copies in (
        (hashed(shares, replicas=16, copies=3, salt=9), np.full(5000, 3)),
        (load_aware(shares, replicas=16), load_aware_copies(shares, replicas=16)),
        (everywhere(shares, replicas=16), np.full(5000, 16)),
    ):
        assert np.count_nonzero(placed.shares, axis=0).tolist() == copies.tolist()
        assert placed.shares.sum(axis=0) == pytest.approx(shares)
        assert placed.copies == copies.sum()


def test_a_hash_puts_every_pair_of_replicas_equally_often() -> None:
    placed = hashed(np.full(12_000, 1 / 12_000), replicas=4, copies=2)
    pairs = np.bincount(((placed.shares > 0) * np.array([[1], [2], [4], [8]])).sum(axis=0))
    met = pairs[[3, 5, 6, 9, 10, 12]]
    assert met.sum() == 12_000
    assert met == pytest.approx(np.full(6, 2000), abs=4 * 41)  # deviation of a binomial number of mean 2,000


def test_replicas_that_run_all_items_share_the_load() -> None:
    shares = zipf_shares(1000, exponent=0.9)
    found = running_items(everywhere(shares, replicas=8), running=8 * 64)
    assert found.means == pytest.approx(np.full(8, 48.849), abs=6e-4)
    assert found.deviations == pytest.approx(np.full(8, 6.16), abs=6e-3)
    apart = running_items(load_aware(shares, replicas=8), running=8 * 64)
    assert apart.means.mean() < found.means.mean()


def test_no_load_at_all() -> None:
    nothing = everywhere(np.zeros(3), replicas=2)
    assert nothing.imbalance == 1
    assert lru_hits_per_replica(nothing, slots=1) == 1
    assert lru_hits_per_replica(everywhere([0.5, 0.5], replicas=2), slots=0) == 0
    assert distinct_per_replica(nothing, batch=0) == distinct_per_replica(nothing, batch=9) == 0


@pytest.mark.parametrize("module", [copy_placement, distinct, placed_hits, zipf_fit])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]

"""Prefixes pinned by a hash: printed figures, and placements drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.formulas import hashing

Shares = NDArray[np.float64]


def zipf(items: int, exponent: float) -> Shares:
    weights = np.arange(1.0, items + 1) ** -exponent
    return weights / weights.sum()


def placements(shares: Shares, *, instances: int, rounds: int, seed: int = 1) -> NDArray[np.float64]:
    """Loads of the instances in means, each prefix where a perfect hash puts it."""
    draws = np.random.default_rng(seed)
    size = len(shares)
    loads = [np.bincount(draws.integers(instances, size=size), shares, instances) for _ in range(rounds)]
    return np.array(loads) * instances


def test_two_thousand_groups_on_two_hundred_instances_have_the_printed_hot_spot() -> None:
    shares = zipf(2000, 1.0)
    assert shares[0] * 200 == pytest.approx(24, abs=0.5)
    assert hashing.plain_peak(shares, instances=200) == pytest.approx(25, abs=0.5)
    hot = hashing.hot_prefixes(shares, instances=200, cap=1.25)
    assert (hot.groups, hot.copies) == (19, 79)
    assert hot.share == pytest.approx(shares[:19].sum())


LAWS = [(2000, 1.0, 200), (2000, 0.6, 200), (50, 0.0, 200), (200, 1.0, 8)]


@pytest.mark.parametrize(("items", "exponent", "instances"), LAWS)
def test_loads_spread_as_random_placements_do(items: int, exponent: float, instances: int) -> None:
    shares = zipf(items, exponent)
    loads = placements(shares, instances=instances, rounds=300)
    assert hashing.plain_cv(shares, instances=instances) == pytest.approx(np.sqrt(np.mean(loads.var(axis=1))), rel=0.02)
    # Loads of different instances are taken as independent: two per cent too few or too many at the top.
    assert hashing.plain_peak(shares, instances=instances) == pytest.approx(loads.max(axis=1).mean(), rel=0.03)


def test_copies_under_a_cap_spread_as_random_placements_of_copies_do() -> None:
    shares, instances = zipf(300, 1.0), 50
    placed = hashing.copies(shares, instances=instances, cap=1.25).astype(int)
    draws = np.random.default_rng(2)
    spreads = []
    for _ in range(200):
        loads = np.zeros(instances)
        for share, number in zip(shares, placed, strict=True):
            loads[draws.permutation(instances)[:number]] += share / number
        spreads.append(np.var(loads * instances))
    found = hashing.copied_cv(shares, instances=instances, cap=1.25)
    assert found == pytest.approx(np.sqrt(np.mean(spreads)), rel=0.03)
    assert found < 0.7 * hashing.plain_cv(shares, instances=instances)
    assert np.all(shares * instances / placed <= 1.25 + 1e-9)


@pytest.mark.parametrize("two_choices", [False, True])
def test_a_cap_by_copies_alone_still_leaves_instances_too_full(two_choices: bool) -> None:
    shares, instances = zipf(20_000, 1.0), 200
    placed = hashing.copies(shares, instances=instances, cap=1.25).astype(int)
    draws = np.random.default_rng(3)
    peaks = []
    for _ in range(3):
        loads = np.zeros(instances)
        for share in np.repeat(shares / placed, placed):
            first, second = draws.integers(instances, size=2)
            loads[second if two_choices and loads[second] < loads[first] else first] += share
        peaks.append(loads.max() * instances)
    # The docstring says 3.5 and 2.1; three placements have a standard error of a tenth.
    assert np.mean(peaks) == pytest.approx(2.1 if two_choices else 3.5, abs=0.4)


def test_classes_of_prefixes_count_like_single_ones() -> None:
    shares = np.array([0.2, 0.04])
    single = np.array([0.2] + [0.04] * 20)
    items = np.array([1.0, 20.0])
    assert hashing.plain_cv(shares, instances=9, items=items) == pytest.approx(hashing.plain_cv(single, instances=9))
    assert hashing.plain_peak(shares, instances=9, items=items) == pytest.approx(
        hashing.plain_peak(single, instances=9)
    )
    grouped = hashing.hot_prefixes(shares, instances=50, items=items)
    assert grouped == pytest.approx(hashing.hot_prefixes(single, instances=50))
    assert grouped.copies == 8 + 20 * 2


def test_one_instance_and_one_prefix_are_the_ends() -> None:
    assert hashing.plain_cv([0.5, 0.5], instances=1) == 0
    assert hashing.plain_peak([0.5, 0.5], instances=1) == 1
    assert hashing.copied_cv([1.0], instances=1) == 0
    assert hashing.copies([1.0], instances=1).tolist() == [1]
    assert hashing.hot_prefixes([0.0], instances=10) == (0, 0, 0)
    assert hashing.plain_peak([0.0], instances=10) == 1
    assert hashing.copies([1.0], instances=10, cap=0.5).tolist() == [10]
    assert hashing.plain_peak([1.0], instances=16) == pytest.approx(16)

"""Reuse laws against replays of a few lines."""

from __future__ import annotations

import doctest
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import reuse
from planner.formulas.caching import characteristic_time_s, hit_share
from planner.formulas.popularity import IndependentItems, Popularity
from tests.formulas import lru
from tests.sims import traces


def test_a_cyclic_scan_over_a_smaller_lru_hits_nothing() -> None:
    stream = [item for _ in range(5) for item in range(100)]
    assert lru.hits(stream, 99) == 0 == reuse.cyclic_scan_share(100, capacity=99)
    assert lru.hits(stream, 100) == 400
    assert reuse.cyclic_scan_share(100, capacity=100) == 1


def test_equal_turns_leave_k_of_k_and_one() -> None:
    stream = [range(turn * 3) for turn in range(1, 6)]
    cache = lru.Lru(1_000)
    found = [sum(cache.touch(block) for block in turn) for turn in stream]
    for turns_before, (hit, turn) in enumerate(zip(found, stream, strict=True)):
        assert hit / len(turn) == pytest.approx(reuse.share_of_equal_turns(float(turns_before)))
    asked = sum(len(turn) for turn in stream)
    assert sum(found) / asked == pytest.approx(reuse.share_of_equal_sessions(5.0))


@pytest.mark.parametrize(
    ("name", "lookups", "distinct", "share"),
    [
        # Published: 36.6 % and 64.0 % of the blocks were asked for before.
        ("conversation", 288_500, 182_790, 0.366),
        ("synthetic", 121_877, 43_924, 0.640),
    ],
)
def test_what_a_cache_without_limit_finds_of_a_trace(name: str, lookups: int, distinct: int, share: float) -> None:
    ids, offsets = traces.stream_of(name)
    curve = reuse.reuse_curve(ids)
    assert (curve.lookups, curve.distinct) == (lookups, distinct)
    assert curve.infinite_share == pytest.approx(share, abs=0.0005)
    # Chained hashes: whoever finds a block finds all before it.
    assert int(reuse.leading_hits(ids, offsets=offsets).sum()) == lookups - distinct


# Hits of exact LRU replay: the specification's golden rows.
REPLAYED = {
    "conversation": {
        1_000: 12_831, 2_000: 15_487, 5_000: 31_840, 10_000: 60_921,
        20_000: 82_939, 30_000: 93_967, 50_000: 102_290, 100_000: 104_924,
    },
    "synthetic": {
        1_000: 10_050, 2_000: 17_541, 5_000: 34_018, 10_000: 51_614,
        20_000: 69_649, 30_000: 76_077, 50_000: 77_953, 100_000: 77_953,
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "points"), [("conversation", 0.001), ("synthetic", 0.014)])
def test_hits_at_all_sizes_come_from_the_reuse_times(name: str, points: float) -> None:
    curve = reuse.reuse_curve(traces.stream_of(name)[0])
    sizes = np.array(list(REPLAYED[name]), dtype=float)
    replayed = np.array(list(REPLAYED[name].values())) / curve.lookups
    assert np.abs(curve.share(sizes) - replayed).max() <= points
    assert curve.hits(1e9) == curve.lookups - curve.distinct
    assert curve.kept_references(1e9) == np.inf
    assert curve.hits(0.0) == 0


def test_the_rows_are_what_a_replay_finds() -> None:
    ids, _ = traces.stream_of("conversation")
    for size in (1_000, 20_000):
        assert lru.hits(ids.tolist(), size) == REPLAYED["conversation"][size]


def test_counts_of_a_trace_are_not_for_che() -> None:
    counts = np.bincount(traces.stream_of("conversation")[0]).astype(float)
    loads = [IndependentItems(Popularity(counts / counts.sum(), np.ones_like(counts)))]
    shares = [hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=size)) for size in (2e4, 1e5)]
    # The specification: 0.219 where replay finds 0.2875, 0.673 where it finds 0.364.
    assert shares == pytest.approx([0.219, 0.673], abs=0.0005)


def test_a_trace_is_a_load_in_time_as_well() -> None:
    """An hour of near even arrivals: seconds and references tell the same, the edges of the hour aside."""
    ids, offsets = traces.stream_of("conversation")
    requests = len(offsets) - 1
    load = reuse.trace_load(ids, offsets=offsets, arrival_s=np.linspace(0.0, 3_540.0, requests))
    assert load.reusable_tokens_per_s * 3_540.0 == pytest.approx(105_710)
    assert load.final_tokens_per_s * 3_540.0 == pytest.approx(182_790)
    for size in (5_000, 20_000, 50_000):
        time_s = characteristic_time_s([load], capacity_tokens=float(size))
        replayed = REPLAYED["conversation"][size] / 105_710
        assert hit_share([load], time_s=time_s) == pytest.approx(replayed, abs=0.01)


@given(st.lists(st.integers(0, 12), max_size=60))
def test_reuse_times_are_those_found_by_looking_back(items: list[int]) -> None:
    ids = np.array(items, dtype=np.int64)
    before = [max((j for j in range(i) if items[j] == items[i]), default=-1) for i in range(len(items))]
    assert reuse.last_touch(ids).tolist() == before
    curve = reuse.reuse_curve(ids)
    times = [i - j for i, j in enumerate(before) if j >= 0]
    assert all(curve.within[t] == sum(time <= t for time in times) for t in range(len(curve.within)))
    assert curve.distinct == len(set(items))
    assert all(a <= b for a, b in pairwise(curve.share(np.arange(15.0))))


def test_an_empty_trace_hits_nothing() -> None:
    none = np.array([], dtype=np.int64)
    assert reuse.reuse_curve(none).share(10.0) == 0
    assert reuse.reuse_curve(none).infinite_share == 0
    load = reuse.trace_load(none, offsets=np.array([0]), arrival_s=np.array([]))
    assert characteristic_time_s([load], capacity_tokens=10.0) == np.inf
    at_once = reuse.trace_load(np.array([1, 1]), offsets=np.array([0, 1, 2]), arrival_s=np.array([0.0, 0.0]))
    assert at_once.reusable_tokens_per_s == 0


def test_its_examples_hold() -> None:
    assert doctest.testmod(reuse).failed == 0

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.engine import kernel
from sims.parts import reuse_distance, touch_log
from sims.systems.kv_pool import (
    EXCLUSIVE,
    INCLUSIVE,
    INCLUSIVE_MISSES,
    clairvoyant,
    dense_ids,
    miss_ratio_curve,
    replay,
    replay_tiers,
)
from tests.sims.traces import requests_of, stream_of

# Specification notes, A1: exact replays by an implementation that is not ours.
CONVERSATION = {
    1_000: 12_831,
    2_000: 15_487,
    5_000: 31_840,
    10_000: 60_921,
    20_000: 82_939,
    30_000: 93_967,
    50_000: 102_290,
    100_000: 104_924,
}
SYNTHETIC = {
    1_000: 10_050,
    2_000: 17_541,
    5_000: 34_018,
    10_000: 51_614,
    20_000: 69_649,
    30_000: 76_077,
    50_000: 77_953,
    100_000: 77_953,
}
CEILING = {
    "conversation": {
        1_000: 55_019,
        2_000: 73_563,
        5_000: 98_448,
        10_000: 105_710,
        20_000: 105_710,
        30_000: 105_710,
        50_000: 105_710,
    },
    "synthetic": {
        1_000: 33_728,
        2_000: 46_255,
        5_000: 64_139,
        10_000: 75_316,
        20_000: 77_953,
        30_000: 77_953,
        50_000: 77_953,
        100_000: 77_953,
    },
}
TIERS = {
    (2_000, 8_000): ((15_487, 45_434, 271_013), (15_487, 35_758, 237_255), (15_487, 35_769, 237_244)),
    (5_000, 15_000): ((31_840, 51_099, 251_660), (31_840, 41_800, 214_860), (31_840, 41_290, 215_370)),
    (5_000, 45_000): ((31_840, 70_450, 251_660), (31_840, 70_054, 186_606), (31_840, 70_042, 186_618)),
}
STREAMS = st.lists(st.integers(0, 40), max_size=400)


def ordered_lru(ids: Iterable[int], *, capacity: int) -> int:
    """The independent replay: Python's own ordered dictionary."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in ids:
        if block in held:
            hits += 1
            held.move_to_end(block)
            continue
        held[block] = None
        if len(held) > capacity:
            held.popitem(last=False)
    return hits


def ordered_paths(requests: Iterable[Sequence[int]], *, capacity: int) -> list[int]:
    """Leading blocks found by each request that looks all up and then touches its deepest first."""
    held: OrderedDict[int, None] = OrderedDict()
    found = []
    for path in requests:
        found.append(next((place for place, block in enumerate(path) if block not in held), len(path)))
        for block in reversed(path):
            held[block] = None
            held.move_to_end(block)
            if len(held) > capacity:
                held.popitem(last=False)
    return found


def exclusive_dicts(ids: Iterable[int], *, first: int, second: int) -> tuple[int, int, int]:
    upper: OrderedDict[int, None] = OrderedDict()
    lower: OrderedDict[int, None] = OrderedDict()
    tally = [0, 0, 0]
    for block in ids:
        if block in upper:
            tally[0] += 1
            upper.move_to_end(block)
            continue
        if block in lower:
            tally[1] += 1
            del lower[block]
        upper[block] = None
        if len(upper) > first:
            demoted, _ = upper.popitem(last=False)
            if second:
                tally[2] += 1
                lower[demoted] = None
                if len(lower) > second:
                    lower.popitem(last=False)
    return tally[0], tally[1], tally[2]


def inclusive_dicts(ids: Iterable[int], *, first: int, second: int, misses_only: bool) -> tuple[int, int, int]:
    upper: OrderedDict[int, None] = OrderedDict()
    lower: OrderedDict[int, None] = OrderedDict()
    tally = [0, 0, 0]
    for block in ids:
        in_upper = block in upper
        tally[0] += in_upper
        if not (in_upper and misses_only):
            tally[1] += not in_upper and block in lower
            tally[2] += block not in lower
        for held, room in ((upper, first), (lower, second)):
            if held is upper or not (in_upper and misses_only):
                held[block] = None
                held.move_to_end(block)
                if len(held) > room:
                    held.popitem(last=False)
    return tally[0], tally[1], tally[2]


@pytest.mark.parametrize(("name", "golden"), [("conversation", CONVERSATION), ("synthetic", SYNTHETIC)])
def test_hits_of_the_traces_are_the_published_ones_by_every_method(name: str, golden: dict[int, int]) -> None:
    ids, offsets = stream_of(name)
    curve = miss_ratio_curve(ids)
    for capacity, hits in golden.items():
        found = replay(ids, capacity_blocks=capacity, offsets=offsets)
        assert found.hits == hits
        assert curve.hits(capacity) == hits
        # Whole paths are touched, so that no block is found behind a missing one.
        assert found.prefix_hits is not None
        assert found.prefix_hits.sum() == hits
        assert ordered_lru(ids.tolist(), capacity=capacity) == hits


@pytest.mark.parametrize(("name", "share"), [("conversation", 0.366), ("synthetic", 0.640)])
def test_a_cache_without_limit_finds_the_published_share(name: str, share: float) -> None:
    ids, _ = stream_of(name)
    curve = miss_ratio_curve(ids)
    assert curve.most_hits / curve.lookups == pytest.approx(share, abs=5e-4)
    assert curve.most_hits == curve.lookups - len(set(ids.tolist()))


@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_the_ceiling_is_the_published_one(name: str) -> None:
    ids, _ = stream_of(name)
    for capacity, hits in CEILING[name].items():
        assert clairvoyant(ids, capacity_blocks=capacity) == hits


def test_touching_the_deepest_block_first_gives_the_published_hits() -> None:
    ids, offsets = stream_of("conversation")
    for capacity, hits in ((1_000, 12_847), (5_000, 32_260), (20_000, 83_035)):
        found = replay(ids, capacity_blocks=capacity, offsets=offsets, deepest_first=True)
        assert found.prefix_hits is not None
        assert (found.hits, found.prefix_hits.sum()) == (hits, hits)
        assert found.prefix_hits.tolist() == ordered_paths(requests_of("conversation"), capacity=capacity)


@pytest.mark.parametrize("sizes", TIERS)
def test_two_tiers_give_the_published_hits_and_writes(sizes: tuple[int, int]) -> None:
    ids, _ = stream_of("conversation")
    modes = (EXCLUSIVE, INCLUSIVE, INCLUSIVE_MISSES)
    for mode, golden in zip(modes, TIERS[sizes], strict=True):
        found = replay_tiers(ids, first_blocks=sizes[0], second_blocks=sizes[1], mode=mode)
        assert (found.first_hits, found.second_hits, found.second_writes) == golden


@given(ids=STREAMS, capacity=st.integers(0, 45))
def test_the_log_the_dictionary_and_the_distances_agree(ids: list[int], capacity: int) -> None:
    hits = ordered_lru(ids, capacity=capacity)
    assert replay(ids, capacity_blocks=capacity).hits == hits
    assert miss_ratio_curve(ids).hits(capacity) == hits
    assert clairvoyant(ids, capacity_blocks=capacity) >= hits


@given(
    requests=st.lists(st.lists(st.integers(0, 30), max_size=12, unique=True), max_size=60), capacity=st.integers(1, 40)
)
def test_paths_touched_from_their_end_agree_with_the_dictionary(requests: list[list[int]], capacity: int) -> None:
    ids = [block for path in requests for block in path]
    offsets = np.concatenate([[0], np.cumsum([len(path) for path in requests])])
    found = replay(ids, capacity_blocks=capacity, offsets=offsets, deepest_first=True)
    assert found.prefix_hits is not None
    assert found.prefix_hits.tolist() == ordered_paths(requests, capacity=capacity)


@given(ids=STREAMS, first=st.integers(1, 20), second=st.integers(0, 30))
def test_exclusive_tiers_are_one_stack(ids: list[int], first: int, second: int) -> None:
    found = replay_tiers(ids, first_blocks=first, second_blocks=second, mode=EXCLUSIVE)
    assert (found.first_hits, found.second_hits, found.second_writes) == exclusive_dicts(
        ids, first=first, second=second
    )
    curve = miss_ratio_curve(ids)
    assert found.first_hits == curve.hits(first)
    assert found.first_hits + found.second_hits == curve.hits(first + second)


@given(ids=STREAMS, first=st.integers(1, 20), second=st.integers(1, 30), misses_only=st.booleans())
def test_inclusive_tiers_agree_with_two_dictionaries(
    ids: list[int], first: int, second: int, misses_only: bool
) -> None:
    mode = INCLUSIVE_MISSES if misses_only else INCLUSIVE
    found = replay_tiers(ids, first_blocks=first, second_blocks=second, mode=mode)
    expected = inclusive_dicts(ids, first=first, second=second, misses_only=misses_only)
    assert (found.first_hits, found.second_hits, found.second_writes) == expected
    if not misses_only:
        assert found.first_hits + found.second_hits == miss_ratio_curve(ids).hits(max(first, second))


def test_a_cyclic_scan_over_a_smaller_cache_never_hits() -> None:
    ids = np.tile(np.arange(101), 20)
    assert replay(ids, capacity_blocks=100).hits == 0
    assert replay(ids, capacity_blocks=101).hits == 19 * 101
    curve = miss_ratio_curve(ids)
    assert (curve.hits(100), curve.hits(101)) == (0, 19 * 101)


def test_moments_are_renumbered_without_changing_a_distance() -> None:
    """A long stream over few blocks runs through the moments many times; its memory follows the blocks."""
    ids = np.random.default_rng(3).integers(0, 500, 60_000)
    room = reuse_distance.moments(500)
    assert room < len(ids) / 20
    curve = miss_ratio_curve(ids)
    for capacity in (1, 7, 100, 250, 499, 500):
        assert curve.hits(capacity) == ordered_lru(ids.tolist(), capacity=capacity)


def test_hits_are_given_by_request() -> None:
    found = replay([1, 2, 3, 1, 2, 4, 5, 2], capacity_blocks=10, offsets=[0, 3, 6, 6, 8])
    assert found.request_hits is not None
    assert found.prefix_hits is not None
    assert found.request_hits.tolist() == [0, 2, 0, 1]
    assert found.prefix_hits.tolist() == [0, 2, 0, 0]
    assert found.hit_rate == pytest.approx(3 / 8)


def test_hashes_become_numbers_in_the_order_of_their_first_use() -> None:
    assert dense_ids(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert dense_ids([2**63, 5, 2**63]).tolist() == [0, 1, 0]
    assert dense_ids([]).tolist() == []


def test_an_empty_stream_has_no_hits() -> None:
    assert replay([], capacity_blocks=5).hit_rate == 0.0
    curve = miss_ratio_curve([])
    assert (curve.lookups, curve.hits(10), curve.miss_ratio(10)) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: replay([-1, 2], capacity_blocks=3), "dense integers"),
        (lambda: replay([0, 1], capacity_blocks=3, offsets=[0, 3]), "offsets"),
        (lambda: replay([0, 1], capacity_blocks=3, deepest_first=True), "offsets"),
        (lambda: replay_tiers([0], first_blocks=1, second_blocks=1, mode="sideways"), "sideways"),
    ],
)
def test_what_cannot_be_replayed_is_refused(call, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()


def test_replay_kernels_have_one_signature_each() -> None:
    replay(np.arange(5, dtype=np.int64), capacity_blocks=np.int64(2))
    replay([0, 1], capacity_blocks=2, offsets=(0, 1, 2), deepest_first=True)
    miss_ratio_curve(np.arange(5, dtype=np.uint8))
    for mode in (EXCLUSIVE, INCLUSIVE, INCLUSIVE_MISSES):
        replay_tiers([0, 1], first_blocks=1, second_blocks=1, mode=mode)
    kernels = [touch_log.replay_lru, touch_log.replay_paths, touch_log.replay_exclusive, touch_log.replay_inclusive]
    kernels.append(reuse_distance.reuse_distances)
    assert [kernel.signatures(one) for one in kernels] == [1] * len(kernels)


def test_a_second_tier_without_room_is_not_written() -> None:
    for mode in (EXCLUSIVE, INCLUSIVE, INCLUSIVE_MISSES):
        assert replay_tiers([0, 1, 2, 0, 1, 2], first_blocks=1, second_blocks=0, mode=mode).second_writes == 0

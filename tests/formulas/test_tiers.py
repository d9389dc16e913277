"""Tiers against a replay of two caches one behind the other, and the published replay of a trace."""

from __future__ import annotations

import doctest
import random

import pytest

from planner.formulas import tiers
from tests.formulas import lru


def stream() -> list[int]:
    draw = random.Random(2)
    return [int(draw.paretovariate(0.6)) % 3_000 for _ in range(30_000)]


def exclusive_replay(items: list[int], near: int, far: int) -> tuple[int, int, int]:
    """Hits of either tier and writes to the far one when an evicted entry moves down and a hit moves up."""
    first, second = lru.Lru(near), lru.Lru(far)
    hits, far_hits, writes = 0, 0, 0
    for item in items:
        if item in first.held:
            hits += 1
        elif item in second.held:
            far_hits += 1
            del second.held[item]
        before = set(first.held) if len(first.held) == near and item not in first.held else set()
        oldest = next(iter(first.held)) if before else None
        first.touch(item)
        if oldest is not None:
            writes += 1
            second.touch(oldest)
    return hits, far_hits, writes


def test_tiers_that_move_entries_are_one_lru_cut_in_pieces() -> None:
    items, near, far = stream(), 40, 100
    hits, far_hits, writes = exclusive_replay(items[:8_000], near, far)
    reach = tiers.exclusive_reach([near, far])
    whole = [lru.hits(items[:8_000], int(capacity)) for capacity in reach]
    assert list(tiers.hits_by_tier(whole)) == [hits, far_hits]
    # The first entries fill the near tier and push nothing out.
    assert writes == tiers.exclusive_writes(8_000, hits_before=hits) - near


def test_tiers_that_keep_copies_hold_what_the_largest_does() -> None:
    items, near, far = stream(), 40, 100
    first, second = lru.Lru(near), lru.Lru(far)
    found = [(first.touch(item), second.touch(item)) for item in items]
    hits = [sum(a for a, _ in found), sum(b and not a for a, b in found)]
    whole = [lru.hits(items, int(capacity)) for capacity in tiers.inclusive_reach([near, far])]
    assert list(tiers.hits_by_tier(whole)) == hits
    assert tiers.inclusive_writes(len(items), hits_through=sum(hits)) == sum(not b for _, b in found)
    assert list(tiers.inclusive_reach([9.0, 4.0, 10.0])) == [9, 9, 10]


@pytest.mark.parametrize(
    ("near", "hits_near", "hits_far", "writes"),
    # Replay of the Mooncake conversation trace, 288,500 look-ups: the specification's table.
    [(2_000, 15_487, 45_434, 271_013), (5_000, 31_840, 51_099, 251_660), (5_000, 31_840, 70_450, 251_660)],
)
def test_moved_entries_are_written_as_published(near: int, hits_near: int, hits_far: int, writes: int) -> None:
    assert tiers.exclusive_writes(288_500, hits_before=hits_near) - near == writes
    assert hits_far + hits_near <= 105_710


@pytest.mark.parametrize(
    ("hits_near", "hits_far", "writes"),
    [(15_487, 35_758, 237_255), (31_840, 41_800, 214_860), (31_840, 70_054, 186_606), (15_487, 35_769, 237_244)],
)
def test_copies_are_written_as_published(hits_near: int, hits_far: int, writes: int) -> None:
    assert tiers.inclusive_writes(288_500, hits_through=hits_near + hits_far) == writes


def test_moving_pays_between_hbm_and_dram_only() -> None:
    assert tiers.exclusive_pays(2_000, farther=8_000)
    assert not tiers.exclusive_pays(1.5e12, farther=60e12)
    assert list(tiers.hits_by_tier([])) == []


def test_its_examples_hold() -> None:
    assert doctest.testmod(tiers).failed == 0

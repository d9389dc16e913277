"""Reuse laws against replays of a few lines."""

from __future__ import annotations

import doctest

import pytest

from planner.formulas import reuse
from tests.formulas import lru


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


def test_its_examples_hold() -> None:
    assert doctest.testmod(reuse).failed == 0

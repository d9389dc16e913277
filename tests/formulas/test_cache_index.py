"""The directory of a pool by hand."""

from __future__ import annotations

import doctest

import pytest

from planner.formulas import cache_index


def test_entries_and_lookups_of_the_reference() -> None:
    # 960 TB of blocks of 256 tokens of 160 kB; 100 prompts of 8,192 tokens a second.
    assert cache_index.index_entries(960e12, block_tokens=256, kv_bytes_per_token=160e3) == 960e12 / 40.96e6
    assert cache_index.lookups_per_s(100.0, prompt_tokens=8192, block_tokens=256) == 3_200
    assert cache_index.lookups_per_s(0.0, prompt_tokens=8192, block_tokens=256) == 0


def test_the_lost_tail_is_the_mean_of_the_rest() -> None:
    for block in (1, 16, 64, 512):
        lost = [length % block for length in range(10 * block)]
        assert sum(lost) / len(lost) == pytest.approx(cache_index.lost_tail_tokens(block))


def test_its_examples_hold() -> None:
    assert doctest.testmod(cache_index).failed == 0

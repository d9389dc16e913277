"""The directory of a pool by hand."""

from __future__ import annotations

import bisect
import doctest
import math

import pytest

from planner.formulas import cache_index


def test_entries_and_lookups_of_the_reference() -> None:
    # 960 TB of blocks of 256 tokens of 160 kB; 100 prompts of 8,192 tokens a second.
    assert cache_index.index_entries(960e12, block_tokens=256, kv_bytes_per_token=160e3) == 960e12 / 40.96e6
    assert cache_index.lookups_per_s(100.0, prompt_tokens=8192, block_tokens=256) == 3_200
    assert cache_index.lookups_per_s(0.0, prompt_tokens=8192, block_tokens=256) == 0


class Chain:
    """Blocks that are all there, and how often one was asked for."""

    def __init__(self, blocks: int) -> None:
        self.blocks, self.looked = blocks, 0

    def __len__(self) -> int:
        return self.blocks

    def __getitem__(self, index: int) -> bool:
        self.looked += 1
        return index >= self.blocks


def test_halving_finds_the_cached_prefix_in_as_many_steps() -> None:
    for blocks in (1, 2, 7, 8, 32, 100):
        chain = Chain(blocks)
        assert bisect.bisect_left(chain, True) == blocks
        found = cache_index.bisected_lookups_per_s(1.0, prompt_tokens=blocks * 64.0, block_tokens=64.0)
        assert found - 1 <= chain.looked <= found
    assert cache_index.bisected_lookups_per_s(5.0, prompt_tokens=0.0, block_tokens=64.0) == 0


def test_the_lost_tail_is_the_mean_of_the_rest() -> None:
    for block in (1, 16, 64, 512):
        lost = [length % block for length in range(10 * block)]
        assert sum(lost) / len(lost) == pytest.approx(cache_index.lost_tail_tokens(block))
    assert cache_index.lost_tail_share(8192.0, block_tokens=257) == pytest.approx(128 / 8192)
    assert cache_index.lost_tail_share(50.0, block_tokens=512) == 1
    assert cache_index.lost_tail_share(0.0, block_tokens=512) == 0
    assert math.isfinite(cache_index.lost_tail_share(1e-9, block_tokens=1))


def test_its_examples_hold() -> None:
    assert doctest.testmod(cache_index).failed == 0

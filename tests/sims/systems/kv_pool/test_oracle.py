"""Segments are blocks: hits and writes equal those of a replay block by block, to the unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.systems.kv_pool import Tier, TraceSource, miss_ratio_curve, replay, simulate
from tests.sims.systems.kv_pool.scene import (
    BLOCK,
    audited,
    block_by_block,
    cache_only,
    config,
    paths_of,
    sessions,
    totals,
    written,
)
from tests.sims.traces import stream_of

SIZES = ((30, 60, 200), (100, 300, 1000), (5, 200, 20))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("exclusive", [False, True])
def test_sessions_with_shared_prefixes_hit_as_block_by_block(sizes: tuple[int, int, int], exclusive: bool) -> None:
    source = sessions(duration_s=200.0, classes=tuple(one for one in sessions().classes if one.kept))
    holds = "dropped" if exclusive else "copies"
    tiers = [Tier(bytes_per_node=float(size * BLOCK), holds=holds) for size in sizes[1:]]
    setup = config(nodes=1, hbm_bytes_per_node=float(sizes[0] * BLOCK), dram=tiers[0], ssd=tiers[1])
    found = audited(setup, source=source, seed=4, samples=40)
    hits, writes = block_by_block(paths_of(source, seed=4, block_tokens=BLOCK), sizes=sizes, exclusive=exclusive)
    assert sum(hits) > 500
    assert totals(found) == hits
    assert written(found, block_bytes=BLOCK) == writes[1:]


def trace(ids: np.ndarray, offsets: np.ndarray, *, single: bool = False) -> TraceSource:
    count = len(offsets) - 1
    return TraceSource(
        at_s=np.arange(count, dtype=float),
        tokens=np.diff(offsets).astype(np.int64),
        ids=ids,
        offsets=offsets,
        single=single,
    )


@pytest.mark.parametrize(("blocks", "hits"), [(1_000, 12_847), (5_000, 32_260), (20_000, 83_035)])
def test_the_conversation_trace_hits_the_published_blocks(blocks: int, hits: int) -> None:
    """Specification notes, A1: deepest block touched first."""
    ids, offsets = stream_of("conversation")
    found = simulate(cache_only(blocks), source=trace(ids, offsets), samples=2)
    assert totals(found) == [hits, 0, 0]
    assert int(found.whole.reusable) == 105_710
    assert int(found.whole.lookups) == 288_500


def test_runs_of_blocks_are_few_and_make_no_difference() -> None:
    ids, offsets = stream_of("synthetic")
    whole, single = (trace(ids, offsets, single=one) for one in (False, True))
    assert single.fixed_owners == len(set(ids.tolist()))
    assert whole.fixed_owners < single.fixed_owners / 5
    found = [totals(simulate(cache_only(10_000), source=one, samples=2)) for one in (whole, single)]
    assert found[0] == found[1]


CHAINS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=40)


@settings(max_examples=60)
@given(chains=CHAINS, blocks=st.integers(1, 30))
def test_any_tree_of_prompts_hits_as_a_replay_of_its_blocks(chains: list[list[int]], blocks: int) -> None:
    """Prompts over three letters; a block's hash stands for all letters up to it."""
    names: dict[tuple[int, ...], int] = {}
    prompts = [[names.setdefault(tuple(chain[: end + 1]), len(names)) for end in range(len(chain))] for chain in chains]
    ids = np.array([block for prompt in prompts for block in prompt])
    offsets = np.concatenate([[0], np.cumsum([len(prompt) for prompt in prompts])])
    found = audited(cache_only(blocks), source=trace(ids, offsets), samples=3)
    expected = replay(ids, capacity_blocks=blocks, offsets=offsets, deepest_first=True)
    assert totals(found) == [expected.hits, 0, 0]
    assert int(found.whole.reusable) == miss_ratio_curve(ids).most_hits


def test_exclusive_tiers_are_one_stack() -> None:
    ids, offsets = stream_of("synthetic")
    source = trace(ids, offsets)
    two = cache_only(3_000, dram=Tier(bytes_per_node=7_000.0, holds="dropped"))
    both, whole = simulate(two, source=source, samples=2), simulate(cache_only(10_000), source=source, samples=2)
    assert sum(totals(both)) == totals(whole)[0]
    assert totals(both)[0] == totals(simulate(cache_only(3_000), source=source, samples=2))[0]


def test_a_cyclic_scan_over_a_smaller_pool_never_hits() -> None:
    """101 prompts of one block in turn; 60 + 40 blocks in two exclusive tiers are one too few."""
    ids = np.tile(np.arange(101), 10)
    source = trace(ids, np.arange(len(ids) + 1))
    for second, hits in ((40.0, 0), (41.0, 9 * 101)):
        setup = cache_only(60, dram=Tier(bytes_per_node=second, holds="dropped"))
        assert sum(totals(audited(setup, source=source, samples=5))) == hits


def test_a_block_named_twice_in_a_request_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        simulate(cache_only(10), source=trace(np.array([0, 1, 0]), np.array([0, 3])))

"""Segments say the same as blocks one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.systems.gateway import POLICIES, Replay, replay_blocks
from tests.sims.systems.gateway_scene import BlockCache, audited, config, replay_by_blocks, talks
from tests.sims.traces import stream_of

LOG = 100_000


@pytest.mark.parametrize("policy", POLICIES)
def test_hits_are_those_of_blocks_to_the_unit(policy: str) -> None:
    source = talks(duration_s=120.0)
    found = audited(config(policy=policy), source=source, log=LOG, samples=40)
    assert len(found.log) > 2000
    assert found.counts["hit_tokens"] > 0
    assert max(found.cached_blocks) == 120
    expected = replay_by_blocks(found, source.stems(1, block_tokens=16))
    assert found.log.hit_blocks.tolist() == expected


SETUPS = st.fixed_dictionaries(
    {
        "instances": st.integers(1, 5),
        "cache_blocks": st.sampled_from([1, 3, 17, 60, 1000]),
        "slots": st.sampled_from([1, 3, 100]),
        "block_tokens": st.sampled_from([1, 16, 64]),
        "policy": st.sampled_from(POLICIES),
        "index_period_s": st.sampled_from([0.0, 0.5]),
        "index_own": st.booleans(),
        "view_period_s": st.sampled_from([0.0, 0.3]),
        "routers": st.integers(1, 3),
        "hot_prefix_cap": st.sampled_from([0.0, 1.25]),
    }
)
TALKS = st.fixed_dictionaries(
    {
        "groups": st.sampled_from([0, 1, 4]),
        "group_tokens": st.sampled_from([1, 40, 200]),
        "grouped_share": st.sampled_from([0.0, 0.6, 1.0]),
        "one_shot_share": st.sampled_from([0.0, 0.5, 1.0]),
        "live_sessions": st.sampled_from([1, 7]),
        "turns": st.sampled_from([1.0, 3.0]),
        "most_tokens": st.sampled_from([60, 400]),
    }
)


@settings(max_examples=40, deadline=None)
@given(setup=SETUPS, talk=TALKS, seed=st.integers(0, 1000))
def test_any_stream_hits_as_its_blocks_do(setup: dict, talk: dict, seed: int) -> None:
    source = talks(requests=150, rate_per_s=15.0, **talk)
    found = audited(config(**setup), source=source, seed=seed, log=LOG, samples=15)
    assert found.counts["finished"] == 150
    stems = source.stems(seed, block_tokens=setup["block_tokens"])
    assert found.log.hit_blocks.tolist() == replay_by_blocks(found, stems)


@settings(max_examples=60, deadline=None)
@given(
    prompts=st.lists(st.lists(st.integers(0, 2), max_size=9), min_size=1, max_size=40),
    cache_blocks=st.sampled_from([1, 4, 13, 200]),
    instances=st.integers(1, 3),
)
def test_any_tree_of_prompts_is_cut_into_segments_that_hit_alike(
    prompts: list[list[int]], cache_blocks: int, instances: int
) -> None:
    """Prompts over three letters branch and end everywhere."""
    source = replayed(prompts)
    setup = config(instances=instances, cache_blocks=cache_blocks, policy="round_robin")
    found = audited(setup, source=source, log=LOG, samples=5)
    caches = {i: _Chains(cache_blocks) for i in range(instances)}
    order = sorted(range(len(found.log)), key=lambda row: row)
    for row in order:
        one = found.log[row]
        assert int(one.hit_blocks) == caches[int(one.instance)].serve(prompts[row])


def replayed(prompts: list[list[int]]) -> Replay:
    """One request a second."""
    lengths = np.array([len(prompt) for prompt in prompts])
    return replay_blocks(
        at_s=np.arange(len(prompts), dtype=float),
        tokens=16 * lengths,
        output=np.ones(len(prompts), np.int64),
        block_ids=np.array([block for prompt in prompts for block in prompt], np.int64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
    )


class _Chains:
    """The oracle for prompts given as lists."""

    def __init__(self, capacity: int) -> None:
        self.cache = BlockCache(capacity)

    def serve(self, prompt: list[int]) -> int:
        path: list[object] = [tuple(prompt[: end + 1]) for end in range(len(prompt))]
        return self.cache.serve(path, kept=path)


def conversation() -> Replay:
    """The Mooncake conversation trace, three times as fast as its hour; its lengths are of no matter here."""
    ids, offsets = stream_of("conversation")
    blocks = np.diff(offsets)
    return replay_blocks(
        at_s=np.linspace(0.0, 1200.0, len(blocks)),
        tokens=512 * blocks,
        output=np.full(len(blocks), 2),
        block_ids=ids,
        offsets=offsets,
    )


def segments(paths: Replay) -> tuple[int, float]:
    """Segments of the whole trace, and of a request on average: shared ones on its path, and a tail of its own."""
    stems, stem, blocks = paths.stem_records, paths.stem, paths.blocks
    assert stems is not None
    assert stem is not None
    assert blocks is not None
    deep = np.zeros(len(stems) + 1, np.int64)
    for index, parent in enumerate(stems.parent):
        deep[index] = 1 + (deep[parent] if parent >= 0 else 0)
    tails = blocks > np.where(stem >= 0, stems.end[stem], 0)
    return len(stems) + int(tails.sum()), float((deep[stem] + tails).mean())


def test_a_real_trace_is_compressed_and_its_blocks_are_all_there() -> None:
    """182,790 blocks in a few thousand segments, about three a request instead of 24."""
    source = conversation()
    found, each = segments(source)
    assert found == 15_787
    assert each == pytest.approx(3.11, abs=0.005)
    ids, _offsets = stream_of("conversation")
    stems = source.stem_records
    tails = source.blocks - np.where(source.stem >= 0, stems.end[source.stem], 0)
    assert int((stems.end - stems.depth).sum() + tails.sum()) == len(np.unique(ids))


@pytest.mark.parametrize(("capacity", "hits"), [(1_000, 12_847), (5_000, 32_260), (20_000, 83_035), (10**6, 105_710)])
def test_one_instance_hits_the_published_counts_of_lru(capacity: int, hits: int) -> None:
    """Block hits of the conversation trace, its deepest block touched first (roots most recent)."""
    quick = {"slots": 10**6, "prefill_s_per_token": 1e-9, "prefill_fixed_s": 1e-6}
    setup = config(instances=1, cache_blocks=capacity, block_tokens=512, **quick)
    found = audited(setup, source=conversation(), log=LOG, samples=5)
    assert found.log.hit_blocks.sum() == hits


def test_a_trace_over_many_instances_hits_as_its_blocks_do() -> None:
    source = conversation()
    setup = config(instances=16, cache_blocks=1500, block_tokens=512, slots=1000, prefill_s_per_token=1 / 40_000)
    found = audited(setup, source=source, log=LOG, samples=10)
    assert found.log.hit_blocks.tolist() == replay_by_blocks(found, source.stem_records)

"""Segments say the same as blocks one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.systems.gateway import POLICIES, Replay, replay_blocks
from tests.sims.systems.gateway_scene import audited, config, replay_by_blocks, talks

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
        from tests.sims.systems.gateway_scene import BlockCache

        self.cache = BlockCache(capacity)

    def serve(self, prompt: list[int]) -> int:
        path: list[object] = [tuple(prompt[: end + 1]) for end in range(len(prompt))]
        return self.cache.serve(path, kept=path)

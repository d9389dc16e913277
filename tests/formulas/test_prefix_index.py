"""The router's index: the reference figures, steady states followed step by step, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.formulas import prefix_index


def test_the_reference_figures_are_exact() -> None:
    blocks = prefix_index.blocks_per_request(4096, block_tokens=64)
    nodes = prefix_index.index_nodes(200, cached_tokens=2_000_000, block_tokens=64)
    assert blocks == 64
    assert prefix_index.lookups_probing_per_s(5000, blocks=blocks, instances=200) == 64_000_000
    assert prefix_index.lookups_tree_per_s(5000, blocks=blocks) == 320_000
    assert nodes == 6_250_000
    assert prefix_index.index_bytes(nodes) == 400_000_000
    assert round(prefix_index.index_bytes(nodes) / 2**20, 1) == 381.5


def test_a_fleet_sends_each_router_hundreds_of_thousands_of_events() -> None:
    figures = {"hit_share": 0.5, "prompt_tokens": 4096, "output_tokens": 400, "block_tokens": 64}
    assert prefix_index.events_per_s(25, **figures) == 1912.5
    assert prefix_index.events_per_s(5000, **figures) == 382_500


def test_a_full_cache_tells_of_as_many_evictions_as_stores() -> None:
    capacity, held, stored, evicted = 500, 0, 0, 0
    for _ in range(2_000):  # requests of 10 new blocks each, in a cache that has been full for long
        stored += 10
        held += 10
        evicted += max(0, held - capacity)
        held = min(held, capacity)
    expected = prefix_index.events_per_s(2_000, hit_share=0.5, prompt_tokens=1024, output_tokens=128, block_tokens=64)
    assert stored + evicted == pytest.approx(expected, rel=capacity / stored + 1e-9)


@pytest.mark.parametrize(("prompt", "blocks"), [(0, 0), (63, 0), (64, 1), (127, 1), (128, 2)])
def test_a_tail_shorter_than_a_block_is_not_hashed(prompt: int, blocks: int) -> None:
    assert prefix_index.blocks_per_request(prompt, block_tokens=64) == blocks


def test_hits_get_lost_as_a_view_ages() -> None:
    draws = np.random.default_rng(1)
    retention_s, lag_s = 20.0, 3.0
    age_s = draws.uniform(0, retention_s, 200_000)
    lost = np.mean(age_s + lag_s > retention_s)
    assert prefix_index.stale_share(lag_s, retention_s=retention_s) == pytest.approx(lost, abs=0.003)


def test_delivered_hits_are_a_product_with_sensible_ends() -> None:
    assert prefix_index.delivered_share(0.8, captured=0.75) == pytest.approx(0.6)
    assert prefix_index.delivered_share(0.8, captured=0.75, lag_s=5.0, retention_s=10.0) == pytest.approx(0.3)
    assert prefix_index.delivered_share(0.8, captured=1.0, lag_s=11.0, retention_s=10.0) == 0.0
    assert prefix_index.stale_share(0.0, retention_s=0.0) == 0.0
    assert prefix_index.stale_share(1.0, retention_s=0.0) == 1.0
    assert prefix_index.stale_share(1.0, retention_s=math.inf) == 0.0


def test_a_new_hot_prefix_is_computed_on_every_instance_that_is_reached_in_time() -> None:
    draws = np.random.default_rng(2)
    instances, expected = 20, 30.0
    others = [len(set(draws.integers(instances, size=draws.poisson(expected))) - {0}) for _ in range(4_000)]
    found = prefix_index.duplicate_prefills(60.0, lag_s=0.5, instances=instances)
    assert found == pytest.approx(np.mean(others), rel=0.01)
    assert prefix_index.duplicate_prefills(60.0, lag_s=0.0) == 0
    assert prefix_index.duplicate_prefills(60.0, lag_s=1.0, instances=1) == 0
    assert prefix_index.duplicate_prefills(1.0, lag_s=0.01, instances=1e6) == pytest.approx(0.01, rel=1e-5)

"""Gain of affinity against the time of an instance counted token by token, and the four ways to tie."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from planner.formulas import affinity, caching, popularity


@pytest.mark.parametrize(("affine", "at_random"), [(0.8342, 0.2246), (0.9, 0.9), (0.5, 0.0), (1.0, 0.2)])
@pytest.mark.parametrize(("reusable", "decode_s"), [(0.9, 0.05), (0.5, 1.0), (1.0, 0.0)])
def test_the_gain_is_the_ratio_of_times_on_the_instance(
    affine: float, at_random: float, reusable: float, decode_s: float
) -> None:
    token_s, prompt_tokens = 1e-4, 4096
    spread_s = prompt_tokens * (1 - reusable * at_random) * token_s
    pinned_s = prompt_tokens * (1 - reusable * affine) * token_s
    found = affinity.affinity_gain(
        affine, random_hits=at_random, reusable=reusable, prefill_share=spread_s / (spread_s + decode_s)
    )
    if pinned_s + decode_s > 0:
        assert found == pytest.approx((spread_s + decode_s) / (pinned_s + decode_s))


BASE = {"random_hits": 0.2, "reusable": 0.8, "prefill_share": 0.5, "load": 0.8}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"load": 0.29}, "load"),
        ({"prefill_share": 0.03}, "prefill"),
        ({"reusable": 0.03}, "reuse"),
        ({"random_hits": 0.78}, "cache"),
        ({"reusable": 0.15, "prefill_share": 0.15, "random_hits": 0.1}, "gain"),
        ({"random_hits": 0.9}, "cache"),
    ],
)
def test_a_tie_names_what_makes_it_one(change: dict[str, float], reason: str) -> None:
    figures = BASE | change
    assert affinity.tie_reason(0.8, **figures) == reason
    load = figures.pop("load")
    gain = affinity.affinity_gain(0.8, **figures)
    assert (reason == "") == (gain >= 1.03 and load >= 0.3)


def test_a_prompt_that_is_all_cached_gains_nothing_more() -> None:
    assert affinity.affinity_gain(1.0, random_hits=1.0, reusable=1.0, prefill_share=0.5) == 1
    assert affinity.affinity_gain(0.5, random_hits=0.5, reusable=0.5, prefill_share=0.0) == 1


GROUPS, INSTANCES, HELD = 20_000, 200, 30


def hits_by_replay(*, pinned: bool, requests: int, seed: int) -> float:
    """Hit share of LRU caches on all instances, requests to the home of their group or anywhere."""
    draws = np.random.default_rng(seed)
    weights = 1 / np.arange(1.0, GROUPS + 1)
    wanted = draws.choice(GROUPS, size=requests, p=weights / weights.sum())
    home = draws.permutation(GROUPS) % INSTANCES  # as many groups on each
    places = home[wanted] if pinned else draws.integers(INSTANCES, size=requests)
    caches: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(INSTANCES)]
    hits = 0
    for step, (place, group) in enumerate(zip(places.tolist(), wanted.tolist(), strict=True)):
        cache = caches[place]
        hits += (group in cache) * (step >= requests // 2)
        cache[group] = None
        cache.move_to_end(group)
        if len(cache) > HELD:
            cache.popitem(last=False)
    return hits / (requests - requests // 2)


@pytest.mark.parametrize(("pinned", "printed", "replayed"), [(True, 0.8364, 0.8342), (False, 0.2251, 0.2246)])
def test_affinity_makes_one_cache_of_all_and_random_leaves_each_alone(
    pinned: bool, printed: float, replayed: float
) -> None:
    loads = [popularity.IndependentItems(popularity.zipf(GROUPS, exponent=1.0))]
    time = caching.characteristic_time_s(loads, capacity_tokens=HELD * (INSTANCES if pinned else 1))
    found = caching.hit_share(loads, time_s=time)
    assert found == pytest.approx(printed, abs=5e-5)
    here = hits_by_replay(pinned=pinned, requests=200_000, seed=1)
    assert found == pytest.approx(here, abs=0.006)
    assert replayed == pytest.approx(here, abs=0.006)

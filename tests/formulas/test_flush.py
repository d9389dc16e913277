"""Refilling after a flush against figures of the specification and a flushed LRU."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from scipy import integrate

from planner.formulas import flush
from planner.formulas.caching import Sessions, characteristic_time_s, hit_share
from planner.formulas.gaps import Exponential, LogNormal
from tests.formulas import lru

KEPT_S = 143.62421


def test_hits_come_back_as_published() -> None:
    law = Exponential(300.0)

    def window(start_s: float, end_s: float) -> float:
        return integrate.quad(lambda t: flush.hit_after_flush(t, gaps=law, kept_s=KEPT_S), start_s, end_s)[0] / (
            end_s - start_s
        )

    # Exponential 300 s, T = 143.6: mean hits of 15-30 s, 60-120 s and for ever after.
    assert window(15.0, 30.0) == pytest.approx(0.0722, abs=5e-5)
    assert window(60.0, 120.0) == pytest.approx(0.2579, abs=5e-5)
    assert flush.hit_after_flush(1e6, gaps=law, kept_s=KEPT_S) == pytest.approx(0.3804, abs=5e-5)
    assert flush.hit_after_flush(0.0, gaps=law, kept_s=KEPT_S) == 0
    assert flush.hit_after_flush(np.array([-5.0, 1e9]), gaps=law, kept_s=math.inf) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("law", [Exponential(300.0), LogNormal(120.0, 1.5)])
def test_the_extra_prefill_is_the_area_above_the_returning_hits(law: Exponential | LogNormal) -> None:
    warm = law.cdf(KEPT_S)
    area_s, _ = integrate.quad(lambda t: warm - flush.hit_after_flush(t, gaps=law, kept_s=KEPT_S), 0.0, KEPT_S)
    assert flush.extra_prefill_tokens(1_000.0, gaps=law, kept_s=KEPT_S) == pytest.approx(1_000.0 * area_s)
    assert flush.extra_prefill_tokens(1.0, gaps=law, kept_s=math.inf) == pytest.approx(law.mean_s)
    assert flush.extra_prefill_tokens(1.0, gaps=law, kept_s=0.0) == 0


def test_an_emptied_lru_comes_back_as_the_law_says() -> None:
    """Twelve flushes of a cache 40 s deep, hits by age of the flush."""
    law, capacity, every_s = Exponential(60.0), 2_400, 300.0
    load = Sessions.of_turns(law, sessions_per_s=4.0, turns=5, first_tokens=2.0, tokens_per_turn=1.0)
    kept_s = characteristic_time_s([load], capacity_tokens=float(capacity))
    cache, flushed = lru.Lru(capacity), 0
    found, asked = np.zeros(5), np.zeros(5)
    for turn in lru.sessions(
        starts_per_s=4.0,
        until_s=600.0 + 12 * every_s,
        goes_on=lambda _, k: k < 4,
        gap_s=lambda d: d.expovariate(1 / 60.0),
        blocks=lambda k: 2 + k,
        seed=3,
    ):
        if turn.time_s >= 600.0 + flushed * every_s:
            cache, flushed = lru.Lru(capacity), flushed + 1
        hit = lru.touch_context(cache, turn)
        if flushed:
            window = min(int((turn.time_s - 600.0) % every_s / 10.0), 4)
            found[window] += hit
            asked[window] += turn.reusable
    middles_s = np.array([5.0, 15.0, 25.0, 35.0, 1e9])
    # 5,000 to 20,000 reused blocks a window, in contexts of four.
    assert found / asked == pytest.approx(flush.hit_after_flush(middles_s, gaps=law, kept_s=kept_s), abs=0.025)


def test_steps_add_up_to_a_flush() -> None:
    law = Exponential(300.0)
    steps = [(0.0, 0.3), (100.0, 0.7)]
    times_s = np.array([-1.0, 0.0, 50.0, 100.0, 150.0, 5_000.0])
    found = flush.hit_in_steps(times_s, steps=steps, gaps=law, kept_s=KEPT_S)
    warm = law.cdf(KEPT_S)
    by_hand = [
        warm,
        0.7 * warm,
        0.7 * warm + 0.3 * law.cdf(50.0),
        0.3 * law.cdf(100.0),
        0.3 * warm + 0.7 * law.cdf(50.0),
        warm,
    ]
    assert list(found) == pytest.approx(by_hand)
    once = flush.hit_in_steps(times_s[1:], steps=[(0.0, 1.0)], gaps=law, kept_s=KEPT_S)
    assert list(once) == pytest.approx(list(flush.hit_after_flush(times_s[1:], gaps=law, kept_s=KEPT_S)))


def test_the_surge_and_the_step_that_is_safe() -> None:
    # u = 0.833, F = 0.92: a surge of 4.3, at 70 % load steps of 13 %.
    hits = 0.833 * 0.92
    assert flush.prefill_surge(hits) == pytest.approx(4.3, abs=0.05)
    step = flush.largest_safe_step(0.7, hit_share=hits)
    assert step == pytest.approx(0.13, abs=0.005)
    assert 0.7 * ((1 - step) + step * flush.prefill_surge(hits)) == pytest.approx(1.0)
    assert flush.largest_safe_step(1.0, hit_share=hits) == 0
    assert flush.largest_safe_step(0.2, hit_share=hits) == 1
    assert flush.largest_safe_step(0.7, hit_share=0.0) == 1
    assert flush.largest_safe_step(0.0, hit_share=hits) == 1
    assert flush.prefill_surge(1.0) == math.inf
    assert list(flush.prefill_surge(np.array([0.0, 0.5, 1.0]))) == [1, 2, math.inf]


def test_a_step_is_warm_when_entries_age_out_or_most_have_come_back() -> None:
    law = Exponential(300.0)
    assert flush.warm_after_s(law, kept_s=math.inf) == pytest.approx(300.0 * math.log(20))
    assert flush.warm_after_s(law, kept_s=100.0) == 100


def test_a_quota_by_traffic_keeps_the_time_of_both_versions() -> None:
    def load(share: float) -> Sessions:
        return Sessions.geometric(LogNormal(120.0, 1.5), turns_per_s=share * 50.0, follow_share=0.8, context_tokens=8e3)

    whole_s = characteristic_time_s([load(1.0)], capacity_tokens=1e8)
    for share in (0.1, 0.5, 0.9):
        assert characteristic_time_s([load(share)], capacity_tokens=share * 1e8) == pytest.approx(whole_s)


def test_versions_by_request_halve_the_hits_at_even_weights() -> None:
    assert list(flush.kept_by_request_weights(np.array([0.0, 0.1, 0.5, 1.0]))) == pytest.approx([1, 0.82, 0.5, 1])


def test_a_lost_node_takes_its_share() -> None:
    load = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
    left = flush.capacity_without_nodes(1e7, nodes=16)
    assert left == pytest.approx(1e7 * 15 / 16)
    before, after = (hit_share([load], time_s=characteristic_time_s([load], capacity_tokens=c)) for c in (1e7, left))
    assert 0 < before - after < before / 16
    assert flush.capacity_without_nodes(1e7, nodes=2, lost=3) == 0
    assert flush.capacity_without_nodes(0.0, nodes=0) == 0


def test_hot_prefixes_are_copied_at_seven_tenths_of_a_nic() -> None:
    assert flush.copies_of_hot_prefix(0.0, prefix_bytes=1e9, nic_bytes_per_s=45e9) == 1
    assert flush.copies_of_hot_prefix(31.0, prefix_bytes=1e9, nic_bytes_per_s=45e9) == 1
    assert flush.copies_of_hot_prefix(32.0, prefix_bytes=1e9, nic_bytes_per_s=45e9) == 2


def test_its_examples_hold() -> None:
    assert doctest.testmod(flush).failed == 0

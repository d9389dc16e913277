"""Canaries and overload: who is served by which version, and who is turned away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sims.engine.sketch import edges, percentile
from sims.systems.gateway import CanaryStep, simulate
from tests.sims.systems.gateway_scene import audited, config, plain, poisson_times, talks


def test_a_canary_gets_its_share_and_its_own_times() -> None:
    setup = config(instances=10, cache_blocks=2000, slots=100, canary_factor=2.0, policy="least_requests")
    source = talks(rate_per_s=20.0, duration_s=2000.0)
    steps = [CanaryStep(0.0, weight=0.2, instances=3)]
    found = audited(setup, source=source, canary=steps, samples=20, warmup_s=100.0)
    first, second = found.histograms["ttft_by_version"]
    assert second.sum() / (first.sum() + second.sum()) == pytest.approx(0.2, abs=0.02)
    slow = [percentile(histogram, q=0.5) for histogram in (first, second)]
    assert slow[1] == pytest.approx(2 * slow[0], rel=0.35)


def test_versions_by_request_lose_the_cache_of_the_last_turn() -> None:
    """With weights of one half, half of the turns find their history with the other version."""
    setup = config(instances=10, cache_blocks=20_000, slots=100, prefill_s_per_token=1e-6)
    source = talks(rate_per_s=40.0, duration_s=600.0, live_sessions=80, turns=3.0, groups=0, one_shot_share=0.0)
    steps = [CanaryStep(0.0, weight=0.5, instances=5)]
    by_session, by_request = (
        simulate(replace(setup, canary_by_session=which), source=source, canary=steps, warmup_s=60.0).hit_rate
        for which in (True, False)
    )
    assert by_session is not None
    assert by_request is not None
    assert by_request.value < 0.85 * by_session.value


def test_the_important_overtake_as_cobham_says() -> None:
    """W₁ = W₀/(1 − ρ₁), W₂ = W₀/((1 − ρ₁)(1 − ρ)), non-preemptive; W₀ = ρ for exponential services of mean 1."""
    count, rho, important = 400_000, 0.8, 0.375
    lengths = np.maximum(1, np.rint(np.random.default_rng(3).exponential(10_000, count)))
    source = replace(plain(poisson_times(rho, count, seed=5), lengths), important_share=important)
    setup = config(instances=1, prefill_s_per_token=1e-4, prefill_fixed_s=0.0, slots=10**6, priority_queues=True)
    found = simulate(setup, source=source, warmup_s=1000.0, samples=5)
    middles = (edges()[:-1] + edges()[1:]) / 2
    low, high = (float((h * middles).sum() / h.sum()) - 1.0 for h in found.histograms["ttft_by_priority"])
    first = rho * important
    assert high == pytest.approx(rho / (1 - first), rel=0.05)
    assert low == pytest.approx(rho / ((1 - first) * (1 - rho)), rel=0.08)


def test_low_priority_is_shed_first() -> None:
    setup = config(queue_limit=20, low_priority_limit=3, slots=1000)
    found = audited(setup, source=talks(rate_per_s=300.0, important_share=0.3), samples=20)
    low, high = (int(h.sum()) for h in found.histograms["ttft_by_priority"])
    assert found.counts["rejected"] > 1000
    assert high > 0.99 * 0.3 * found.counts["arrived"] - 50
    assert low < 0.8 * 0.7 * found.counts["arrived"]


def test_early_rejection_keeps_those_admitted_in_time() -> None:
    """Past saturation an open queue makes all late; admission by predicted TTFT keeps goodput near capacity."""
    base = config(slots=1000, cache_blocks=2000, ttft_slo_s=0.5, policy="cost_based")
    source = talks(rate_per_s=800.0, duration_s=60.0)
    open_, expired, early = (
        audited(replace(base, **change), source=source, warmup_s=20.0, samples=10)
        for change in ({}, {"drop_expired": True}, {"admit_within_s": 0.45})
    )
    assert open_.goodput_per_s < 0.1 * early.goodput_per_s
    assert early.batches.good.sum() > 0.98 * early.batches.ttft_n.sum()
    assert expired.counts["expired"] > 0
    assert expired.goodput_per_s > 2 * open_.goodput_per_s


def test_prefill_is_eased_until_the_moment_that_is_set() -> None:
    """A tenth of its time for half of the run, all of it afterwards; hits are the same in a fleet that keeps up."""
    setup = config(instances=10, cache_blocks=2000, slots=100, policy="random")
    source = talks(rate_per_s=20.0, duration_s=400.0)
    plain_run = simulate(setup, source=source, warmup_s=200.0)
    eased = audited(replace(setup, eased_until_s=200.0, easing=0.1), source=source, warmup_s=200.0)
    assert eased.hit_rate == plain_run.hit_rate
    assert eased.quantile("ttft", q=0.5).value == pytest.approx(plain_run.quantile("ttft", q=0.5).value, rel=0.02)
    slow, quick = (
        simulate(replace(setup, eased_until_s=1e9, easing=easing), source=source, warmup_s=200.0).mean_ttft_s.value
        for easing in (1.0, 0.1)
    )
    assert quick < 0.2 * slow

"""What a gateway loses when an instance fails, and how detection, retries and resuming change it."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.sketch import edges, percentile
from sims.systems.gateway import (
    POLICIES,
    CanaryStep,
    Config,
    Conversations,
    Failure,
    Health,
    compare,
    simulate,
)
from tests.sims.systems.gateway_scene import audited, config, plain, poisson_times, talks

# 5,000 requests/s on 200 instances; an idle prefill and short answers, so that only routing and detection matter.
REFERENCE = Config(
    instances=200,
    prefill_s_per_token=1e-8,
    prefill_fixed_s=1e-5,
    token_s=1e-4,
    slots=512,
    cache_blocks=100,
    policy="random",
    health=Health(probe_phase=0.0),
)


def fleet(**changes: Any) -> Config:
    health = {name: changes.pop(name) for name in list(changes) if name in Health.__dataclass_fields__}
    return replace(REFERENCE, health=replace(REFERENCE.health, **health), **changes)


def load(duration_s: float, *, rate_per_s: float = 5000.0, output: float = 5.0) -> Conversations:
    return Conversations(
        rate_per_s,
        duration_s=duration_s,
        groups=0,
        live_sessions=0,
        one_shot_share=1.0,
        first_tokens=100.0,
        output_tokens=output,
        output_sigma=0.0,
    )


def lost(setup: Config, *, runs: int, at_s: float, hangs: bool = False, duration_s: float = 6.0) -> list[int]:
    """Requests that went to the dead instance, run by run."""
    failures = [Failure(0, at_s=at_s, hangs=hangs)]
    found = [
        simulate(setup, source=load(duration_s), failures=failures, seed=seed, samples=1) for seed in range(1, runs + 1)
    ]
    return [one.counts["timed_out" if hangs else "refused"] for one in found]


def near(values: list[int], expected: float, *, within: float) -> bool:
    """The mean lies within its 99 % interval, and that is narrow."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert error < within
    return abs(statistics.fmean(values) - expected) <= 2.58 * error


def test_75_requests_are_lost_when_the_failure_just_misses_a_probe() -> None:
    """5,000/200 requests/s for three probe intervals: the reference figure is the maximum, with instant refusal."""
    assert near(lost(fleet(), runs=40, at_s=1.0001), 75.0, within=2.0)


def test_62_are_lost_when_the_failure_falls_anywhere_between_probes() -> None:
    assert near(lost(fleet(probe_phase=None), runs=100, at_s=1.3), 62.5, within=1.5)


def test_a_silent_instance_costs_the_probes_timeout_too() -> None:
    """k probes and a timeout: 4 s of 25 requests/s."""
    assert near(lost(fleet(timeout_s=1.0), runs=30, at_s=1.0001, hangs=True, duration_s=8.0), 100.0, within=2.5)


def test_passive_detection_cuts_it_to_a_few_hundred_milliseconds() -> None:
    """Five failures in a row at 25 requests/s take 0.2 s on average (Erlang), and cost five requests."""
    setup = fleet(passive_failures=5, open_s=100.0)
    taken = []
    for seed in range(1, 31):
        found = simulate(setup, source=load(3.0), failures=[Failure(0, at_s=1.0)], seed=seed, samples=1)
        assert found.counts["refused"] == 5
        assert found.counts["lost"] <= 6
        taken.append(found.verdicts[0].at_s - 1.0)
    assert statistics.fmean(taken) == pytest.approx(0.2, abs=2.58 * 0.2 / math.sqrt(5 * 30))


@pytest.mark.parametrize(("routers", "failures", "last_s"), [(8, 1, 0.870), (8, 5, 2.74)])
def test_private_verdicts_cost_as_much_for_each_router(routers: int, failures: int, last_s: float) -> None:
    setup = fleet(routers=routers, passive_failures=failures, open_s=100.0, shared_verdicts=False, probe_interval_s=0.0)
    taken = []
    for seed in range(1, 25):
        found = simulate(setup, source=load(9.0), failures=[Failure(0, at_s=1.0)], seed=seed, samples=1)
        assert found.counts["refused"] == routers * failures
        opened = [verdict.at_s for verdict in found.verdicts]
        assert len(opened) == routers
        taken.append(max(opened) - 1.0)
    error = statistics.stdev(taken) / math.sqrt(len(taken))
    assert abs(statistics.fmean(taken) - last_s) < 2.58 * error + 0.02


def test_a_refusing_instance_draws_all_requests_of_those_who_look_for_the_idle() -> None:
    """It never has anything in its queue: until it is out it takes far more than its share."""
    found = compare(
        fleet(token_s=0.01),
        policies=("random", "round_robin", "least_requests"),
        source=load(6.0, output=50.0),
        failures=[Failure(0, at_s=1.0001)],
    )
    refused = {policy: outcome.counts["refused"] for policy, outcome in found.items()}
    assert refused["round_robin"] == pytest.approx(75, abs=2)
    assert refused["least_requests"] > 50 * refused["random"]


def test_a_silent_one_does_not() -> None:
    """Its requests pile up unanswered, so it looks busy."""
    setup = fleet(policy="least_requests", timeout_s=20.0)
    found = simulate(setup, source=load(6.0, output=400.0), failures=[Failure(0, at_s=1.0001, hangs=True)])
    assert found.timeline.loads[-1, 0] < 100


def test_retries_save_what_was_refused_and_none_without_a_budget() -> None:
    failures = [Failure(0, at_s=1.0001)]
    saved = simulate(fleet(retries=1), source=load(6.0), failures=failures)
    assert saved.counts["refused"] > 40
    assert saved.counts["retried"] == saved.counts["refused"]
    assert saved.counts["lost"] == 0
    broke = simulate(fleet(retries=1, retry_budget=0.0), source=load(6.0), failures=failures)
    assert broke.counts["retried"] == 0
    assert broke.counts["lost"] >= broke.counts["refused"]


def test_half_the_fleet_dead_and_three_retries_make_1_875_attempts() -> None:
    """Σ pʲ for j = 0 … 3 with p = ½; a budget of 20 % holds it at 1.2."""
    dead = [Failure(i, at_s=0.001) for i in range(100)]
    setup = fleet(probe_interval_s=0.0, retries=3, retry_budget=10.0)
    found = simulate(setup, source=load(8.0), failures=dead)
    assert 1 + found.counts["retried"] / found.counts["arrived"] == pytest.approx(1.875, rel=0.01)
    held = simulate(replace(setup, retry_budget=0.2), source=load(8.0), failures=dead)
    assert held.counts["retried"] <= 0.2 * held.counts["arrived"] + 100
    assert held.counts["retried"] > 0.19 * held.counts["arrived"]


def streaming(**changes: Any) -> tuple[Config, Conversations]:
    """Answers of 400 tokens with a squared coefficient of variation of 1, 30 ms each: 12 s."""
    setup = fleet(token_s=0.03, probe_interval_s=0.25, prefill_s_per_token=1e-6, **changes)
    return setup, replace(load(80.0, rate_per_s=500.0, output=400.0), output_sigma=math.sqrt(math.log(2)))


LOSSES = [Failure(i, at_s=60.0) for i in range(0, 200, 10)]


def test_streams_that_break_are_older_than_half_an_answer() -> None:
    """Their age is length-biased: E[O²]/(2·E[O]), 400 tokens here and not 200; rate × time of them run."""
    setup, source = streaming(most_ejected_share=1.0)
    found = simulate(setup, source=source, failures=LOSSES)
    streams = found.counts["broken_streams"]
    expected = 20 * 500 / 200 * 12.0
    assert streams == pytest.approx(expected, abs=3 * math.sqrt(expected))
    # The mean age of 600 streams with a standard deviation of about its mean, or more.
    assert found.counts["broken_tokens"] / streams == pytest.approx(400, rel=0.2)
    assert found.counts["cut"] == streams


def test_the_gateway_resumes_streams_and_the_client_sees_a_pause() -> None:
    setup, source = streaming(most_ejected_share=1.0, resume=True, retries=3)
    found = audited(setup, source=source, failures=LOSSES, samples=20)
    assert found.counts["cut"] == found.counts["lost"] == 0
    assert found.counts["resumed"] >= found.counts["broken_streams"] > 400
    # All of prompt and answer so far is computed again: these prompts are cached nowhere else.
    each = found.counts["resumed_tokens"] / found.counts["resumed"]
    assert each > found.counts["broken_tokens"] / found.counts["broken_streams"]
    pause = percentile(found.pooled("gaps"), q=0.5)
    assert pause is not None
    assert pause < 0.05


def test_probes_that_fail_by_chance_eject_the_healthy() -> None:
    """A run of k failures comes every (1 − pᵏ)/((1 − p)·pᵏ) probes: 1,110 for p = 0.1, k = 3."""
    setup = fleet(probe_false_rate=0.1, most_ejected_share=1.0)
    out = []
    for seed in range(1, 6):
        found = simulate(setup, source=load(400.0, rate_per_s=1.0), samples=1, seed=seed)
        out += [verdict for verdict in found.verdicts if verdict.what == "probe_out"]
    assert all(verdict.up for verdict in out)
    expected = 5 * 200 * 400 / (1110 + 1 / 0.9)
    assert len(out) == pytest.approx(expected, abs=3 * math.sqrt(expected))


def test_busy_is_taken_for_dead_and_the_cap_holds_it() -> None:
    """More work than the fleet can do: without the cap one ejection brings the next."""
    short = Health(probe_interval_s=0.5, probe_busy_s=0.2, probe_timeout_s=0.1)
    setup = config(instances=20, policy="least_requests", slots=1000, prefill_s_per_token=4e-4, health=short)
    source = talks(rate_per_s=1000.0, duration_s=30.0, most_tokens=400)
    held = audited(setup, source=source, samples=30)
    assert 0 < max(held.timeline.out) <= 2
    free = audited(replace(setup, health=replace(short, most_ejected_share=1.0)), source=source, samples=30)
    assert max(free.timeline.out) > 10
    assert free.counts["rejected"] > held.counts["rejected"]


@pytest.mark.parametrize("trials", [0, 1])
def test_without_half_open_trials_an_instance_is_out_for_ever(trials: int) -> None:
    setup = fleet(probe_interval_s=0.0, passive_failures=3, open_s=2.0, half_open_trials=trials)
    found = simulate(setup, source=load(20.0, rate_per_s=2000.0), failures=[Failure(0, at_s=1.0, rejoin_s=3.0)])
    served = found.timeline.served[:, 0]
    assert found.timeline.out[len(found.timeline.out) // 10] == 1
    if trials == 0:
        assert found.timeline.out[-1] == 1
        assert served[-1] == served[len(served) // 4]
    else:
        assert found.timeline.out[-1] == 0
        assert served[-1] > 1.5 * served[len(served) // 2]
        assert [verdict.what for verdict in found.verdicts][:3] == ["breaker_open", "breaker_half_open", "breaker_open"]
        assert found.verdicts[-1].what == "breaker_closed"


def test_a_loss_leaves_the_others_with_cold_caches_for_a_while() -> None:
    """Sessions of a lost instance find nothing elsewhere: hits fall at once and come back with the turns."""
    health = Health(probe_interval_s=0.2, most_ejected_share=1.0)
    setup = config(
        instances=10, cache_blocks=40_000, slots=400, prefill_s_per_token=2e-5, load_bound=2.0, retries=2, health=health
    )
    source = talks(rate_per_s=100.0, duration_s=300.0, live_sessions=1000, turns=8.0, first_tokens=400.0)
    failures = [Failure(i, at_s=200.001) for i in (0, 1, 2)]
    whole, lossy = (simulate(setup, source=source, failures=which, samples=60) for which in ((), failures))
    hits = lossy.timeline.hit_rate() - whole.timeline.hit_rate()
    assert hits[:40] == pytest.approx(0.0)
    assert hits[40:42].mean() < -0.1
    assert hits[50:].mean() > 0.6 * hits[40:42].mean()


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


def test_nobody_open_is_an_answer_too() -> None:
    setup = config(instances=1, health=Health(passive_failures=1, open_s=1000.0))
    found = audited(setup, source=talks(duration_s=20.0), failures=[Failure(0, at_s=5.0)], samples=10)
    assert found.counts["unroutable"] > 100
    assert found.counts["rejected"] == found.counts["unroutable"]


BOOLEAN = st.booleans()
TROUBLES = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(POLICIES),
        "routers": st.integers(1, 3),
        "retries": st.integers(0, 2),
        "retry_budget": st.sampled_from([0.0, 1.0]),
        "resume": BOOLEAN,
        "timeout_s": st.sampled_from([0.05, 2.0]),
        "queue_limit": st.sampled_from([2, 1000]),
        "drop_expired": BOOLEAN,
        "ttft_slo_s": st.sampled_from([0.05, 10.0]),
        "priority_queues": BOOLEAN,
        "index_period_s": st.sampled_from([0.0, 0.3]),
        "index_own": BOOLEAN,
        "slots": st.sampled_from([1, 4]),
    }
)
HEALTH = st.fixed_dictionaries(
    {
        "probe_interval_s": st.sampled_from([0.0, 0.1]),
        "probe_timeout_s": st.sampled_from([0.02, 0.5]),
        "probe_false_rate": st.sampled_from([0.0, 0.3]),
        "probe_busy_s": st.sampled_from([0.05, math.inf]),
        "passive_failures": st.integers(0, 2),
        "shared_verdicts": BOOLEAN,
        "open_s": st.sampled_from([0.05, 1.0]),
        "half_open_trials": st.integers(0, 2),
        "most_ejected_share": st.sampled_from([0.1, 1.0]),
    }
)
FAILURES = st.lists(
    st.builds(
        Failure,
        instance=st.integers(0, 3),
        at_s=st.floats(0.0, 4.0),
        rejoin_s=st.sampled_from([0.0, 0.5, math.inf]),
        hangs=BOOLEAN,
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(setup=TROUBLES, health=HEALTH, failures=FAILURES, weight=st.sampled_from([0.0, 0.4]), seed=st.integers(0, 999))
def test_any_trouble_keeps_the_books(
    setup: dict, health: dict, failures: list[Failure], weight: float, seed: int
) -> None:
    found = audited(
        config(**setup, health=Health(**health)),
        source=talks(requests=150, rate_per_s=30.0, important_share=0.5),
        failures=failures,
        canary=[CanaryStep(1.0, weight=weight, instances=2), CanaryStep(3.0, weight=0.0, instances=0)],
        seed=seed,
        samples=40,
    )
    counts = found.counts
    assert counts["arrived"] == 150
    ended = counts["finished"] + counts["rejected"] + counts["lost"] + counts["cut"]
    assert ended + counts["in_flight"] == 150
    assert counts["in_flight"] == 0

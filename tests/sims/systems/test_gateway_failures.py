"""What a gateway loses when an instance fails, and how detection, retries and resuming change it."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import pytest

from sims.engine.sketch import percentile
from sims.systems.gateway import (
    Config,
    Conversations,
    Failure,
    Health,
    compare,
    simulate,
)
from tests.sims.systems.gateway_scene import audited, config, talks

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


def test_nobody_open_is_an_answer_too() -> None:
    setup = config(instances=1, health=Health(passive_failures=1, open_s=1000.0))
    found = audited(setup, source=talks(duration_s=20.0), failures=[Failure(0, at_s=5.0)], samples=10)
    assert found.counts["unroutable"] > 100
    assert found.counts["rejected"] == found.counts["unroutable"]

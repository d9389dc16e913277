"""The scoring pool against queueing theory, the drain of a whole batch, timeouts, and what scoring waits for."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from sims.systems.rl_rollout import Lengths, Outcome, Problems, Scoring, simulate
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, audited, config, problems, reference

EVEN = Problems(Lengths(8000.0, cv=0.0, cap_tokens=32_000))


def queue_wait_s(servers: int, *, rate: float, mean_s: float, seed: int) -> float:
    """Mean wait of 300,000 Poisson arrivals at log-normal servers (cv 1), first come first served."""
    generator, count = np.random.default_rng(seed), 300_000
    arrivals = np.cumsum(generator.exponential(1 / rate, count)).tolist()
    sigma = math.sqrt(math.log(2.0))
    services = (mean_s * generator.lognormal(-sigma * sigma / 2, sigma, count)).tolist()
    free, waited = [0.0] * servers, 0.0
    for at_s, service in zip(arrivals, services, strict=True):
        start = max(at_s, heapq.heappop(free))
        waited += start - at_s
        heapq.heappush(free, start + service)
    return waited / count


def pooled(servers: int, *, load: float, seed: int = 1) -> Outcome:
    """Answers that end on 20,000 places with independent lengths nearly at random, one in four steps: the more places,
    the less the end of one answer tells of those to come while a queue lasts."""
    setup = config(
        problems=2000,
        answers=1,
        instances=1,
        slots=20_000,
        step_s=1.0,
        step_s_per_sequence=0.0,
        train_s=0.0,
        mode="asynchronous",
        staleness=40,
        scoring=Scoring(servers=servers, mean_s=load * 4.0, cv=1.0),
    )
    longer = Problems(Lengths(80_000.0, cv=1.0, cap_tokens=320_000))
    return simulate(setup, problems=longer, steps=220, warmup_steps=100, seed=seed)


def test_one_server_waits_as_pollaczek_and_khinchine_say() -> None:
    """λ·E[S²]/(2(1 − ρ)), which at a coefficient of variation of 1 is M/M/1: ρ·s/(1 − ρ). 10 % for 240,000 answers."""
    found = pooled(1, load=0.7)
    assert found.scoring_share == pytest.approx(0.7, rel=0.02)
    assert found.mean_score_wait_s == pytest.approx(0.7 * 2.8 / 0.3, rel=0.1)


@pytest.mark.parametrize(("servers", "load"), [(8, 6.4), (40, 36.0)])
def test_several_servers_wait_as_a_queue_with_random_arrivals(servers: int, load: float) -> None:
    """Against a queue in a few lines of Python: 15 %, as one run of either is within 12 % of their common mean."""
    runs = [pooled(servers, load=load, seed=seed) for seed in range(4)]
    queues = [queue_wait_s(servers, rate=0.25, mean_s=load * 4, seed=seed) for seed in range(4)]
    assert [one.scoring_share for one in runs] == pytest.approx([load / servers] * 4, rel=0.02)
    assert np.mean([one.mean_score_wait_s for one in runs]) == pytest.approx(np.mean(queues), rel=0.15)


def test_a_batch_at_once_keeps_the_pool_busy_for_282_seconds() -> None:
    """2,048 answers of 25.35 s on 184 sandboxes; the last ones take up to a timeout longer."""
    at_once = Scoring(servers=184, mean_s=30.0, cv=2.0, timeout_s=120.0, when="batch")
    found = simulate(reference(mode="synchronous", scoring=at_once), problems=EVEN, steps=12, warmup_steps=0)
    assert found.window("scoring_s") / found.steps / 184 == pytest.approx(282.0, rel=0.02)
    assert 282 < found.parts_s["score"] < 282 + 120
    counts = found.counts
    assert counts["timeouts"] / counts["ended"] == pytest.approx(0.0421, abs=0.004)


def test_scoring_answers_as_they_end_hides_nearly_all_of_it() -> None:
    tails = {}
    for when in ("each", "group", "batch"):
        pool = Scoring(servers=184, mean_s=30.0, cv=2.0, timeout_s=120.0, when=when)
        found = simulate(reference(mode="synchronous", scoring=pool), problems=LONG_TAIL, steps=8, warmup_steps=0)
        tails[when] = found.parts_s["score"]
        assert found.parts_s["generate"] == pytest.approx(620, rel=0.02)
    assert tails["each"] < tails["group"] < tails["batch"]
    assert tails["each"] <= 120


def test_scoring_makes_samples_older() -> None:
    """Where generation limits, the age is what is open over a batch: 600 s in the pool add 600 s of steps, without
    groups whose first answers wait for the last."""
    slow = Scoring(mean_s=600.0, cv=0.5)
    quick, scored = (
        simulate(
            reference(problems=2048, answers=1, instances=21, staleness=8, scoring=one),
            problems=LONG_TAIL,
            steps=60,
            warmup_steps=20,
        )
        for one in (Scoring(), slow)
    )
    assert scored.quantile_s("score_delay", q=0.5) == pytest.approx(600 / math.sqrt(1.25), rel=0.02)
    assert scored.step_s.value == pytest.approx(quick.step_s.value, rel=0.02)
    older = scored.mean_staleness - quick.mean_staleness
    assert older == pytest.approx(600 / scored.step_s.value, rel=0.1)


@pytest.mark.parametrize("on_timeout", ["fail", "drop"])
def test_timeouts_fail_or_drop_and_are_counted(on_timeout: str) -> None:
    pool = Scoring(servers=6, mean_s=3.0, cv=1.0, timeout_s=5.0, on_timeout=on_timeout)
    found = audited(config(scoring=pool), problems=problems(), steps=20, warmup_steps=0)
    counts, fates = found.counts, found.fates
    assert counts["timeouts"] > 0
    dropped = fates["timed_out"][0]
    assert dropped == (counts["timeouts"] if on_timeout == "drop" else 0)
    assert fates["trained_on"][0] == 20 * 16 - dropped + 4 * counts["groups_empty"]
    assert found.quantile_s("score_delay", q=0.0) > 0


def test_a_failed_timeout_counts_as_wrong() -> None:
    """All answers would be right and every group dropped, but for those that run into the timeout."""
    load = Problems(Lengths(40.0, cv=1.0, cap_tokens=150), chance_a=1000.0, chance_b=1e-3)
    pool = Scoring(mean_s=3.0, cv=1.0, timeout_s=5.0)
    found = audited(config(scoring=pool, filtering=True), problems=load, steps=5, warmup_steps=0)
    assert found.ending == "complete"
    assert found.counts["groups_filtered"] > 0

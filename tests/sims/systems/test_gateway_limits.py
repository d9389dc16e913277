"""Degenerate gateways whose answer is known from queueing theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sims.engine.interval import Interval
from sims.systems.gateway import Config, Outcome, simulate
from tests.sims.systems.gateway_scene import plain, poisson_times

INSTANCES = 200


def covers(interval: Interval | None, expected: float, *, slack: float = 0.0) -> bool:
    """Within twice the 95 % half-width of 16 batches, plus ``slack``."""
    assert interval is not None
    return abs(interval.value - expected) <= 2 * (interval.high - interval.value) + slack * expected


def queues(
    policy: str, *, instances: int = INSTANCES, rho: float = 0.9, span: float = 1500.0, **changes: Any
) -> Outcome:
    """Single servers with exponential service of mean 1 s behind a policy."""
    count = int(instances * rho * span)
    lengths = np.maximum(1, np.rint(np.random.default_rng(3).exponential(10_000, count)))
    setup = Config(
        instances=instances,
        prefill_s_per_token=1e-4,
        token_s=0.0,
        slots=10**6,
        cache_blocks=1,
        block_tokens=10**9,
        policy=policy,
        **changes,
    )
    source = plain(poisson_times(instances * rho, count, seed=5), lengths)
    return simulate(setup, source=source, seed=3, warmup_s=span / 5, samples=20)


def test_one_instance_is_an_m_m_1_queue() -> None:
    found = queues("random", instances=1, rho=0.8, span=600_000.0)
    assert covers(found.mean_ttft_s, 5.0)
    p99 = found.quantile("ttft", q=0.99)
    assert covers(p99, 5.0 * math.log(100), slack=0.01)
    half = found.mean_ttft_s.high - found.mean_ttft_s.value  # type: ignore[union-attr]
    assert half < 0.06 * 5.0


@pytest.mark.parametrize(("slots", "rho", "waits"), [(8, 0.8, 0.4576449), (8, 0.9, 0.7015330), (64, 0.9, 0.3106633)])
def test_decode_slots_are_an_m_m_c_queue(slots: int, rho: float, waits: float) -> None:
    """Mean wait C/(c·μ − λ), with Erlang's C of Gross and Harris, Fundamentals of Queueing Theory, eq. 2.33."""
    count, rate = 400_000, slots * rho
    answers = 1 + np.rint(np.random.default_rng(1).exponential(1000.0, count))
    setup = Config(
        instances=1, prefill_s_per_token=1e-12, token_s=1e-3, slots=slots, cache_blocks=1, block_tokens=10**9
    )
    source = plain(poisson_times(rate, count, seed=2), np.ones(count), answers)
    found = simulate(setup, source=source, warmup_s=0.1 * count / rate, samples=20)
    # A slot is given back on the next tick of about a millisecond: half a thousandth of a service.
    assert covers(found.mean_ttft_s, waits / (slots - rate), slack=0.01)


@pytest.mark.parametrize(
    ("policy", "choices", "rho", "expected"),
    [
        ("random", 2, 0.5, 2.0),
        ("random", 2, 0.8, 5.0),
        ("round_robin", 2, 0.8, 2.7041949),
        ("power_of_two", 2, 0.8, 1.9473634),
        ("power_of_two", 2, 0.9, 2.6140574),
        ("power_of_two", 3, 0.9, 2.027856),
    ],
)
def test_mean_sojourn_of_a_policy_is_that_of_theory(policy: str, choices: int, rho: float, expected: float) -> None:
    """Random: 1/(1 − ρ); in turn: Erlang arrivals; d choices: Σ ρ^((dⁱ − d)/(d − 1)) (Mitzenmacher 2001), N = ∞."""
    found = queues(policy, choices=choices, rho=rho)
    assert covers(found.mean_ttft_s, expected, slack=0.015)
    half = found.mean_ttft_s.high - found.mean_ttft_s.value  # type: ignore[union-attr]
    assert half < 0.05 * expected


def test_the_least_of_all_hardly_ever_queues() -> None:
    """At ρ = 0.9 some of 200 instances is nearly always idle."""
    found = queues("least_requests")
    assert found.mean_ttft_s is not None
    assert found.mean_ttft_s.value == pytest.approx(1.02, rel=0.02)


STALE = [
    # Period in service times, policy, choices, own counted, mean sojourn in a prototype of other hands.
    (0.25, "power_of_two", 2, False, 2.71),
    (1.0, "power_of_two", 2, False, 2.94),
    (4.0, "power_of_two", 2, False, 3.59),
    (16.0, "power_of_two", 2, False, 5.18),
    (1.0, "power_of_two", 3, False, 2.47),
    (4.0, "power_of_two", 3, False, 3.37),
    (16.0, "power_of_two", 3, False, 5.45),
    (1.0, "least_requests", 2, False, 2.65),
    (4.0, "least_requests", 2, False, 4.73),
    (16.0, "least_requests", 2, False, 8.68),
    (1.0, "least_requests", 2, True, 2.12),
    (4.0, "least_requests", 2, True, 2.85),
    (16.0, "least_requests", 2, True, 3.92),
]


@pytest.mark.parametrize(("period_s", "policy", "choices", "own", "expected"), STALE)
def test_old_views_of_eight_routers(period_s: float, policy: str, choices: int, own: bool, expected: float) -> None:
    found = queues(policy, choices=choices, routers=8, routers_in_turn=True, view_period_s=period_s, count_own=own)
    assert found.mean_ttft_s is not None
    assert found.mean_ttft_s.value == pytest.approx(expected, rel=0.08)


def test_with_old_views_fewer_choices_are_better() -> None:
    """Mitzenmacher 2000: the older the view, the less one should trust it; counting what one sends helps."""
    fresh = [queues("least_requests", routers=8, view_period_s=0.0), queues("power_of_two", routers=8)]
    old = [queues("least_requests", routers=8, view_period_s=16.0, count_own=own) for own in (False, True)]
    old.append(queues("power_of_two", routers=8, view_period_s=16.0, count_own=False))
    assert _mean(fresh[0]) < _mean(fresh[1])
    assert _mean(old[0]) > 1.5 * _mean(old[2])
    assert _mean(old[1]) < _mean(old[2])


def _mean(found: Outcome) -> float:
    assert found.mean_ttft_s is not None
    return found.mean_ttft_s.value


def in_time(rho: float, room: int, deadline: float) -> float:
    """Goodput of M/M/1/K over μ: ρ·Σ π_k·P(Erlang(k + 1) ≤ D)."""
    weights = np.array([rho**k for k in range(room + 1)])
    shares = weights / weights.sum()
    total = 0.0
    for k in range(room):
        late = sum(math.exp(-deadline + j * math.log(deadline) - math.lgamma(j + 1)) for j in range(k + 1))
        total += shares[k] * (1 - late)
    return rho * total


@pytest.mark.parametrize(("rho", "room"), [(0.8, 8), (1.2, 8), (1.2, 20), (2.0, 5), (2.0, 10)])
def test_goodput_past_saturation_is_that_of_a_queue_with_little_room(rho: float, room: int) -> None:
    """Late answers count for nothing: the room that serves best is short, and no limit brings goodput to zero."""
    deadline = 10.0
    found = queues("random", instances=40, rho=rho, span=6000.0, queue_limit=room, ttft_slo_s=deadline)
    good = found.goodput_per_s / 40
    assert good == pytest.approx(in_time(rho, room, deadline), rel=0.03)
    assert found.counts["rejected"] > 0

"""Overload: printed goodput, queues followed request by request, and limits."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest
from scipy.stats import gamma

from planner.formulas import queueing, shedding

# Load; goodput at a deadline of ten service times with at most 5, 8, 10, 20 and 50 in the system.
TABLE = [
    (0.8, ("0.7247", "0.7465", "0.7394", "0.6982", "0.6917")),
    (0.95, ("0.8049", "0.8215", "0.7908", "0.5668", "0.4033")),
    (1.2, ("0.8892", "0.8695", "0.7740", "0.1697", "0.0007")),
    (2.0, ("0.9663", "0.8445", "0.6489", "0.0133", "0.0000")),
]


@pytest.mark.parametrize(("load", "expected"), TABLE)
def test_goodput_is_the_printed_one(load: float, expected: tuple[str, ...]) -> None:
    found = tuple(f"{shedding.goodput(load, limit=limit, deadline=10.0):.4f}" for limit in (5, 8, 10, 20, 50))
    assert found == expected


def test_far_past_saturation_goodput_keeps_its_digits() -> None:
    assert shedding.goodput(2.0, limit=50, deadline=10.0) == pytest.approx(2e-11, rel=0.05)
    assert math.isfinite(shedding.goodput(40.0, limit=5000, deadline=10.0))
    assert shedding.goodput(40.0, limit=1, deadline=10.0) == pytest.approx(40 / 41 * (1 - math.exp(-10)))


@pytest.mark.parametrize("load", [0.3, 0.95])
def test_no_limit_is_the_limit_of_high_limits(load: float) -> None:
    closed = load * (1 - math.exp(-(1 - load) * 10))
    assert shedding.goodput(load, limit=None, deadline=10.0) == pytest.approx(closed)
    assert shedding.goodput(load, limit=2_000, deadline=10.0) == pytest.approx(closed, rel=1e-9)
    assert shedding.goodput(1.5, limit=None, deadline=10.0) == 0


@pytest.mark.parametrize(("load", "limit"), [(0.8, 5), (1.0, 7), (1.2, 10), (3.0, 4)])
def test_goodput_is_the_sum_over_what_an_arrival_finds(load: float, limit: int) -> None:
    odds = [load**found for found in range(limit + 1)]
    in_time = sum(odds[found] * gamma.cdf(6.0, found + 1) for found in range(limit))
    assert shedding.goodput(load, limit=limit, deadline=6.0) == pytest.approx(load * in_time / sum(odds))
    assert shedding.turned_away(load, limit=limit) == pytest.approx(odds[-1] / sum(odds))


def test_a_queue_followed_request_by_request_has_that_goodput() -> None:
    load, limit, deadline, requests = 1.2, 10, 10.0, 100_000
    draws = np.random.default_rng(1)
    arrivals = np.cumsum(draws.exponential(1 / load, requests))
    works = draws.exponential(1.0, requests)
    ends: list[float] = []
    gone = good = 0
    for at, work in zip(arrivals, works, strict=True):
        while gone < len(ends) and ends[gone] <= at:
            gone += 1
        if len(ends) - gone < limit:
            ends.append(max(at, ends[-1] if ends else 0.0) + work)
            good += ends[-1] - at <= deadline
    assert shedding.goodput(load, limit=limit, deadline=deadline) == pytest.approx(good / arrivals[-1], rel=0.02)


@pytest.mark.parametrize("load", [0.2, 0.8, 0.95, 1.2, 2.0, 30.0])
@pytest.mark.parametrize("deadline", [0.5, 3.0, 10.0, 40.0])
def test_the_best_limit_is_the_best_of_all_tried(load: float, deadline: float) -> None:
    every = [shedding.goodput(load, limit=limit, deadline=deadline) for limit in range(1, 200)]
    best = shedding.best_limit(load, deadline=deadline)
    assert shedding.goodput(load, limit=best, deadline=deadline) == pytest.approx(max(every), rel=1e-9)


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_near_saturation_the_best_limit_is_half_to_most_of_the_deadline(load: float) -> None:
    assert 0.5 <= shedding.best_limit(load, deadline=10.0) / 10.0 <= 0.8


def test_nothing_offered_no_time_or_no_place_gives_nothing() -> None:
    assert shedding.goodput(0.0, limit=5, deadline=10.0) == 0
    assert shedding.goodput(0.8, limit=5, deadline=0.0) == 0
    assert shedding.goodput(0.8, limit=0, deadline=10.0) == 0
    assert shedding.best_limit(0.0, deadline=10.0) == shedding.best_limit(0.8, deadline=0.0) == 1
    assert shedding.turned_away(0.0, limit=5) == 0
    assert shedding.turned_away(0.5, limit=0) == shedding.turned_away(0.0, limit=0) == 1
    assert shedding.turned_away(1e9, limit=50) == pytest.approx(1, abs=1e-8)


def first_class_first(loads: tuple[float, float], *, servers: int, requests: int, seed: int) -> list[float]:
    """Mean waits of two classes, the next to start taken from the first class when there is one."""
    draws = np.random.default_rng(seed)
    times = np.cumsum(draws.exponential(1 / sum(loads), requests))
    classes = (draws.random(requests) > loads[0] / sum(loads)).astype(int)
    free = [0.0] * servers
    waiting: list[tuple[int, float]] = []
    waits: list[list[float]] = [[], []]
    index = 0
    while index < requests or waiting:
        now = free[0]
        if not waiting and index < requests:
            now = max(now, times[index])
        while index < requests and times[index] <= now:
            heapq.heappush(waiting, (int(classes[index]), float(times[index])))
            index += 1
        kind, came = heapq.heappop(waiting)
        waits[kind].append(now - came)
        heapq.heapreplace(free, now + draws.exponential())
    return [float(np.mean(each)) for each in waits]


@pytest.mark.parametrize(("loads", "servers"), [((0.3, 0.5), 1), ((1.0, 1.4), 3)])
def test_priorities_wait_as_in_a_simulation(loads: tuple[float, float], servers: int) -> None:
    found = shedding.priority_waits(loads, servers=servers)
    simulated = first_class_first(loads, servers=servers, requests=120_000, seed=4)
    # The standard error of the long waits of the second class is about 3 %.
    assert found == pytest.approx(simulated, rel=0.08)


def test_one_class_waits_as_without_priorities_and_all_together_too() -> None:
    assert shedding.priority_waits([0.8], service_scv=4.0) == pytest.approx((10.0,))
    waits = shedding.priority_waits([2.0, 3.0, 1.0], servers=8)
    together = sum(load * (wait or 0) for load, wait in zip([2.0, 3.0, 1.0], waits, strict=True)) / 6
    assert together == pytest.approx(queueing.mean_wait_s(6.0, servers=8, service_s=1.0))  # Kleinrock's conservation


def test_classes_past_saturation_have_no_wait_and_are_shed() -> None:
    first, last = shedding.priority_waits([0.5, 0.7])
    assert first == pytest.approx(2.0)  # the server is always busy: rest of a service over 1 - 0.5
    assert last is None
    assert shedding.priority_waits([0.0, 0.0]) == (0, 0)
    assert shedding.priority_waits([]) == ()
    assert shedding.shed_shares([0.5, 0.4, 0.2], capacity=1.0) == pytest.approx((0, 0, 0.5))
    assert shedding.shed_shares([2.0, 0.0, 1.0], capacity=1.0) == (0.5, 0.0, 1.0)
    assert shedding.shed_shares([0.5], capacity=0.0) == (1.0,)

"""Shares of tenants: by pouring in small drops, and a counter scheduler of its own against its bound."""

from __future__ import annotations

import doctest
import itertools
import random

import numpy as np
import pytest

from planner.formulas import fair_share
from planner.formulas.fair_share import (
    counter_bound,
    fair_shares,
    first_come_shares,
    noisy_neighbour,
    weighted_tokens,
)


def poured(demands: list[float], weights: list[float], limits: list[float], capacity: float) -> list[float]:
    """Drop by drop to whoever has least over its weight and still wants some."""
    got, drop = [0.0] * len(demands), capacity / 20_000
    for _ in range(20_000):
        open_ones = [i for i in range(len(demands)) if got[i] < min(demands[i], limits[i]) - drop / 2]
        if not open_ones:
            break
        least = min(open_ones, key=lambda i: got[i] / weights[i])
        got[least] += drop
    return got


@pytest.mark.parametrize("capacity", [5.0, 60.0, 200.0, 400.0])
def test_shares_are_those_of_pouring(capacity: float) -> None:
    demands, weights = [5.0, 40.0, 90.0, 0.0, 120.0, 33.0], [1.0, 2.0, 1.0, 3.0, 4.0, 0.5]
    limits = [100.0, 100.0, 50.0, 100.0, 100.0, 100.0]
    found = fair_shares(demands, capacity=capacity, weights=weights, limits=limits)
    assert found == pytest.approx(poured(demands, weights, limits, capacity), abs=capacity / 5_000)
    assert found.sum() == pytest.approx(min(capacity, 5 + 40 + 50 + 100 + 33))


def test_a_thousand_equal_tenants_get_equal_shares() -> None:
    found = fair_shares(np.full(1000, 2.0), capacity=500.0)
    assert found == pytest.approx(np.full(1000, 0.5))


def test_who_is_first_served_takes_in_proportion() -> None:
    assert first_come_shares([1.0, 3.0], capacity=2.0).tolist() == [0.5, 1.5]
    assert first_come_shares([1.0, 3.0], capacity=9.0).tolist() == [1.0, 3.0]
    assert first_come_shares([0.0, 0.0], capacity=2.0).tolist() == [0.0, 0.0]
    assert fair_shares([0.0, 0.0], capacity=0.0).tolist() == [0.0, 0.0]


def test_a_noisy_neighbour_takes_from_others_unless_shares_are_fair_or_it_is_limited() -> None:
    demands = [10.0] * 10
    loud = noisy_neighbour(demands, noisy=3, times=20.0, capacity=120.0)
    assert loud.first_come == pytest.approx(120 / 290)
    assert loud.fair == 1.0
    limited = noisy_neighbour(demands, noisy=3, times=20.0, capacity=120.0, limits=np.full(10, 30.0))
    assert limited == (1.0, 1.0)
    assert noisy_neighbour([5.0, 0.0], noisy=0, times=9.0, capacity=1.0) == (1.0, 1.0)


def worst_difference(*, batch_tokens: int, longest_input: int, longest_output: int, seed: int) -> float:
    """Continuous batches of two tenants that always have requests waiting; least counter first."""
    draw = random.Random(seed)
    counters, worst, held = [0.0, 0.0], 0.0, 0
    running: list[list[int]] = []
    waiting = [(draw.randint(1, longest_input), draw.randint(1, longest_output)) for _ in range(2)]
    for _ in range(12_000):
        for _ in itertools.count():
            tenant = 0 if counters[0] <= counters[1] else 1
            prompt, answer = waiting[tenant]
            if held + prompt + answer > batch_tokens:
                break
            counters[tenant] += prompt
            held += prompt + answer
            running.append([tenant, answer, prompt + answer])
            # the second tenant's requests are longer, which is what a counter has to even out
            longest = longest_output if tenant else longest_output // 8
            waiting[tenant] = (draw.randint(1, longest_input), draw.randint(1, longest))
        for each in running:
            counters[each[0]] += 2
            each[1] -= 1
        held -= sum(size for _, left, size in running if not left)
        running = [each for each in running if each[1]]
        worst = max(worst, abs(counters[0] - counters[1]))
    return worst


def test_the_counter_bound_holds_and_is_far_from_reached() -> None:
    bound = counter_bound(longest_input_tokens=1000, batch_tokens=10_000)
    assert bound == 40_000
    worst = worst_difference(batch_tokens=10_000, longest_input=1000, longest_output=1000, seed=2)
    assert 1_000 < worst < bound / 4  # the specification's own run: 3,815


def test_long_inputs_and_weights_widen_the_bound() -> None:
    assert counter_bound(longest_input_tokens=50_000, batch_tokens=10_000) == 100_000
    assert counter_bound(longest_input_tokens=1000, batch_tokens=10_000, least_weight=0.5) == 80_000


def test_service_is_counted_in_weighted_tokens() -> None:
    assert weighted_tokens([10.0, 0.0], [1.0, 3.0]).tolist() == [12.0, 6.0]


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(fair_share).failed == 0

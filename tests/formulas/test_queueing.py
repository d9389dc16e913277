"""Waiting lines against tables, closed forms and a second way to compute them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from planner.formulas import queueing


def erlang_b_by_recursion(offered: Fraction, servers: int) -> Fraction:
    blocked = Fraction(1)
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked


@pytest.mark.parametrize(
    ("servers", "offered", "blocked"),
    # Erlang B traffic tables (ITU-D, Teletraffic Engineering Handbook): offered traffic at 1 % blocking, and B(10, 10).
    [(10, 10.0, 0.2146), (20, 12.03, 0.0100), (100, 84.06, 0.0100), (5, 1.361, 0.0100)],
)
def test_blocking_agrees_with_the_traffic_tables(servers: int, offered: float, blocked: float) -> None:
    assert queueing.erlang_b(offered, servers=servers) == pytest.approx(blocked, abs=6e-5)


@given(servers=st.integers(1, 400), load=st.integers(1, 120))
def test_blocking_agrees_with_erlangs_recursion_in_exact_arithmetic(servers: int, load: int) -> None:
    offered = Fraction(servers * load, 100)
    expected = float(erlang_b_by_recursion(offered, servers))
    assert queueing.erlang_b(float(offered), servers=servers) == pytest.approx(expected, rel=1e-8)


def test_waiting_of_one_server_is_its_load_and_of_two_at_half_load_one_third() -> None:
    assert queueing.erlang_c(0.6, servers=1) == pytest.approx(0.6)
    assert queueing.erlang_c(1.0, servers=2) == pytest.approx(1 / 3)


def test_a_queue_past_saturation_has_no_figures() -> None:
    assert queueing.erlang_c(4.0, servers=4) is None
    assert queueing.mean_wait_s(9.0, servers=4, service_s=1.0) is None
    assert queueing.linear_batch(demand_per_s=200.0, fixed_s=0.01, per_item_s=0.005) is None
    assert queueing.processor_sharing_sojourn_s(1.0, rho=1.0) is None


def test_no_load_waits_for_nothing() -> None:
    assert queueing.erlang_b(0.0, servers=3) == 0
    assert queueing.mean_wait_s(0.0, servers=3, service_s=1.0) == 0
    assert queueing.poisson_quantile(0.99, mean=0.0) == 0
    assert queueing.linear_batch(demand_per_s=0.0, fixed_s=0.01, per_item_s=0.005) == 0


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_one_server_waits_as_pollaczek_and_khinchine_say(rho: float) -> None:
    service_s, variation = 2.0, 3.0
    expected = rho * service_s * (1 + variation) / (2 * (1 - rho))
    found = queueing.mean_wait_s(rho, servers=1, service_s=service_s, service_scv=variation)
    assert found == pytest.approx(expected)
    assert queueing.mean_wait_s(rho, servers=1, service_s=service_s, service_scv=0.0) == pytest.approx(
        rho * service_s / (2 * (1 - rho))
    )


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_waits_of_one_exponential_server_have_the_known_quantiles(probability: float) -> None:
    rho, service_s = 0.8, 0.5
    mean = queueing.mean_wait_s(rho, servers=1, service_s=service_s)
    assert mean is not None
    expected = math.log(rho / (1 - probability)) / ((1 - rho) / service_s)
    found = queueing.wait_quantile_s(probability, waiting=rho, mean_wait_s=mean)
    assert found == pytest.approx(expected)


def test_most_arrivals_of_a_light_queue_do_not_wait() -> None:
    assert queueing.wait_quantile_s(0.9, waiting=0.05, mean_wait_s=1.0) == 0


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_wait_and_service_together_are_the_exponential_sojourn_of_one_server(probability: float, rho: float) -> None:
    # M/M/1: the time in the system is exponential with rate (1 − ρ)/S. 4,000 midpoints of the service leave < 0.5 %.
    service_s = 2.0
    points = -np.log(1 - (np.arange(4000) + 0.5) / 4000) * service_s
    found = queueing.delay_quantiles_s(
        [probability],
        waiting=np.array([rho]),
        wait_if_waiting_s=np.array([service_s / (1 - rho)]),
        service_s=points,
    )
    assert found[0] == pytest.approx(-math.log(1 - probability) * service_s / (1 - rho), rel=5e-3)


def test_without_waiting_the_delay_is_the_service() -> None:
    service = np.linspace(0.0, 1.0, 1001)
    found = queueing.delay_quantiles_s(
        [0.5, 0.9], waiting=np.zeros(2), wait_if_waiting_s=np.zeros(2), service_s=service
    )
    assert found == pytest.approx([0.5, 0.9], abs=2e-3)


@given(
    service=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=30),
    shares=st.lists(st.floats(0.01, 10.0), min_size=30, max_size=30),
    waiting=st.floats(0.0, 1.0),
    wait=st.floats(1e-3, 50.0),
    probability=st.floats(0.001, 0.999),
)
def test_the_distribution_passes_its_probability_at_the_quantile(
    service: list[float], shares: list[float], waiting: float, wait: float, probability: float
) -> None:
    values, weights = np.array(service), np.array(shares[: len(service)])
    found = queueing.delay_quantiles_s(
        [probability],
        waiting=np.array([waiting]),
        wait_if_waiting_s=np.array([wait]),
        service_s=values,
        weights=weights,
    )[0]

    def within(time_s: float) -> float:
        done = np.where(values <= time_s, 1 - waiting * np.exp(-np.maximum(time_s - values, 0.0) / wait), 0.0)
        return float((done * weights).sum() / weights.sum())

    assert within(found * (1 - 1e-9)) <= probability + 1e-7
    assert within(found * (1 + 1e-9)) >= probability - 1e-7


@given(mean=st.floats(1.0, 20_000.0), probability=st.sampled_from([0.5, 0.9, 0.99]))
def test_the_smooth_poisson_quantile_stays_within_one_of_the_whole_one(mean: float, probability: float) -> None:
    assert abs(queueing.poisson_quantile(probability, mean=mean) - poisson.ppf(probability, mean)) <= 1.0


@given(demand=st.floats(1.0, 1e6), fixed=st.floats(1e-4, 0.1), load=st.floats(0.01, 0.99))
def test_the_batch_of_a_linear_step_serves_its_demand(demand: float, fixed: float, load: float) -> None:
    slope = load / demand
    batch = queueing.linear_batch(demand_per_s=demand, fixed_s=fixed, per_item_s=slope)
    assert batch is not None
    assert batch / (fixed + slope * batch) == pytest.approx(demand)


def test_processor_sharing_slows_every_job_alike() -> None:
    assert queueing.processor_sharing_sojourn_s(2.0, rho=0.75) == pytest.approx(8.0)

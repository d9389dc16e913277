"""The compiled planes against a second implementation that walks every step in plain Python.

The examples are the same each time: units that are alike can end a step at one moment, and then rounding says which
is first.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.parts.clients import ClosedLoop
from sims.systems.llm_serving import Config, simulate
from tests.sims.oracle import aggregated, disaggregated
from tests.sims.oracle.asks import asked
from tests.sims.oracle.compare import same
from tests.sims.systems.scene import LENGTHS, config, poisson
from tests.sims.systems.serving_cases import Case, apart, together


@settings(max_examples=120, deadline=None, derandomize=True)
@given(case=apart(), single=st.booleans())
def test_prefill_and_decode_units_serve_as_a_plain_simulation_does(case: Case, single: bool) -> None:
    setup = replace(case.config, most_steps=1) if single else case.config
    found = simulate(setup, arrivals=case.arrivals, samples=2)
    asks = asked(case.arrivals, seed=1)
    disaggregated.serve(setup, asks)
    same(found, asks, gateway_s=setup.gateway_s)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(case=together(), single=st.booleans())
def test_replicas_serve_as_a_plain_simulation_does(case: Case, single: bool) -> None:
    setup = replace(case.config, most_steps=1) if single else case.config
    found = simulate(setup, arrivals=case.arrivals, samples=2)
    asks = asked(case.arrivals, seed=1)
    fleet = aggregated.serve(setup, asks)
    same(found, asks, gateway_s=setup.gateway_s)
    assert found.preempted == fleet.preemptions


@pytest.mark.parametrize("rate", [20.0, 45.0, 80.0])
def test_prefill_and_decode_units_serve_a_long_load_as_a_plain_simulation_does(rate: float) -> None:
    """From light to more than the units can take."""
    setup, arrivals = config(), poisson(rate=rate, requests=1000)
    found, asks = simulate(setup, arrivals=arrivals), asked(arrivals, seed=1)
    disaggregated.serve(setup, asks)
    same(found, asks, gateway_s=setup.gateway_s)


@pytest.mark.parametrize("rate", [10.0, 30.0, 80.0])
@pytest.mark.parametrize("capacity", [4000, 20_000])
def test_replicas_serve_a_long_load_as_a_plain_simulation_does(rate: float, capacity: int) -> None:
    """From light to overload, with KV for few and for many."""
    setup = config(aggregated=True, kv_capacity_tokens=capacity, reserve_full_prompt=False)
    arrivals = poisson(rate=rate, requests=600)
    found, asks = simulate(setup, arrivals=arrivals), asked(arrivals, seed=1)
    fleet = aggregated.serve(setup, asks)
    same(found, asks, gateway_s=setup.gateway_s)
    assert found.preempted == fleet.preemptions
    assert fleet.preemptions > 20 or capacity > 4000 or rate < 80.0


def lone(case: Case) -> Config:
    """One unit of each role: where two end an answer at the same moment, rounding says whose client is first."""
    prefill_units = 0 if case.config.aggregated else 1
    return replace(case.config, decode_units=1, prefill_units=prefill_units, decode_classes=(), prefill_classes=())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    case=apart(most=12) | together(most=12),
    clients=st.sampled_from([1, 2, 5, 60]),
    think_s=st.sampled_from([0.0, 0.0431, 1.7]),
)
def test_clients_in_a_closed_loop_are_served_as_in_a_plain_simulation(case: Case, clients: int, think_s: float) -> None:
    setup = lone(case)
    loop = ClosedLoop(clients=clients, lengths=LENGTHS, about_s=9.0, requests=25, think_s=think_s, sample=case.table)
    found, asks = simulate(setup, arrivals=loop, samples=2), asked(loop, seed=1)
    plane = aggregated if setup.aggregated else disaggregated
    plane.serve(setup, asks, loop=loop)
    same(found, asks, gateway_s=setup.gateway_s)

"""The compiled planes against a second implementation that walks every step in plain Python."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.systems.llm_serving import simulate
from tests.sims.oracle import disaggregated
from tests.sims.oracle.asks import asked
from tests.sims.oracle.compare import same
from tests.sims.systems.serving_cases import Case, apart


@settings(max_examples=120, deadline=None)
@given(case=apart(), single=st.booleans())
def test_prefill_and_decode_units_serve_as_a_plain_simulation_does(case: Case, single: bool) -> None:
    setup = replace(case.config, most_steps=1) if single else case.config
    found = simulate(setup, arrivals=case.arrivals, samples=2)
    asks = asked(case.arrivals, seed=1)
    disaggregated.serve(setup, asks)
    same(found, asks, gateway_s=setup.gateway_s)

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.invariants import InvariantError
from sims.engine.run import COMPLETE
from sims.parts.arrivals import Lengths
from sims.systems.llm_serving import Failure, simulate
from tests.sims.systems.scene import audited, config, poisson


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("router", ["least_loaded", "round_robin"])
def test_nothing_is_lost_or_made_up(aggregated: bool, router: str) -> None:
    found = audited(config(aggregated=aggregated, router=router), arrivals=poisson(), samples=100)
    assert found.arrived > 1000
    assert found.arrived == found.finished + found.rejected + found.in_flight


@pytest.mark.parametrize("aggregated", [False, True])
def test_nothing_is_lost_when_a_unit_is(aggregated: bool) -> None:
    failures = [Failure(unit=1, at_s=5.003, detection_s=0.5, rejoin_s=6.0)]
    found = audited(
        config(aggregated=aggregated), arrivals=poisson(requests=1000, rate=30.0), failures=failures, samples=300
    )
    assert found.restarted > 5
    assert found.finished == 1000
    assert found.in_flight == 0


@pytest.mark.parametrize("aggregated", [False, True])
def test_requests_wait_for_the_only_unit_to_come_back(aggregated: bool) -> None:
    failures = [Failure(unit=0, at_s=3.0, detection_s=0.0, rejoin_s=4.0)]
    one = config(aggregated=aggregated, decode_units=1, kv_capacity_tokens=10**6)
    found = audited(one, arrivals=poisson(requests=300, rate=30.0), failures=failures, samples=300)
    assert found.finished == 300
    while_down = [sample for sample in found.samples if 3.1 < sample.at_s < 6.9]
    assert len({sample.finished for sample in while_down}) == 1


SETUPS = st.fixed_dictionaries(
    {
        "aggregated": st.booleans(),
        "decode_units": st.integers(1, 3),
        "prefill_ranks": st.integers(1, 4),
        "prefill_budget_tokens": st.sampled_from([1, 7, 64, 5000]),
        "kv_capacity_tokens": st.sampled_from([120, 400, 5000]),
        "max_running": st.sampled_from([1, 3, 1000]),
        "block_tokens": st.sampled_from([1, 4, 16]),
        "reserve_full_prompt": st.booleans(),
        "step_s_per_kv_token": st.sampled_from([0.0, 1e-6]),
        "egress_s_per_token": st.sampled_from([0.0, 1e-3]),
        "router": st.sampled_from(["least_loaded", "round_robin"]),
        "most_steps": st.sampled_from([1, 10**9]),
    }
)


@settings(max_examples=40, deadline=None)
@given(
    setup=SETUPS,
    rate=st.sampled_from([0.5, 5.0, 60.0]),
    output_tokens=st.sampled_from([0.0, 1.0, 30.0]),
    fails_at_s=st.one_of(st.none(), st.floats(0.01, 1.5)),
    seed=st.integers(0, 1000),
)
def test_any_system_keeps_its_books(
    setup: dict, rate: float, output_tokens: float, fails_at_s: float | None, seed: int
) -> None:
    lengths = Lengths(input_tokens=60, output_tokens=output_tokens, input_sigma=0.6, output_sigma=0.6)
    failures = [] if fails_at_s is None else [Failure(unit=0, at_s=fails_at_s, detection_s=0.05, rejoin_s=0.7)]
    changes = {name: value for name, value in setup.items() if name != "aggregated"}
    found = audited(
        config(aggregated=setup["aggregated"], **changes),
        arrivals=poisson(rate=rate, lengths=lengths, requests=40),
        seed=seed,
        failures=failures,
        samples=20,
    )
    assert found.ending == COMPLETE
    assert found.arrived == 40
    assert found.finished + found.rejected == 40


def test_the_audit_notices_a_lost_request() -> None:
    def lose(plane) -> None:
        from sims.systems.llm_serving.audit import audit

        plane.state.totals[0].finished -= 1
        audit(plane.state)

    with pytest.raises(InvariantError, match="requests arrived"):
        simulate(config(), arrivals=poisson(), check=lose)

"""Whatever fails and whatever is set: no request is lost from the books, and caches and index stay true."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.invariants import InvariantError
from sims.systems.gateway import POLICIES, CanaryStep, Failure, Health, simulate
from sims.systems.gateway.audit import audit
from tests.sims.systems.gateway_scene import audited, config, talks

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


def test_the_audit_notices_a_lost_request_and_a_lost_block() -> None:
    def lose_request(plane) -> None:
        plane.state.totals[0].finished -= 1
        audit(plane.state)

    def lose_block(plane) -> None:
        plane.state.caches[0].used -= 1
        audit(plane.state)

    for lose, named in ((lose_request, "requests arrived"), (lose_block, "blocks of the segments")):
        with pytest.raises(InvariantError, match=named):
            simulate(config(), source=talks(), check=lose)

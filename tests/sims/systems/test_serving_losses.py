"""Units are lost and come back: what becomes of their requests, to the moment where it can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine.run import COMPLETE
from sims.engine.sketch import percentile
from sims.parts.arrivals import Lengths, Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, Control, Failure, FailureRate, Nodes, Outcome, Recovery, simulate
from sims.systems.llm_serving.watch import AFTER, BEFORE, DURING
from tests.sims.systems.scene import audited, config, fingerprint, poisson

BOTH = pytest.mark.parametrize("aggregated", [False, True])
ROUNDING = 0.005
"""Of a value read from the histogram: half a bin."""


def one_request(prompt: int = 100, answer: int = 10) -> Trace:
    return Trace(Table(at_s=np.zeros(1), input=np.array([prompt]), output=np.array([answer])))


def plain(**changes: Any) -> Config:
    """A prompt token takes 1 ms, a step 10 ms; nothing else takes time."""
    values: dict[str, Any] = {
        "prefill_units": 2,
        "decode_units": 2,
        "step_s": 0.01,
        "step_s_per_sequence": 0.0,
        "step_s_per_kv_token": 0.0,
        "prefill_s_per_token": 0.001,
        "prefill_budget_tokens": 1000,
        "kv_capacity_tokens": 10_000,
    }
    return Config(**{**values, **changes})


def whole_answer_s(found: Outcome) -> float:
    """The stay of the only request."""
    assert found.finished == 1
    stay_s = percentile(found.pooled("e2e"), q=0.5)
    assert stay_s is not None
    return stay_s


LOST = Failure(unit=0, at_s=0.145, detection_s=0.2, rejoin_s=50.0)
"""The request of 100 tokens is prefilled by 0.1 s and has four tokens by 0.145 s; the loss is known at 0.345 s."""


@pytest.mark.parametrize(
    ("recovery", "resumes_s"),
    [
        # 104 tokens are computed again.
        (Recovery(), 0.104),
        # Of 100 prompt tokens 96 are in full blocks of 16: 96 · 2 ms + 5 ms to fetch, 8 tokens to compute.
        (Recovery(pool_holds="prompts", pool_block_tokens=16, pool_s_per_token=0.002, pool_fixed_s=0.005), 0.205),
        # Of 104 tokens 104 // 16 · 16 = 96 as well; with blocks of 8 all but the last block of 103: 96.
        (Recovery(pool_holds="answers", pool_block_tokens=8, pool_s_per_token=0.0, pool_fixed_s=0.0), 0.008),
        # In blocks of one token all but the last, which is always computed.
        (Recovery(pool_holds="answers", pool_block_tokens=1, pool_s_per_token=0.001, pool_fixed_s=0.0), 0.104),
    ],
)
def test_a_lone_request_goes_on_where_it_was(recovery: Recovery, resumes_s: float) -> None:
    found = audited(plain(recovery=recovery), arrivals=one_request(), failures=[LOST], samples=20)
    assert found.restarted == 1
    # Six tokens are still to come.
    assert whole_answer_s(found) == pytest.approx(0.345 + resumes_s + 6 * 0.01, rel=ROUNDING)
    longest_s = percentile(found.pooled("itl"), q=1.0)
    assert longest_s == pytest.approx(0.345 + resumes_s + 0.01 - 0.14, rel=2 * ROUNDING)


def test_fetches_share_the_link_of_the_pool() -> None:
    """Two requests of lost units fetch 96 tokens each, one after the other. The second had no token yet."""
    recovery = Recovery(pool_holds="prompts", pool_block_tokens=16, pool_s_per_token=0.01)
    both = Trace(Table(at_s=np.zeros(2), input=np.full(2, 100), output=np.full(2, 10)))
    setup = plain(prefill_units=1, decode_units=2, router="round_robin", recovery=recovery)
    lost = [replace(LOST, unit=unit, rejoin_s=0.0) for unit in (0, 1)]
    found = audited(setup, arrivals=both, failures=lost, samples=20)
    assert found.fetched_tokens == 192
    first, last = (percentile(found.pooled("e2e"), q=q) for q in (0.01, 1.0))
    assert first == pytest.approx(0.345 + 0.96 + 0.008 + 0.06, rel=2 * ROUNDING)
    assert last == pytest.approx(0.345 + 1.92 + 0.004 + 0.1, rel=2 * ROUNDING)


def test_a_prompt_of_a_lost_prefill_unit_is_computed_by_another() -> None:
    lost = Failure(unit=0, at_s=0.05, detection_s=0.2, rejoin_s=50.0, role="prefill")
    found = audited(plain(), arrivals=one_request(), failures=[lost], samples=20)
    assert found.restarted == 1
    assert whole_answer_s(found) == pytest.approx(0.25 + 0.1 + 0.1, rel=ROUNDING)


def test_prompts_wait_for_the_only_prefill_unit_to_come_back() -> None:
    lost = Failure(unit=0, at_s=0.05, detection_s=0.2, rejoin_s=3.0, role="prefill")
    found = audited(plain(prefill_units=1), arrivals=one_request(), failures=[lost], samples=20)
    assert whole_answer_s(found) == pytest.approx(3.25 + 0.1 + 0.1, rel=ROUNDING)


def test_a_spare_takes_the_place_of_a_lost_unit_when_it_has_loaded() -> None:
    """Isolated at 0.345 s, replaced 2 s later; the answer goes on then, as there is no other unit."""
    control = Control(failures=[LOST], load_s=2.0, spares=(("decode", 1),))
    found = audited(plain(decode_units=1), arrivals=one_request(), control=control, samples=20)
    assert found.disturbances[0].joined_s == pytest.approx(2.345)
    assert whole_answer_s(found) == pytest.approx(2.345 + 0.06, rel=ROUNDING)


def test_the_repaired_unit_is_the_next_spare() -> None:
    """One spare for two losses: the second waits for its own repair if the first is not repaired by then."""
    for second_s, joined_s in ((5.0, 5.0 + 20.0), (25.0, 25.0 + 2.0)):
        failures = [
            Failure(unit=0, at_s=1.0, rejoin_s=20.0),
            Failure(unit=1, at_s=second_s, rejoin_s=20.0),
        ]
        control = Control(failures=failures, load_s=2.0, spares=(("decode", 1),))
        found = audited(config(), arrivals=poisson(duration_s=60.0, rate=10.0), control=control)
        assert found.disturbances[-1].joined_s == pytest.approx(joined_s)


@BOTH
def test_requests_fail_with_their_unit_when_that_is_the_policy(aggregated: bool) -> None:
    lost = [Failure(unit=1, at_s=5.003, detection_s=0.5, rejoin_s=6.0)]
    setup = config(aggregated=aggregated, recovery=Recovery(on_loss="fail"))
    found = audited(setup, arrivals=poisson(requests=1000, rate=30.0), failures=lost, samples=100)
    assert found.lost > 5
    assert found.restarted == 0
    assert found.finished + found.lost == 1000
    assert found.batches.lost.sum() == found.lost


MOMENTS = st.floats(0.0, 2.0)


@settings(max_examples=30, deadline=None)
@given(
    aggregated=st.booleans(),
    losses=st.lists(st.tuples(st.booleans(), st.integers(0, 1), MOMENTS, st.floats(0.0, 0.5), MOMENTS), max_size=5),
    holds=st.sampled_from(["nothing", "prompts", "answers"]),
    fails=st.booleans(),
    spares=st.integers(0, 1),
    seed=st.integers(0, 100),
)
def test_no_request_is_lost_unless_it_is_to_fail(
    aggregated: bool, losses: list, holds: str, fails: bool, spares: int, seed: int
) -> None:
    failures = [
        Failure(unit, at_s, rejoin_s, detection_s, role="decode" if aggregated or decode else "prefill")
        for decode, unit, at_s, detection_s, rejoin_s in losses
    ]
    recovery = Recovery(
        on_loss="fail" if fails else "resume", pool_holds=holds, pool_block_tokens=7, pool_s_per_token=1e-5
    )
    found = audited(
        config(aggregated=aggregated, recovery=recovery),
        arrivals=poisson(rate=50.0, lengths=Lengths(60, 30, 0.6, 0.6, 0.5), requests=60),
        control=Control(failures=failures, load_s=0.1, spares=(("decode", spares),)),
        seed=seed,
        samples=20,
    )
    assert found.ending == COMPLETE
    assert found.arrived == 60
    assert found.finished + found.lost == 60
    assert found.lost == 0 or fails


def random_losses(per_node_h: float, *, nodes: Nodes | None = None) -> Control:
    return Control(
        rates=[FailureRate(per_node_h=per_node_h, rejoin_s=10.0, detection_s=1.0, nodes=nodes or Nodes())],
    )


def test_nodes_fail_at_their_rate() -> None:
    """Two units of three nodes, 36 failures an hour each while up: 10 s of life, 11 s of outage a unit and node."""
    control = random_losses(36.0, nodes=Nodes(per_unit=3))
    found = simulate(config(), arrivals=poisson(duration_s=30_000.0, rate=0.001), control=control)
    # A unit is up a third of 100 s on average; then it is lost for 11 s: 1/3 · 100/(100/3 + 11).
    assert found.usage["decode"].mean_up / 2 == pytest.approx((100 / 3) / (100 / 3 + 11), rel=0.05)


def test_small_units_on_a_node_are_lost_together() -> None:
    control = random_losses(3600.0, nodes=Nodes(units=2))
    found = simulate(config(decode_units=3), arrivals=poisson(duration_s=20.0, rate=1.0), control=control)
    assert Nodes(units=2).of(3) == 2
    assert list(Nodes(units=2).lost(0, units=3)) == [0, 1]
    assert list(Nodes(units=2).lost(1, units=3)) == [2]
    assert list(Nodes(per_unit=18).lost(19, units=3)) == [1]
    assert found.usage["decode"].least_up == 0


def test_the_same_requests_arrive_whatever_fails() -> None:
    """Common random numbers: losses draw from their own streams."""
    kept, lost = (
        simulate(config(), arrivals=poisson(), control=control) for control in (Control(), random_losses(900.0))
    )
    assert lost.restarted > 0
    assert (kept.arrived, kept.rates["arrived_per_s"]) == (lost.arrived, lost.rates["arrived_per_s"])
    assert fingerprint(lost) == fingerprint(simulate(config(), arrivals=poisson(), control=random_losses(900.0)))


@BOTH
def test_latencies_are_told_by_the_phase_of_arrival(aggregated: bool) -> None:
    """One of two units is gone for ten seconds, and the other alone cannot keep up."""
    lost = [Failure(unit=0, at_s=20.0, detection_s=1.0, rejoin_s=10.0)]
    tight = config(aggregated=aggregated, kv_capacity_tokens=6000)
    found = simulate(tight, arrivals=poisson(duration_s=60.0, rate=20.0), failures=lost)
    p99 = [percentile(found.phases["ttft"][phase], q=0.99) for phase in (BEFORE, DURING, AFTER)]
    assert all(value is not None for value in p99)
    assert p99[DURING] > 3 * p99[BEFORE]
    assert p99[AFTER] < p99[DURING] / 2
    for name in ("ttft", "tpot", "itl", "e2e"):
        assert found.phases[name].sum() == found.pooled(name).sum()
    (one,) = found.disturbances
    assert (one.at_s, one.units, one.joined_s) == (20.0, 1, 31.0)
    assert one.queue_back_s is not None
    assert 20.0 < one.queue_back_s <= (one.over_s or 0.0) < 60.0
    # Requests by phase of arrival, as the rate and the times of the phases have it.
    counts = found.phases["ttft"].sum(axis=1)
    assert counts[BEFORE] == pytest.approx(20 * 20.0, rel=0.2)
    assert counts[DURING] == pytest.approx(20 * ((one.over_s or 0.0) - 20.0), rel=0.3)


def test_two_servers_less_one_are_one_server() -> None:
    """M/M/2 whose second unit is gone from the start waits as M/M/1: same seed, same bytes but for what is counted."""
    lengths = Lengths(input_tokens=50, output_tokens=0, input_sigma=0.9)
    gone = [Failure(unit=1, at_s=0.0, rejoin_s=1e9, role="prefill")]
    two, one = (
        simulate(plain(prefill_units=units), arrivals=poisson(duration_s=200.0, rate=14.0, lengths=lengths), **given)
        for units, given in ((2, {"failures": gone}), (1, {}))
    )
    assert two.arrived == one.arrived
    # All of the first belongs to the phase of the loss.
    assert two.phases["ttft"][BEFORE].sum() == 0
    assert np.array_equal(two.pooled("ttft"), one.pooled("ttft"))


def test_the_queue_may_be_as_before_while_a_unit_is_missing() -> None:
    lost = [Failure(unit=0, at_s=20.0, detection_s=1.0, rejoin_s=1e9)]
    found = simulate(config(), arrivals=poisson(duration_s=60.0, rate=20.0), failures=lost)
    (one,) = found.disturbances
    assert (one.joined_s, one.over_s) == (None, None)
    assert 20.0 <= (one.queue_back_s or 0.0) < 40.0
    assert found.phases["ttft"][AFTER].sum() == 0


@pytest.mark.parametrize("at_s", [0.0, 2.0])
def test_a_loss_before_anything_was_seen_has_an_end_too(at_s: float) -> None:
    lost = [Failure(unit=0, at_s=at_s, rejoin_s=3.0)]
    found = simulate(config(), arrivals=poisson(duration_s=60.0, rate=2.0), failures=lost, warmup_s=10.0)
    assert found.disturbances[0].over_s is not None

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
import pytest

from sims.engine.hooks import Cancelled
from sims.engine.run import BUDGET, COMPLETE, FULL
from sims.parts.arrivals import Lengths, Poisson, Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, Failure, simulate, warm_up_s
from sims.systems.llm_serving.state import FIRST_SLOTS
from tests.sims.impatient import Impatient, ticks
from tests.sims.systems.scene import audited, config, poisson

BOTH = pytest.mark.parametrize("aggregated", [False, True])


@BOTH
def test_a_run_is_cancelled_within_a_second(aggregated: bool) -> None:
    simulate(config(aggregated=aggregated), arrivals=poisson(requests=20))
    hooks = Impatient(lambda partial: partial["ttft_p50_s"] is not None)
    with pytest.raises(Cancelled):
        simulate(config(aggregated=aggregated), arrivals=poisson(duration_s=1e8), hooks=hooks, clock=process_time)
    assert hooks.longest_s < 1.0
    assert hooks.told[-1]["ttft_p50_s"] is not None


def test_a_run_out_of_time_says_so_and_keeps_what_it_has() -> None:
    found = simulate(config(), arrivals=poisson(duration_s=1e8), budget_s=0.3, clock=ticks())
    assert found.ending == BUDGET
    assert found.finished > 100
    assert found.arrived == found.finished + found.rejected + found.in_flight


@BOTH
def test_a_request_larger_than_a_unit_is_refused_once(aggregated: bool) -> None:
    table = Table(
        at_s=np.arange(5.0), input=np.array([100, 30_000, 100, 100, 100]), output=np.array([10, 10, 30_000, 10, 0])
    )
    found = audited(config(aggregated=aggregated), arrivals=Trace(table))
    assert (found.arrived, found.finished, found.rejected, found.in_flight) == (5, 3, 2, 0)
    assert found.ending == COMPLETE


@BOTH
def test_overload_ends_in_bounded_time_and_is_called_unsteady(aggregated: bool) -> None:
    found = simulate(config(aggregated=aggregated), arrivals=poisson(rate=5000.0, duration_s=60.0))
    assert not found.is_steady
    assert found.arrived == found.finished + found.rejected + found.in_flight


def test_overload_ends_in_bounded_memory() -> None:
    found = simulate(config(), arrivals=poisson(rate=5000.0, duration_s=1e6), most_in_flight=2 * FIRST_SLOTS)
    assert found.ending == FULL
    assert not found.is_steady
    assert found.in_flight == 2 * FIRST_SLOTS


@BOTH
def test_the_pool_of_requests_grows(aggregated: bool) -> None:
    count = 3 * FIRST_SLOTS
    table = Table(at_s=np.zeros(count), input=np.full(count, 20), output=np.full(count, 3))
    found = simulate(config(aggregated=aggregated), arrivals=Trace(table))
    assert found.finished == count


@BOTH
def test_a_fleet_that_keeps_up_is_steady(aggregated: bool) -> None:
    found = simulate(config(aggregated=aggregated), arrivals=poisson(rate=20.0, duration_s=300.0), warmup_s=20.0)
    assert found.is_steady
    assert found.samples[-1].at_s == pytest.approx(300.0)


@BOTH
def test_answers_without_tokens_end_with_their_prompt(aggregated: bool) -> None:
    silent = Lengths(input_tokens=100, output_tokens=0)
    found = audited(config(aggregated=aggregated), arrivals=poisson(lengths=silent, requests=50))
    assert found.finished == 50
    assert found.pooled("ttft").sum() == 50
    assert found.pooled("tpot").sum() == 0
    assert found.quantile("tpot", q=0.5) is None


def test_a_lone_request_takes_the_sum_of_its_parts() -> None:
    """Gateway 3 ms, prompt of 100 in one step, hand-over, then 11 decode steps of one rank of two: exact arithmetic."""
    table = Table(at_s=np.zeros(1), input=np.array([100]), output=np.array([11]))
    found = simulate(config(), arrivals=Trace(table))
    ttft = 0.003 + (0.002 + 100e-4) + (0.001 + 100e-6) + (0.01 + 2e-4 + 100 * 2e-7)
    steps = sum(0.01 + 2e-4 + (100 + done) * 2e-7 for done in range(1, 11))
    tally = found.batches
    assert tally.ttft_sum_s.sum() == pytest.approx(ttft, rel=1e-12)
    assert tally.e2e_sum_s.sum() == pytest.approx(ttft + steps, rel=1e-12)
    assert tally.tpot_sum_s.sum() == pytest.approx(steps / 10, rel=1e-12)


def test_a_lone_request_on_a_replica_takes_the_sum_of_its_parts() -> None:
    """600 tokens in chunks of 256, each on a step of its own; then 10 steps, with all work on one rank of the two."""
    table = Table(at_s=np.zeros(1), input=np.array([600]), output=np.array([11]))
    found = simulate(config(aggregated=True), arrivals=Trace(table))
    ttft = 0.003 + 3 * (0.01 + 0.002) + 600e-4
    steps = sum(0.01 + 2e-4 + (600 + done) * 2e-7 for done in range(1, 11))
    assert found.batches.ttft_sum_s.sum() == pytest.approx(ttft, rel=1e-12)
    assert found.batches.e2e_sum_s.sum() == pytest.approx(ttft + steps, rel=1e-12)


def test_loss_of_a_unit_shows_in_the_time_line_and_heals() -> None:
    failures = [Failure(unit=0, at_s=100.0, detection_s=1.0, rejoin_s=20.0)]
    arrivals = poisson(rate=60.0, duration_s=300.0)
    kept, lost = (simulate(config(), arrivals=arrivals, failures=which) for which in ((), failures))
    assert lost.restarted > 10
    assert kept.restarted == 0
    during = [sample.waiting for sample in lost.samples if 101 < sample.at_s < 121]
    usual = [sample.waiting for sample in kept.samples if 101 < sample.at_s < 121]
    assert max(during) > 2 * max(usual)
    assert lost.samples[-1].in_flight < 2 * kept.samples[-1].in_flight


def test_objectives_are_counted_in_requests() -> None:
    table = Table(at_s=10.0 * np.arange(4), input=np.array([100, 5000, 100, 5000]), output=np.full(4, 11))
    setup = config(ttft_slo_s=0.1, tpot_slo_s=1.0)
    tally = simulate(setup, arrivals=Trace(table)).batches
    assert tally.ttft_met.sum() == 2
    assert tally.good.sum() == 2
    assert tally.finished.sum() == 4


def test_the_warm_up_rule_is_five_stays_and_at_most_a_quarter() -> None:
    assert warm_up_s(horizon_s=1000.0, residence_s=10.0) == 50.0
    assert warm_up_s(horizon_s=100.0, residence_s=10.0) == 25.0


def test_warm_up_is_cut_from_the_measurements_not_from_the_run() -> None:
    whole, cut = (simulate(config(), arrivals=poisson(), warmup_s=warmup_s) for warmup_s in (0.0, 10.0))
    assert whole.arrived == cut.arrived
    assert whole.finished == cut.finished
    assert 0 < cut.pooled("ttft").sum() < 0.75 * whole.pooled("ttft").sum()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"decode_units": 0}, "decode_units"),
        ({"prefill_units": 0}, "prefill_units"),
        ({"kv_capacity_tokens": 0}, "kv_capacity_tokens"),
        ({"step_s": float("nan")}, "step_s"),
        ({"step_s": -1.0}, "step_s"),
        ({"step_s": 0.0, "step_s_per_sequence": 0.0}, "a step must take time"),
        ({"router": "psychic"}, "router"),
    ],
)
def test_an_impossible_system_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        config(**change)


def test_a_run_without_a_length_is_refused() -> None:
    with pytest.raises(ValueError, match="no length"):
        simulate(config(), arrivals=Trace(Table(np.zeros(0), np.zeros(0, int), np.zeros(0, int))))


def test_the_faster_router_does_not_change_what_arrives() -> None:
    """Common random numbers: designs and policies are compared on the same requests."""
    one, two = (simulate(config(router=router), arrivals=poisson()) for router in ("least_loaded", "round_robin"))
    assert one.arrived == two.arrived
    assert one.rates["arrived_per_s"] == two.rates["arrived_per_s"]


def test_memory_follows_the_requests_in_flight_not_those_served() -> None:
    setup = Config(
        prefill_units=1,
        decode_units=1,
        step_s=0.001,
        step_s_per_sequence=0.0,
        step_s_per_kv_token=0.0,
        prefill_s_per_token=1e-7,
        prefill_budget_tokens=10_000,
        kv_capacity_tokens=10**9,
    )
    seen: list[int] = []
    arrivals = Poisson(1000.0, Lengths(50, 20), requests=100_000)
    found = simulate(setup, arrivals=arrivals, check=lambda plane: seen.append(len(plane.state.requests)))
    assert found.finished == 100_000
    assert set(seen) == {FIRST_SLOTS}


@pytest.mark.parametrize("unit", [-1, 2])
def test_a_failure_of_a_unit_that_is_not_there_is_refused(unit: int) -> None:
    with pytest.raises(ValueError, match=f"unit {unit} of 2"):
        simulate(config(), arrivals=poisson(duration_s=5.0), failures=[Failure(unit, at_s=1.0, rejoin_s=1.0)])


@BOTH
def test_a_finite_run_is_looked_at_until_its_last_answer(aggregated: bool) -> None:
    table = Table(at_s=np.linspace(0.0, 1.0, 80), input=np.full(80, 300), output=np.full(80, 100))
    found = audited(config(aggregated=aggregated), arrivals=Trace(table), samples=10)
    assert [each.at_s for each in found.samples] == pytest.approx([0.1 * each for each in range(1, 11)])
    assert found.drained[-1].in_flight == 0
    assert found.drained[-2].in_flight > 0
    # Doubling the distance bounds their number: a run of 2^k horizons has at most 10 (k + 1).
    assert len(found.drained) <= 10 * (1 + np.log2(found.simulated_s / found.horizon_s))
    # Little's law over the run that begins and ends empty.
    stay_s = found.batches.e2e_sum_s.sum() / found.finished
    assert found.mean("in_flight") * found.measured_s == pytest.approx(found.finished * stay_s, rel=0.1)


def test_a_run_for_a_time_is_not_looked_at_after_it() -> None:
    assert simulate(config(), arrivals=poisson(duration_s=5.0)).drained == ()

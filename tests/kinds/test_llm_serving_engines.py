"""Engines of a simulated fleet: their scheduler and KV pool, drafts, slower units, and clients that wait."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from planner import kinds
from planner.catalog import files
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.llm_serving.closed_loop import rate_rps, response_s
from planner.kinds.llm_serving.fleet import fleet_for
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.simulate import arrivals_for
from planner.kinds.llm_serving.simulation_options import options
from planner.kinds.llm_serving.spec import LlmServingSpec

CATALOG = files.load()
KIND = kinds.get("llm_serving")
LENGTHS = {"input_tokens": 600, "output_tokens": 60, "input_sigma": 0.5, "output_sigma": 0.5}
FLEET = LlmServingSpec(peak_rps=20.0, prefix_hit_rate=0.0, **LENGTHS)
REPLICAS = LlmServingSpec(
    topology="aggregated",
    llm="llama-3.1-70b",
    gpu="h100-sxm",
    decode_unit_gpus=8,
    peak_rps=6.0,
    prefix_hit_rate=0.0,
    **LENGTHS,
)


class Quiet:
    """Waits for nobody."""

    def progress(self, fraction: float, **told: object) -> None:
        pass

    def cancelled(self) -> bool:
        return False


def run(spec: LlmServingSpec, asked: SimulationRequest) -> Result:
    assert KIND.simulator is not None
    return KIND.simulator.run(spec, CATALOG, asked, Quiet())


def simulated(spec: LlmServingSpec, *, requests: int = 300, **given: object) -> Result:
    return run(spec, SimulationRequest(requests=requests, options={"warmup_s": 0.0, **given}))


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


def message(result: Result, code: str) -> str:
    return next(finding.message for finding in result.findings if finding.code == code)


def test_a_small_kv_pool_makes_replicas_preempt_and_says_what_binds() -> None:
    free = simulated(REPLICAS)
    assert not {"preempted", "kv_pool_binds", "running_cap_binds"} & codes(free)
    full = simulated(REPLICAS, kv_tokens=3_000)
    assert full.value("requests_preempted") > 0
    assert {"preempted", "kv_pool_binds", "kv_pool_given"} <= codes(full)
    assert full.value("ttft_p99_s") > free.value("ttft_p99_s")


def test_prompts_let_in_with_room_for_a_chunk_are_computed_twice_more_often() -> None:
    small_steps = REPLICAS.model_copy(update={"prefill_step_tokens": 128, "peak_rps": 8.0})
    whole, chunk = (simulated(small_steps, kv_tokens=3_000, reserve_full_prompt=each) for each in ("yes", "no"))
    assert chunk.value("requests_preempted") > whole.value("requests_preempted")


def test_a_limit_on_running_requests_binds() -> None:
    one = simulated(REPLICAS, max_running=1)
    assert "limit of 1\u00a0request running" in message(one, "running_cap_binds")
    assert "while 1\u00a0request runs" in message(one, "running_cap_binds")
    assert "running_cap_binds" not in codes(simulated(REPLICAS, max_running=500))


def test_whole_answers_reserved_are_never_sent_back() -> None:
    small = {"kv_tokens": 144_000, "kv_headroom_tokens": 1}
    fleet = LlmServingSpec(peak_rps=300.0, prefix_hit_rate=0.0, **LENGTHS)
    sent_back = simulated(fleet, requests=3000, **small)
    assert sent_back.value("requests_preempted") > 0
    assert "preempted" in codes(sent_back)
    assert simulated(fleet, requests=3000, **small, kv_admission="reserve").value("requests_preempted") == 0


def test_drafts_drawn_give_the_same_tpot_and_other_gaps() -> None:
    """A step of g times the time gives g tokens: means agree, and no gap is shorter than a step, or it is none."""
    spec = FLEET.model_copy(update={"output_tokens": 400.0, "output_sigma": 0.0})
    mean, drawn = (simulated(spec, requests=1500, drafts=each) for each in ("mean", "drawn"))
    assert drawn.value("tpot_p50_s") == pytest.approx(mean.value("tpot_p50_s"), rel=0.02)
    longer = drawn.value("itl_p99_s") / mean.value("itl_p99_s")
    assert longer == pytest.approx(1 + spec.mtp_accepted_tokens, rel=0.05)


def test_without_drafts_there_is_nothing_to_draw() -> None:
    spec = FLEET.model_copy(update={"mtp": "off"})
    mean, drawn = (simulated(spec, requests=100, drafts=each) for each in ("mean", "drawn"))
    assert mean.metrics == drawn.metrics


def test_slower_units_are_sent_less_and_told() -> None:
    spec = LlmServingSpec(peak_rps=500.0, prefix_hit_rate=0.0, spare_decode_units=2, **LENGTHS)
    alike, slower = (simulated(spec, requests=3000, **each) for each in ({}, {"odd_units": 1, "odd_speed": 0.5}))
    assert slower.value("tpot_p99_s") > 1.2 * alike.value("tpot_p99_s")
    assert "1 of 3 decode units runs at 50" in message(slower, "units_differ")
    as_fast = simulated(spec, requests=3000, odd_units=1, odd_speed=1.0)
    assert as_fast.metrics == alike.metrics
    all_slow = simulated(spec, requests=3000, odd_units=3)
    assert all_slow.value("tpot_p50_s") > 1.5 * alike.value("tpot_p50_s")


@pytest.mark.parametrize("spec", [FLEET, REPLICAS], ids=["units", "replicas"])
def test_clients_that_wait_reach_what_littles_law_says(spec: LlmServingSpec) -> None:
    done = simulated(spec, requests=600, arrivals="closed", clients=8, think_s=2.0)
    finished_per_s = done.value("requests_finished") / done.value("simulated_s")
    facts = physics(spec, catalog=CATALOG)
    fleet = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    chosen = options({"arrivals": "closed", "clients": 8, "think_s": 2.0})
    estimate = rate_rps(spec, facts=facts, fleet=fleet, chosen=chosen)
    assert finished_per_s == pytest.approx(estimate, rel=0.12)
    stay_s = response_s(spec, facts=facts, fleet=fleet, rps=estimate)
    assert stay_s is not None
    assert estimate * (stay_s + 2.0) == pytest.approx(8, rel=1e-6)
    assert "closed_loop" in codes(done)
    assert "not_steady" not in codes(done)


def test_the_estimate_beside_is_at_the_rate_of_the_clients() -> None:
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    asked = {"arrivals": "closed", "clients": 8, "think_s": 2.0}
    beside = KIND.simulator.expected(FLEET, CATALOG, SimulationRequest(options=asked))
    chosen, facts = options(asked), physics(FLEET, catalog=CATALOG)
    fleet = fleet_for(FLEET, physics=facts, rps=FLEET.peak_rps)
    rps = rate_rps(FLEET, facts=facts, fleet=fleet, chosen=chosen)
    assert beside.value("prefill_gpus_needed") == pytest.approx(rps * 600 / facts.prefill_tokens_per_s_per_gpu)


def test_more_clients_than_the_fleet_can_serve_do_not_outrun_it() -> None:
    facts = physics(FLEET, catalog=CATALOG)
    fleet = fleet_for(FLEET, physics=facts, rps=FLEET.peak_rps)
    rates = [
        rate_rps(FLEET, facts=facts, fleet=fleet, chosen=options({"arrivals": "closed", "clients": clients}))
        for clients in (1, 100, 10_000, 1_000_000)
    ]
    assert rates == sorted(rates)
    assert response_s(FLEET, facts=facts, fleet=fleet, rps=rates[-1]) is not None


def test_clients_send_the_requests_of_a_trace_in_its_order_once() -> None:
    numbers = np.arange(50)
    trace = Workload("fifty", numbers * 0.1, 100 + numbers, np.full(50, 20))
    asked = SimulationRequest(workload=trace, options={"arrivals": "closed", "clients": 4, "warmup_s": 0.0})
    source = arrivals_for(FLEET, request=asked, chosen=options(asked.options), most_tokens=100_000, rps=1.0)
    assert np.concatenate(list(source.chunks(1)))["input"].tolist() == (100 + numbers).tolist()
    assert run(FLEET, asked).value("requests_finished") == 50
    longer = SimulationRequest(workload=trace, requests=70, options=asked.options)
    source = arrivals_for(FLEET, request=longer, chosen=options(asked.options), most_tokens=100_000, rps=1.0)
    assert np.concatenate(list(source.chunks(1)))["input"].tolist() == [*(100 + numbers), *(100 + numbers[:20])]


@pytest.mark.parametrize(
    ("spec", "asked", "named"),
    [
        (FLEET, {"max_running": 4}, "options.max_running"),
        (FLEET, {"block_tokens": 64}, "options.block_tokens"),
        (FLEET, {"reserve_full_prompt": "no"}, "options.reserve_full_prompt"),
        (REPLICAS, {"kv_admission": "reserve"}, "options.kv_admission"),
        (REPLICAS, {"block_tokens": 65_536, "kv_tokens": 60_000}, "options.block_tokens"),
        (FLEET, {"kv_tokens": 10}, "options.kv_tokens"),
        (FLEET, {"odd_units": 1000}, "options.odd_units"),
        (FLEET, {"odd_units": 1, "odd_speed": 0}, "options.odd_speed"),
        (FLEET, {"arrivals": "closed", "clients": 0}, "options.clients"),
        (FLEET, {"max_running": 0.5}, "options.max_running"),
    ],
)
def test_what_cannot_be_is_refused_by_name_before_a_run(spec: LlmServingSpec, asked: dict, named: str) -> None:
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    with pytest.raises(ValueError, match=named):
        KIND.simulator.expected(spec, CATALOG, SimulationRequest(requests=10, options=asked))


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        (FLEET, {"arrivals": "closed", "clients": 1}),
        (REPLICAS, {"arrivals": "closed", "clients": 1, "think_s": 1e6}),
        (REPLICAS, {"max_running": 1, "block_tokens": 1, "arrivals": "closed", "clients": 5}),
        (REPLICAS, {"kv_tokens": 64}),
        (FLEET, {"kv_tokens": 200, "arrivals": "closed", "clients": 3}),
        (FLEET.model_copy(update={"gateway_s": 0.0}), {"kv_tokens": 200, "arrivals": "closed", "clients": 3}),
        (REPLICAS, {"drafts": "drawn", "odd_units": 1, "odd_speed": 0.01, "kv_tokens": 4096}),
        (REPLICAS, {"block_tokens": 65_536}),
        (FLEET.model_copy(update={"peak_rps": 0.0}), {"arrivals": "closed"}),
        (FLEET.model_copy(update={"output_tokens": 0.0}), {"arrivals": "closed"}),
    ],
)
def test_odd_runs_have_an_answer(spec: LlmServingSpec, asked: dict) -> None:
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    request = SimulationRequest(requests=20, options=asked)
    KIND.simulator.expected(spec, CATALOG, request)
    done = run(spec, request)
    values = {name: metric.value for name, metric in done.metrics.items()}
    assert all(value is None or math.isfinite(value) for value in values.values())
    json.dumps(values, allow_nan=False)
    assert done.answer is not None


def test_a_run_in_which_no_request_fits_says_so() -> None:
    none = simulated(REPLICAS, requests=20, kv_tokens=64)
    assert none.value("requests_rejected") == 20
    assert none.answer is not None
    assert "No request fits" in none.answer.sentence
    assert "too_long_refused" in codes(none)


def test_a_run_in_which_no_request_came_does_not_say_that_none_fits() -> None:
    none = run(LlmServingSpec(peak_rps=0.001), SimulationRequest(duration_s=10.0))
    assert none.value("requests_arrived") == 0
    assert none.answer is not None
    assert "Too short to measure" in none.answer.sentence


def test_a_run_that_ends_while_the_system_fills_is_too_short_and_not_overloaded() -> None:
    short = run(LlmServingSpec(), SimulationRequest(duration_s=60.0))
    assert "still_filling" in codes(short)
    assert "not_steady" not in codes(short)
    assert short.answer is not None
    assert short.answer.sentence.startswith("**Too short to tell**: TTFT P99 ")
    crowd = run(LlmServingSpec(), SimulationRequest(duration_s=60.0, options={"rate_scale": 4.0}))
    assert "not_steady" in codes(crowd)
    assert "still_filling" not in codes(crowd)

"""Degenerate systems whose answer is known from queueing theory, of prefill and decode units and of replicas.

References are to L. Kleinrock, *Queueing Systems* I (Wiley, 1975), unless they say otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sims.engine.interval import Interval
from sims.parts.arrivals import Lengths, Poisson, Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, Outcome, simulate
from tests.sims.systems.scene import sample_of

ROOMY = {"kv_capacity_tokens": 10**12}
NO_TIME_S = 1e-12
BOTH = pytest.mark.parametrize("aggregated", [False, True], ids=["apart", "together"])


def prompts_only(aggregated: bool, **changes: Any) -> Config:
    """One server of prompts; answers have no tokens."""
    decode = {"decode_units": 1, "step_s": NO_TIME_S, "step_s_per_sequence": 0.0, "step_s_per_kv_token": 0.0}
    values = {"prefill_units": 0 if aggregated else 1, "prefill_s_per_token": 1e-4, **decode, **ROOMY, **changes}
    return Config(aggregated=aggregated, **values)


def answers_only(aggregated: bool, **changes: Any) -> Config:
    """Decoding as asked for; prompts take no time."""
    prefill = {"prefill_s_per_token": NO_TIME_S, "prefill_budget_tokens": 10**9}
    steps = {"step_s": 0.0, "step_s_per_sequence": 0.0, "step_s_per_kv_token": 0.0, "decode_units": 1}
    values = {"prefill_units": 0 if aggregated else 1, **prefill, **steps, **ROOMY, **changes}
    return Config(aggregated=aggregated, **values)


def mean_ttft(outcome: Outcome) -> Interval:
    found = outcome.share(lambda rows: rows.ttft_sum_s, of=lambda rows: rows.ttft_n)
    assert found is not None
    return found


def covers(interval: Interval, expected: float, *, slack: float = 0.0) -> bool:
    """Within the 99.9 % interval (twice the 95 % half-width of 16 batches), plus what discreteness adds."""
    half = interval.high - interval.value
    return abs(interval.value - expected) <= 2 * half + slack * expected


def exponential(mean: float, *, count: int = 400_000) -> np.ndarray:
    """Whole numbers from 1 on that are exponential but for their rounding."""
    return np.maximum(1, np.rint(np.random.default_rng(9).exponential(mean, count)))


@BOTH
@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_equal_prompts_one_a_step_are_an_m_d_1_queue(aggregated: bool, rho: float) -> None:
    """Mean sojourn D·(1 + ρ/(2(1 − ρ))), as Pollaczek and Khinchine have it; ch. 5."""
    server = prompts_only(aggregated, prefill_budget_tokens=1000)
    arrivals = Poisson(rho / 0.1, Lengths(input_tokens=1000, output_tokens=0), duration_s=40_000.0)
    mean = mean_ttft(simulate(server, arrivals=arrivals, warmup_s=500.0, seed=2))
    expected = 0.1 * (1 + rho / (2 * (1 - rho)))
    assert covers(mean, expected)
    assert mean.high - mean.low < 0.06 * expected


@BOTH
def test_exponential_prompts_are_an_m_m_1_queue(aggregated: bool) -> None:
    """Sojourn is exponential with rate μ − λ. A prompt ends with its step of 10 tokens: 1 % of a mean service."""
    lengths = exponential(1000.0)
    server = prompts_only(aggregated, prefill_budget_tokens=10)
    arrivals = Poisson(7.0, Lengths(1, 0), duration_s=8000.0, sample=sample_of(lengths, np.zeros_like(lengths)))
    found = simulate(server, arrivals=arrivals, warmup_s=200.0, seed=3)
    mean_service_s = float(lengths.mean()) * 1e-4
    expected = 1 / (1 / mean_service_s - 7.0)
    assert covers(mean_ttft(found), expected, slack=0.01)
    p99 = found.quantile("ttft", q=0.99)
    assert p99 is not None
    assert covers(p99, math.log(100) * expected, slack=0.01)


@BOTH
def test_prompts_of_any_spread_wait_as_pollaczek_and_khinchine_say(aggregated: bool) -> None:
    """Mean wait λ·E[S²]/(2(1 − ρ)); ch. 5. Two sorts of prompts, one nine times as long as the other."""
    lengths = np.where(np.random.default_rng(6).random(100_000) < 0.2, 3600.0, 400.0)
    server = prompts_only(aggregated, prefill_budget_tokens=10)
    arrivals = Poisson(6.0, Lengths(1, 0), duration_s=20_000.0, sample=sample_of(lengths, np.zeros_like(lengths)))
    found = simulate(server, arrivals=arrivals, warmup_s=500.0, seed=5)
    service_s = lengths * 1e-4
    rho = 6.0 * service_s.mean()
    wait_s = 6.0 * (service_s**2).mean() / (2 * (1 - rho))
    assert covers(mean_ttft(found), service_s.mean() + wait_s, slack=0.01)


@BOTH
@pytest.mark.parametrize(("places", "rho"), [(1, 0.7), (4, 0.85)])
def test_a_unit_with_so_many_places_is_an_m_m_c_queue(aggregated: bool, places: int, rho: float) -> None:
    """Mean wait C(c, λ/μ)/(cμ − λ) with Erlang's C; ch. 3. Steps are 1 % of a mean answer; a place is taken at a
    step's end, half a step late in the mean, and the first token comes with the first step."""
    step_s, answers = 0.01, exponential(100.0)
    unit = answers_only(aggregated, step_s=step_s, max_running=places)
    mu = 1 / (float(answers.mean()) * step_s)
    arrivals = Poisson(
        rho * places * mu, Lengths(1, 1), duration_s=30_000.0, sample=sample_of(np.ones_like(answers), answers)
    )
    mean = mean_ttft(simulate(unit, arrivals=arrivals, warmup_s=1000.0, seed=8))
    wait_s = erlang_c(places, rho * places) / (places * mu * (1 - rho))
    assert covers(mean, wait_s + 1.5 * step_s, slack=0.5 * step_s / wait_s)


def erlang_c(servers: int, offered: float) -> float:
    """Probability of waiting; A. K. Erlang (1917), here by the recursion of his B formula."""
    blocking = 1.0
    for busy in range(1, servers + 1):
        blocking = offered * blocking / (busy + offered * blocking)
    rho = offered / servers
    return blocking / (1 - rho * (1 - blocking))


@BOTH
def test_units_of_one_place_in_turn_are_an_e_c_m_1_queue(aggregated: bool) -> None:
    """Each of c units sees every c-th arrival: Erlang gaps. Mean wait σ/(μ(1 − σ)), σ = A*(μ − μσ); ch. 6 (G/M/1)."""
    step_s, answers, units, rho = 0.01, exponential(100.0), 3, 0.8
    fleet = answers_only(aggregated, step_s=step_s, max_running=1, decode_units=units, router="round_robin")
    mu = 1 / (float(answers.mean()) * step_s)
    rate = rho * units * mu
    arrivals = Poisson(rate, Lengths(1, 1), duration_s=30_000.0, sample=sample_of(np.ones_like(answers), answers))
    mean = mean_ttft(simulate(fleet, arrivals=arrivals, warmup_s=1000.0, seed=8))
    sigma = 0.5
    for _ in range(200):
        sigma = (rate / (rate + mu * (1 - sigma))) ** units
    wait_s = sigma / (mu * (1 - sigma))
    assert covers(mean, wait_s + step_s, slack=0.5 * step_s / wait_s)


def test_equal_hand_overs_are_an_m_d_1_queue() -> None:
    """A link of 10 ms a transfer at ρ = 0.7: wait ρD/(2(1 − ρ)), then the transfer and the first step."""
    link = answers_only(False, step_s=1e-6, egress_s_per_token=1e-4, ingress_s_per_token=0.5e-4, hand_over_s=0.003)
    arrivals = Poisson(70.0, Lengths(input_tokens=100, output_tokens=1), duration_s=5000.0)
    mean = mean_ttft(simulate(link, arrivals=arrivals, warmup_s=100.0, seed=4))
    assert covers(mean, 0.01 * (1 + 0.7 / (2 * 0.3)) + 0.003 + 1e-6, slack=1e-4)


@BOTH
def test_decoding_at_a_constant_step_is_an_infinite_server(aggregated: bool) -> None:
    """The mean number decoding is λ·E[o]·T whatever the spread of lengths (M/G/∞)."""
    unit = answers_only(aggregated, step_s=0.05)
    lengths = Lengths(input_tokens=10, output_tokens=200, output_sigma=0.8)
    found = simulate(unit, arrivals=Poisson(50.0, lengths, duration_s=4000.0), warmup_s=400.0)
    # A replica gives the first token with the prompt, so that one step less is decoding.
    steps = 199 if aggregated else 200
    # Var of a time average ≈ 2·mean·E[S²]/(2E[S])/span: 0.6 of 500 here; the standard error of the mean length adds.
    assert found.rates["running"] == pytest.approx(50.0 * 0.05 * steps, rel=0.02)
    tpot = found.quantile("tpot", q=0.99)
    assert tpot is not None
    assert tpot.value == pytest.approx(0.05, rel=0.005)


@BOTH
def test_decoding_at_a_step_that_grows_with_the_batch_is_processor_sharing(aggregated: bool) -> None:
    """The mean number decoding is ρ/(1 − ρ), insensitive to the spread (M/G/1-PS); joins wait for a step's end."""
    rho, tokens = 0.7, 400
    each_s = rho / (tokens * 2.0)
    unit = answers_only(aggregated, step_s_per_sequence=each_s)
    means = []
    for sigma in (0.0, 0.6):
        lengths = Lengths(input_tokens=1, output_tokens=tokens, output_sigma=sigma)
        arrivals = Poisson(2.0, lengths, duration_s=30_000.0)
        means.append(simulate(unit, arrivals=arrivals, warmup_s=1000.0, seed=4).rates["running"])
    assert means == pytest.approx([rho / (1 - rho)] * 2, rel=0.06)


@BOTH
def test_littles_law_holds(aggregated: bool) -> None:
    """Sequences decoding = rate of finishing × time from first to last token (+ the first step)."""
    steps = {"step_s": 0.01, "step_s_per_sequence": 2e-4, "step_s_per_kv_token": 1e-8}
    unit = answers_only(aggregated, decode_units=3, **steps)
    lengths = Lengths(input_tokens=100, output_tokens=100, output_sigma=0.5)
    found = simulate(unit, arrivals=Poisson(60.0, lengths, duration_s=2000.0), warmup_s=100.0)
    tallies = found.batches
    stay_s = tallies.e2e_sum_s.sum() / tallies.finished.sum() - tallies.ttft_sum_s.sum() / tallies.ttft_n.sum()
    step_s = 0.0 if aggregated else tallies.tpot_sum_s.sum() / tallies.tpot_n.sum()
    assert found.rates["running"] == pytest.approx(found.rates["finished_per_s"] * (stay_s + step_s), rel=0.01)


@BOTH
def test_littles_law_is_exact_once_the_system_is_empty(aggregated: bool) -> None:
    """Sequences decoding, integrated over time, are the sum of their stays: heavy traffic, then one more request."""
    rng, count = np.random.default_rng(3), 3000
    at_s = np.append(np.cumsum(rng.exponential(1 / 40, count)), 10_000.0)
    table = Table(
        at_s=at_s,
        input=np.append(rng.integers(1, 400, count), 1),
        output=np.append(rng.integers(1, 200, count), 1),
    )
    unit = answers_only(
        aggregated, step_s=0.02, kv_capacity_tokens=20_000, max_running=64, prefill_s_per_token=1e-5, decode_units=1
    )
    found = simulate(unit, arrivals=Trace(table), samples=4)
    rows, seen = found.batches, next(sample for sample in found.samples if sample.at_s >= found.horizon_s)
    assert seen.finished == count
    stays_s = rows.e2e_sum_s.sum() - rows.ttft_sum_s.sum()
    # A decode unit also gives the first token, in a step of its own; the last request's is not over yet.
    expected = stays_s if aggregated else stays_s + count * 0.02
    assert seen.sequence_s == pytest.approx(expected, rel=1e-9)

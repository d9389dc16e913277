"""Degenerate systems whose answer is known from queueing theory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sims.engine.interval import Interval
from sims.parts.arrivals import Lengths, Poisson
from sims.systems.llm_serving import Config, Outcome, simulate
from tests.sims.systems.scene import sample_of

NO_DECODE = {"decode_units": 1, "step_s": 1.0, "step_s_per_sequence": 0.0, "step_s_per_kv_token": 0.0}
ROOMY = {"kv_capacity_tokens": 10**12}
NO_PREFILL = {"prefill_units": 1, "prefill_s_per_token": 1e-12, "prefill_budget_tokens": 10**9}


def mean_ttft(outcome: Outcome) -> Interval:
    found = outcome.share(lambda rows: rows.ttft_sum_s, of=lambda rows: rows.ttft_n)
    assert found is not None
    return found


def covers(interval: Interval, expected: float, *, slack: float = 0.0) -> bool:
    """Within the 99.9 % interval (twice the 95 % half-width of 16 batches), plus what discreteness adds."""
    half = interval.high - interval.value
    return abs(interval.value - expected) <= 2 * half + slack * expected


def test_equal_prompts_one_a_step_are_an_m_d_1_queue() -> None:
    """Mean sojourn D·(1 + ρ/(2(1 − ρ))); Kleinrock, Queueing Systems I, eq. 5.63."""
    server = Config(prefill_units=1, prefill_s_per_token=1e-4, prefill_budget_tokens=1000, **NO_DECODE, **ROOMY)
    for rho in (0.5, 0.8):
        arrivals = Poisson(rho / 0.1, Lengths(input_tokens=1000, output_tokens=0), duration_s=40_000.0)
        found = simulate(server, arrivals=arrivals, warmup_s=500.0, seed=2)
        mean = mean_ttft(found)
        expected = 0.1 * (1 + rho / (2 * (1 - rho)))
        assert covers(mean, expected)
        assert mean.high - mean.low < 0.06 * expected


def test_exponential_prompts_are_an_m_m_1_queue() -> None:
    """Sojourn is exponential with rate μ − λ. A prompt ends with its step of 10 tokens: 1 % of a mean service."""
    lengths = np.maximum(1, np.rint(np.random.default_rng(9).exponential(1000.0, 400_000)))
    server = Config(prefill_units=1, prefill_s_per_token=1e-4, prefill_budget_tokens=10, **NO_DECODE, **ROOMY)
    arrivals = Poisson(7.0, Lengths(1, 0), duration_s=8000.0, sample=sample_of(lengths, np.zeros_like(lengths)))
    found = simulate(server, arrivals=arrivals, warmup_s=200.0, seed=3)
    mean_service_s = float(lengths.mean()) * 1e-4
    expected = 1 / (1 / mean_service_s - 7.0)
    assert covers(mean_ttft(found), expected, slack=0.01)
    p99 = found.quantile("ttft", q=0.99)
    assert p99 is not None
    assert covers(p99, math.log(100) * expected, slack=0.01)


def test_decoding_at_a_constant_step_is_an_infinite_server() -> None:
    """The mean number decoding is λ·E[o]·T whatever the spread of lengths (M/G/∞)."""
    unit = Config(decode_units=1, step_s=0.05, step_s_per_sequence=0.0, step_s_per_kv_token=0.0, **NO_PREFILL, **ROOMY)
    lengths = Lengths(input_tokens=10, output_tokens=200, output_sigma=0.8)
    found = simulate(unit, arrivals=Poisson(50.0, lengths, duration_s=4000.0), warmup_s=400.0)
    # Var of a time average ≈ 2·mean·E[S²]/(2E[S])/span: 0.6 of 500 here; the standard error of the mean length adds.
    assert found.rates["running"] == pytest.approx(500.0, rel=0.02)
    tpot = found.quantile("tpot", q=0.99)
    assert tpot is not None
    assert tpot.value == pytest.approx(0.05, rel=0.005)


def test_decoding_at_a_step_that_grows_with_the_batch_is_processor_sharing() -> None:
    """The mean number decoding is ρ/(1 − ρ), insensitive to the spread (M/G/1-PS); joins wait for a step's end."""
    rho, tokens = 0.7, 400
    each_s = rho / (tokens * 2.0)
    unit = Config(
        decode_units=1, step_s=0.0, step_s_per_sequence=each_s, step_s_per_kv_token=0.0, **NO_PREFILL, **ROOMY
    )
    means = []
    for sigma in (0.0, 0.6):
        lengths = Lengths(input_tokens=1, output_tokens=tokens, output_sigma=sigma)
        arrivals = Poisson(2.0, lengths, duration_s=30_000.0)
        means.append(simulate(unit, arrivals=arrivals, warmup_s=1000.0, seed=4).rates["running"])
    assert means == pytest.approx([rho / (1 - rho)] * 2, rel=0.06)


def test_littles_law_holds() -> None:
    """Sequences decoding = rate of finishing × time from first to last token (+ the first step)."""
    unit = Config(
        decode_units=3, step_s=0.01, step_s_per_sequence=2e-4, step_s_per_kv_token=1e-8, **NO_PREFILL, **ROOMY
    )
    lengths = Lengths(input_tokens=100, output_tokens=100, output_sigma=0.5)
    found = simulate(unit, arrivals=Poisson(60.0, lengths, duration_s=2000.0), warmup_s=100.0)
    tallies = found.batches
    stay_s = tallies.e2e_sum_s.sum() / tallies.finished.sum() - tallies.ttft_sum_s.sum() / tallies.ttft_n.sum()
    step_s = tallies.tpot_sum_s.sum() / tallies.tpot_n.sum()
    assert found.rates["running"] == pytest.approx(found.rates["finished_per_s"] * (stay_s + step_s), rel=0.01)

"""Small systems for the tests, and a fingerprint of everything that a run has found."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sims.parts.arrivals import Lengths, Poisson, Table
from sims.systems.llm_serving import Config, Outcome, simulate
from sims.systems.llm_serving.audit import audit

LENGTHS = Lengths(
    input_tokens=300, output_tokens=60, input_sigma=0.7, output_sigma=0.8, prefix_hit_rate=0.5, spread_hits=True
)


def config(*, aggregated: bool = False, **changes: Any) -> Config:
    """Two units of each sort; a decode unit holds about sixty requests."""
    values: dict[str, Any] = {
        "aggregated": aggregated,
        "prefill_units": 0 if aggregated else 2,
        "decode_units": 2,
        "prefill_ranks": 2,
        "decode_ranks": 1 if aggregated else 2,
        "prefill_budget_tokens": 256,
        "prefill_step_s": 0.002,
        "prefill_s_per_token": 1e-4,
        "step_s": 0.01,
        "step_s_per_sequence": 1e-4,
        "step_s_per_kv_token": 1e-7,
        "kv_capacity_tokens": 20_000,
        "egress_s_per_token": 1e-6,
        "ingress_s_per_token": 5e-7,
        "hand_over_s": 0.001,
        "gateway_s": 0.003,
        "ttft_slo_s": 0.2,
        "tpot_slo_s": 0.02,
    }
    return Config(**{**values, **changes})


def poisson(*, rate: float = 40.0, lengths: Lengths = LENGTHS, **limits: Any) -> Poisson:
    return Poisson(rate, lengths, **(limits or {"duration_s": 30.0}))


def audited(setup: Config, **options: Any) -> Outcome:
    """A run whose invariants are checked at every sample."""
    return simulate(setup, check=lambda plane: audit(plane.state), **options)


def sample_of(prompts: np.ndarray, answers: np.ndarray) -> Table:
    """A table to draw lengths from."""
    return Table(at_s=np.zeros(len(prompts)), input=prompts.astype(np.int64), output=answers.astype(np.int64))


def fingerprint(outcome: Outcome) -> str:
    """All histograms, tallies, counts and rates."""
    state = hashlib.sha256()
    for name in sorted(outcome.histograms):
        state.update(outcome.histograms[name].tobytes())
    state.update(outcome.batches.tobytes())
    counts = (outcome.events, outcome.arrived, outcome.finished, outcome.rejected, outcome.in_flight, outcome.restarted)
    state.update(repr((counts, outcome.simulated_s, sorted(outcome.rates.items()))).encode())
    return state.hexdigest()

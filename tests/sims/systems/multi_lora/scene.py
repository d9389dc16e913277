"""Small fleets with adapters for the tests, and a fingerprint of everything that a run has found."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sims.parts.arrivals import Lengths, Poisson, Table
from sims.systems.multi_lora import AdapterRequests, Config, Outcome, Popularity, simulate
from sims.systems.multi_lora.audit import audit

LENGTHS = Lengths(
    input_tokens=300, output_tokens=60, input_sigma=0.7, output_sigma=0.8, prefix_hit_rate=0.3, spread_hits=True
)
COUNT = 24


def config(**changes: Any) -> Config:
    """Three replicas with four slots each for twenty-four adapters, all of whose mechanisms are at work."""
    values: dict[str, Any] = {
        "replicas": 3,
        "adapters": COUNT,
        "slots": 4,
        "host_adapters": 8,
        "step_s": 0.01,
        "step_s_per_sequence": 1e-4,
        "step_s_per_kv_token": 1e-7,
        "prefill_s_per_token": 1e-4,
        "prefill_step_s": 0.002,
        "prefill_budget_tokens": 512,
        "kv_capacity_tokens": 8000,
        "max_running": 16,
        "lora_step_s": 0.001,
        "lora_s_per_adapter": 2e-4,
        "lora_s_per_sequence": 1e-5,
        "adapter_bytes": 80e6,
        "swap_bytes_per_s": 25e9,
        "swap_fixed_s": 0.005,
        "swap_layer_s": 0.001,
        "store_first_byte_s": 0.1,
        "store_bytes_per_s": 700e6,
        "store_downloads": 2,
        "gateway_s": 0.003,
        "ttft_slo_s": 0.5,
        "tpot_slo_s": 0.02,
    }
    return Config(**{**values, **changes})


def asked(*, rate: float = 30.0, exponent: float = 1.0, adapters: int = COUNT, **options: Any) -> AdapterRequests:
    """Poisson arrivals with Zipf's popularity."""
    limits = {name: options.pop(name) for name in ("duration_s", "requests") if name in options} or {"duration_s": 30.0}
    lengths = options.pop("lengths", LENGTHS)
    sample = options.pop("sample", None)
    popularity = options.pop("popularity", Popularity.zipf(adapters, exponent=exponent))
    return AdapterRequests(Poisson(rate, lengths, sample=sample, **limits), popularity, **options)


def audited(setup: Config, *, samples: int = 60, **options: Any) -> Outcome:
    """A run whose invariants are checked at every sample."""
    return simulate(setup, check=audit, samples=samples, **options)


def sample_of(prompts: np.ndarray, answers: np.ndarray) -> Table:
    """A table to draw lengths from."""
    return Table(at_s=np.zeros(len(prompts)), input=prompts.astype(np.int64), output=answers.astype(np.int64))


def fingerprint(outcome: Outcome) -> str:
    """All histograms, tallies, counts, bills and requests written down."""
    state = hashlib.sha256()
    for name in sorted(outcome.histograms):
        state.update(outcome.histograms[name].tobytes())
    for rows in (outcome.batches, outcome.tenants, outcome.replicas, outcome.distinct_s, outcome.log):
        state.update(np.asarray(rows).tobytes())
    state.update(repr((outcome.events, sorted(outcome.counts.items()), outcome.simulated_s)).encode())
    return state.hexdigest()

"""TTFT and TPOT of a fleet as it stands, at one or many request rates.

Past saturation a figure is None. Prefill: prompts queue for the attention ranks of all prefill units (M/G/c).
Decode: the sequences of a unit step together; their number is Poisson around its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.formulas import lengths, queueing
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.spec import LlmServingSpec

POINTS = 160
"""Values that stand for the distribution of prompt lengths: their P99 is within 0.3 % at sigma 1."""


@dataclass(frozen=True, slots=True)
class Decode:
    """A decode GPU at a load: sequences on it and the time of a step; None past saturation."""

    batch: float | None
    step_s: float | None
    rho: float
    """Load over the most that the pool can do at any TPOT."""

    stretch: float
    """Mean time between two steps over the time of a step: prefill chunks run in between when both share a GPU."""


@dataclass(frozen=True, slots=True)
class Ttft:
    """The parts of a first token: constants, and what grows with the prompt; None past saturation."""

    constant_s: float
    per_prompt_s: float
    handover_s: float
    """Of ``per_prompt_s``: the KV on the wire."""
    waiting: float | None
    mean_wait_s: float | None
    rho: float

    @property
    def is_stable(self) -> bool:
        return self.waiting is not None


def decode_at(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float) -> Decode:
    """Fixed point of batch and step time, limited by the KV pool."""
    gpus = fleet.decode.gpus
    tokens_per_gpu = rps * spec.output_tokens / gpus if gpus else 0.0
    shared = _prefill_work(spec, physics=physics, rps=rps) / gpus if gpus and spec.is_aggregated else 0.0
    if gpus == 0:
        return Decode(batch=0.0, step_s=physics.decode_fixed_s, rho=0.0, stretch=1.0)
    if shared >= 1:
        return Decode(batch=None, step_s=None, rho=shared, stretch=math.inf)
    stretch = 1 / (1 - shared)
    fixed_s, slope_s = physics.decode_fixed_s * stretch, physics.decode_per_sequence_s * stretch
    most = physics.kv_sequences_per_gpu
    most_per_s = most / (fixed_s + slope_s * most) if most > 0 else 0.0
    rho = tokens_per_gpu / most_per_s if most_per_s else math.inf if tokens_per_gpu else 0.0
    batch = queueing.linear_batch(demand_per_s=tokens_per_gpu, fixed_s=fixed_s, per_item_s=slope_s)
    if batch is None or batch > most:
        return Decode(batch=None, step_s=None, rho=max(rho, 1.0), stretch=stretch)
    return Decode(batch=batch, step_s=(fixed_s + slope_s * batch) / stretch, rho=rho, stretch=stretch)


def tpot_s(probability: float, *, physics: Physics, fleet: Fleet, decode: Decode) -> float | None:
    """Quantile of the time per output token: the batch of a unit fluctuates like a Poisson number."""
    if decode.batch is None:
        return None
    unit_gpus = fleet.decode.unit_gpus
    batch = queueing.poisson_quantile(probability, mean=decode.batch * unit_gpus) / unit_gpus
    return decode.stretch * (physics.decode_fixed_s + physics.decode_per_sequence_s * batch)


def ttft_at(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float, decode: Decode) -> Ttft:
    """Gateway, queue, prefill, hand-over and the first decode step of one request rate."""
    pool = fleet.decode if spec.is_aggregated else fleet.prefill
    servers = pool.units * physics.prefill_lanes
    computed = spec.computed_input_tokens
    token_s = physics.prefill_token_s
    step_s = decode.step_s or 0.0
    if spec.is_aggregated:
        token_s += step_s / physics.prefill_step_tokens
    busy_s = computed * (token_s + physics.prefill_step_fixed_s / physics.prefill_step_tokens)
    handover_s = 0.0
    first_step_s = step_s / 2
    if physics.nic_bytes_per_s is not None:
        rank_gpus = physics.prefill_unit_gpus / physics.prefill_lanes
        handover_s = spec.input_tokens * physics.kv_bytes_per_token / (physics.nic_bytes_per_s * rank_gpus)
        first_step_s = 1.5 * step_s
    fixed_s = physics.prefill_step_fixed_s if computed > 0 else 0.0
    constant_s = physics.gateway_s + physics.handover_fixed_s + fixed_s + first_step_s
    per_prompt_s = computed * token_s + handover_s
    offered = rps * busy_s
    waiting: float | None = 0.0
    mean_wait_s: float | None = 0.0
    if rps > 0 and computed > 0:
        waiting = queueing.erlang_c(offered, servers=servers) if servers else None
        mean_wait_s = None
        if waiting is not None:
            variation = lengths.squared_variation(spec.input_sigma)
            mean_wait_s = queueing.mean_wait_s(offered, servers=servers, service_s=busy_s, service_scv=variation)
    if decode.batch is None:
        waiting = mean_wait_s = None
    return Ttft(constant_s, per_prompt_s, handover_s, waiting, mean_wait_s, offered / servers if servers else 0.0)


def ttft_quantiles_s(
    probabilities: Sequence[float], *, spec: LlmServingSpec, ttfts: Sequence[Ttft]
) -> list[float | None]:
    """One quantile for each load point; None where it is not stable."""
    stable = [ttft for ttft in ttfts if ttft.is_stable]
    if not stable:
        return [None] * len(ttfts)
    shape = lengths.equally_likely(POINTS, sigma=spec.input_sigma)
    waiting = np.array([ttft.waiting or 0.0 for ttft in stable])
    wait_s = np.array([ttft.mean_wait_s or 0.0 for ttft in stable]) / np.maximum(waiting, 1e-300)
    found = queueing.delay_quantiles_s(
        [p for p, ttft in zip(probabilities, ttfts, strict=True) if ttft.is_stable],
        waiting=waiting,
        wait_if_waiting_s=wait_s,
        service_s=np.array([ttft.per_prompt_s for ttft in stable])[:, None] * shape,
    )
    values = iter(found + np.array([ttft.constant_s for ttft in stable]))
    return [float(next(values)) if ttft.is_stable else None for ttft in ttfts]


def share_within_ttft(spec: LlmServingSpec, *, ttft: Ttft, limit_s: float) -> float | None:
    """Share of requests whose first token comes in time; None past saturation."""
    if ttft.waiting is None or ttft.mean_wait_s is None:
        return None
    service_s = ttft.per_prompt_s * lengths.equally_likely(POINTS, sigma=spec.input_sigma)
    over_s = limit_s - ttft.constant_s - service_s
    tail = np.zeros_like(over_s)
    if ttft.waiting > 0 and ttft.mean_wait_s > 0:
        tail = ttft.waiting * np.exp(-np.maximum(over_s, 0.0) * ttft.waiting / ttft.mean_wait_s)
    return float(np.where(over_s >= 0, 1 - tail, 0.0).mean())


def share_within_tpot(*, limit_s: float, physics: Physics, fleet: Fleet, decode: Decode) -> float | None:
    """Share of requests whose mean gap stays within the limit; None past saturation."""
    if decode.batch is None:
        return None
    mean = decode.batch * fleet.decode.unit_gpus
    slope_s = decode.stretch * physics.decode_per_sequence_s
    if mean <= 0 or slope_s <= 0:
        return 1.0 if decode.stretch * physics.decode_fixed_s <= limit_s else 0.0
    most = (limit_s - decode.stretch * physics.decode_fixed_s) / slope_s * fleet.decode.unit_gpus
    return 0.5 * math.erfc((mean - most) / math.sqrt(2 * mean))


def _prefill_work(spec: LlmServingSpec, *, physics: Physics, rps: float) -> float:
    """GPUs kept busy by prefill."""
    return rps * spec.computed_input_tokens / physics.prefill_tokens_per_s_per_gpu

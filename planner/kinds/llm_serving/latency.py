"""TTFT and TPOT of a fleet as it stands, at one or many request rates.

Past saturation a figure is None. Prefill: prompts queue for the attention ranks of all prefill units (M/G/c).
Decode: the sequences of a unit step together; their number is Poisson around its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import lengths, queueing
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.prompts import POINTS, Prompts, prefill_at
from planner.kinds.llm_serving.spec import LlmServingSpec


@dataclass(frozen=True, slots=True)
class Decode:
    """A decode GPU at a load: sequences on it and the time of a step; None past saturation."""

    batch: float | None
    step_s: float | None
    rho: float
    """Load over the most that the pool can do at any TPOT."""

    stretch: float
    """Mean time between two steps over the time of a step: prefill chunks run in between when both share a GPU."""

    chunks_per_answer: float = 0.0
    """Chunks of prefill that run while an answer is written, on its GPU."""


@dataclass(frozen=True, slots=True)
class Ttft:
    """The parts of a first token: constants, and what grows with the prompt; None past saturation."""

    constant_s: float
    service_s: NDArray[np.float64]
    """Prefill and hand-over of equally likely prompts."""
    handover_s: float
    """Of the mean of ``service_s``: the KV on the wire."""
    step_wait_s: float
    """Of ``constant_s``: the rest of the step that runs when a prompt comes."""
    first_step_s: float
    """Of ``constant_s``: the decode step that gives the first token."""
    waiting: float | None
    mean_wait_s: float | None
    rho: float

    @property
    def is_stable(self) -> bool:
        return self.waiting is not None

    @property
    def prefill_s(self) -> float:
        """Mean time that the prefill of a prompt takes."""
        return float(self.service_s.mean()) - self.handover_s


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
    gap_s = fixed_s + slope_s * batch
    chunks = 0.0
    if shared > 0:
        chunks_per_prompt = max(1.0, spec.computed_input_tokens / physics.prefill_step_tokens)
        chunks = rps / fleet.decode.units * chunks_per_prompt * spec.output_tokens * gap_s
    return Decode(batch=batch, step_s=gap_s / stretch, rho=rho, stretch=stretch, chunks_per_answer=chunks)


def tpot_s(probability: float, *, physics: Physics, fleet: Fleet, decode: Decode) -> float | None:
    """Quantile of the time per output token.

    The batch of a unit fluctuates like a Poisson number, and so do the chunks of prefill that an answer has to let
    pass when both share a GPU; the two deviations add as squares.
    """
    if decode.batch is None:
        return None
    unit_gpus = fleet.decode.unit_gpus
    batch = queueing.poisson_quantile(probability, mean=decode.batch * unit_gpus) / unit_gpus
    gap_s = decode.stretch * (physics.decode_fixed_s + physics.decode_per_sequence_s * decode.batch)
    by_batch_s = decode.stretch * physics.decode_per_sequence_s * (batch - decode.batch)
    by_chunks_s = 0.0
    if decode.chunks_per_answer > 0:
        met = queueing.poisson_quantile(probability, mean=decode.chunks_per_answer) / decode.chunks_per_answer
        by_chunks_s = gap_s * (1 - 1 / decode.stretch) * (met - 1)
    return gap_s + math.copysign(math.hypot(by_batch_s, by_chunks_s), by_batch_s + by_chunks_s)


def ttft_at(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float, decode: Decode) -> Ttft:
    """Gateway, queue, prefill, hand-over and the first decode step of one request rate."""
    pool = fleet.decode if spec.is_aggregated else fleet.prefill
    step_s = decode.step_s or 0.0
    prompts = prefill_at(
        spec, physics=physics, rps_per_unit=rps / pool.units if pool.units else 0.0, decode_step_s=step_s
    )
    shape = lengths.equally_likely(POINTS, sigma=spec.input_sigma)
    handover_s = _handover_s(spec, physics=physics)
    first_step_s = step_s / 2 if physics.nic_bytes_per_s is None else 1.5 * step_s
    waiting, mean_wait_s, rho = _wait(spec, physics=physics, units=pool.units, rps=rps, prompts=prompts)
    if decode.batch is None:
        waiting = mean_wait_s = None
    return Ttft(
        constant_s=physics.gateway_s + physics.handover_fixed_s + first_step_s + prompts.step_wait_s,
        service_s=prompts.service_s + handover_s * shape,
        handover_s=handover_s,
        step_wait_s=prompts.step_wait_s,
        first_step_s=first_step_s,
        waiting=waiting,
        mean_wait_s=mean_wait_s,
        rho=rho,
    )


def _handover_s(spec: LlmServingSpec, *, physics: Physics) -> float:
    """Time of the KV of a mean prompt on the NICs of its rank."""
    if physics.nic_bytes_per_s is None:
        return 0.0
    rank_gpus = physics.prefill_unit_gpus / physics.prefill_lanes
    return spec.input_tokens * physics.kv_bytes_per_token / (physics.nic_bytes_per_s * rank_gpus)


def _wait(
    spec: LlmServingSpec, *, physics: Physics, units: int, rps: float, prompts: Prompts
) -> tuple[float | None, float | None, float]:
    """Probability of waiting for a rank, the mean wait, and the load of the ranks with full steps."""
    if rps <= 0 or prompts.full_rate_s <= 0:
        return 0.0, 0.0, 0.0
    servers = units * physics.prefill_lanes
    if not servers:
        return None, None, math.inf
    rho = rps * prompts.full_rate_s / servers
    if rho >= 1:
        return None, None, rho
    held = rps * float(prompts.service_s.mean()) / servers
    offered = servers * (rho + (min(held, 1.0) - rho) * (1 - rho))
    waiting = queueing.erlang_c(offered, servers=servers)
    mean_wait_s = queueing.mean_wait_s(
        offered,
        servers=servers,
        service_s=offered / rps,
        service_scv=lengths.squared_variation(spec.input_sigma),
    )
    return waiting, mean_wait_s, rho


def ttft_quantiles_s(probabilities: Sequence[float], *, ttfts: Sequence[Ttft]) -> list[float | None]:
    """One quantile for each load point; None where it is not stable."""
    stable = [ttft for ttft in ttfts if ttft.is_stable]
    if not stable:
        return [None] * len(ttfts)
    waiting = np.array([ttft.waiting or 0.0 for ttft in stable])
    wait_s = np.array([ttft.mean_wait_s or 0.0 for ttft in stable]) / np.maximum(waiting, 1e-300)
    found = queueing.delay_quantiles_s(
        [p for p, ttft in zip(probabilities, ttfts, strict=True) if ttft.is_stable],
        waiting=waiting,
        wait_if_waiting_s=wait_s,
        service_s=np.stack([ttft.service_s for ttft in stable]),
    )
    values = iter(found + np.array([ttft.constant_s for ttft in stable]))
    return [float(next(values)) if ttft.is_stable else None for ttft in ttfts]


def share_within_ttft(ttft: Ttft, *, limit_s: float) -> float | None:
    """Share of requests whose first token comes in time; None past saturation."""
    if ttft.waiting is None or ttft.mean_wait_s is None:
        return None
    over_s = limit_s - ttft.constant_s - ttft.service_s
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

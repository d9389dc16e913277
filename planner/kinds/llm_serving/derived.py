"""Rates of a GPU from the figures of LLM and GPU: the calibrated roofline, capped by TPOT and KV memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from scipy.optimize import brentq

from planner.core.catalog import Catalog, Gpu
from planner.core.result import Basis
from planner.kinds.llm_serving.nearest import Pool, pool, worst
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.units import Unit, UnitStep, unit

_PRECISION = 1e-10
"""Of the batch that an objective allows: where the search for it ends."""
_LIGHT = 0.25
"""Share of the limit at which the straight line meets the roofline again; in between they differ by less than 2 %."""
DRAFTED_TOKENS = 1
"""Tokens that one MTP module drafts a step."""


@dataclass(frozen=True, slots=True)
class Derived:
    """Rates with their 80 % range, and the shape of a decode step around its limit."""

    prefill_tokens_per_s_per_gpu: float
    prefill_low: float
    prefill_high: float
    decode_tokens_per_s_per_gpu: float
    decode_low: float
    decode_high: float
    decode_batch_per_gpu: float
    decode_fixed_s: float
    decode_per_sequence_s: float
    kv_read_s_per_token: float
    decode_bound: str
    """memory bandwidth | compute | network | launch overhead | KV capacity"""
    tpot_in_reach: bool
    """False when a step with one sequence a rank already takes longer than the TPOT objective."""
    pools: tuple[Pool, ...]
    """Decode first, then prefill where it has units of its own: what was measured of units like them."""
    spread: float
    """Half-width of the 80 % range of the times, as a factor."""

    @property
    def basis(self) -> Basis:
        return worst(self.pools)

    @property
    def decode_fixed_share(self) -> float:
        """Part of a step at the limit that does not grow with the batch."""
        whole_s = self.decode_fixed_s + self.decode_per_sequence_s * self.decode_batch_per_gpu
        return self.decode_fixed_s / whole_s


@dataclass(frozen=True, slots=True)
class _DecodeUnit:
    """A decode unit whose step time per accepted token can be asked for any batch."""

    made: Unit
    gpus: int
    context_tokens: float
    verified: float
    accepted: float
    timed: dict[float, UnitStep] = field(default_factory=dict)
    """Steps by their batch: the searches for several objectives ask for the same ends."""

    def step(self, per_gpu: float) -> UnitStep:
        if per_gpu not in self.timed:
            self.timed[per_gpu] = self.made.step(
                per_gpu=per_gpu, context_tokens=self.context_tokens, tokens_per_sequence=self.verified
            )
        return self.timed[per_gpu]

    @property
    def one_each(self) -> float:
        """Sequences a GPU when each rank has one."""
        return self.made.lanes / self.gpus

    def tpot_s(self, per_gpu: float) -> float:
        return self.step(per_gpu).total_s / self.accepted

    def batch_at(self, tpot_s: float, *, most: float) -> float:
        """Sequences a GPU at which a token takes ``tpot_s``, at most ``most``; 0 when even one is too slow."""
        if self.tpot_s(most) <= tpot_s:
            return most
        if self.tpot_s(0.0) >= tpot_s:
            return 0.0
        return float(brentq(lambda batch: self.tpot_s(batch) - tpot_s, 0.0, most, rtol=_PRECISION))


@dataclass(frozen=True, slots=True)
class _Limit:
    """The batch of a GPU at which the TPOT objective is just met, of at most ``most``."""

    batch: float
    most: float
    in_reach: bool


def _decode_unit(spec: LlmServingSpec, *, rank_gpus: int, catalog: Catalog) -> _DecodeUnit:
    llm = catalog.llm(spec.llm)
    drafts = spec.mtp == "on" and llm.mtp_layers > 0
    return _DecodeUnit(
        made=unit(
            spec,
            llm=llm,
            gpu=catalog.gpu(spec.decode_gpu or spec.gpu),
            unit_gpus=spec.decode_unit_gpus,
            rank_gpus=rank_gpus,
            catalog=catalog,
        ),
        gpus=spec.decode_unit_gpus,
        context_tokens=spec.mean_context_tokens,
        verified=1.0 + (DRAFTED_TOKENS if drafts else 0),
        accepted=1.0 + (spec.mtp_accepted_tokens if drafts else 0.0),
    )


def _limit(decode: _DecodeUnit, *, tpot_s: float, kv_sequences_per_gpu: float) -> _Limit:
    most = max(kv_sequences_per_gpu, decode.one_each)
    batch = decode.batch_at(tpot_s, most=most)
    return _Limit(batch=max(batch, decode.one_each), most=most, in_reach=batch >= decode.one_each * 0.999)


@dataclass(frozen=True, slots=True)
class DecodeAlone:
    """A decode GPU at the TPOT objective, without ranges, evidence and prefill."""

    tokens_per_s: float
    fixed_s: float
    """Part of a step that does not grow with the batch."""
    in_reach: bool


def decode_alone(
    spec: LlmServingSpec, *, catalog: Catalog, decode_rank_gpus: int, kv_sequences_per_gpu: float
) -> DecodeAlone:
    """What `derive` finds of decode; raises `MissingFigure` when the catalog lacks a figure."""
    decode = _decode_unit(spec, rank_gpus=decode_rank_gpus, catalog=catalog)
    limit = _limit(decode, tpot_s=spec.tpot_slo_s, kv_sequences_per_gpu=kv_sequences_per_gpu)
    whole_s, fixed_s = _line(decode, batch=limit.batch)
    return DecodeAlone(limit.batch / whole_s, fixed_s, limit.in_reach)


def prefill_rate(spec: LlmServingSpec, *, gpu: Gpu, unit_gpus: int, rank_gpus: int, catalog: Catalog) -> float:
    """Computed tokens a second and prefill GPU."""
    made = unit(spec, llm=catalog.llm(spec.llm), gpu=gpu, unit_gpus=unit_gpus, rank_gpus=rank_gpus, catalog=catalog)
    return made.prefill_rate(
        step_tokens=spec.prefill_step_tokens / unit_gpus,
        new_tokens=max(1.0, spec.computed_input_tokens),
        cached_tokens=spec.input_tokens * spec.prefix_hit_rate,
    )


def _line(decode: _DecodeUnit, *, batch: float) -> tuple[float, float]:
    """Time of a step at its limit, and its fixed part by the line that meets the roofline there and lower down."""
    at_limit, light = decode.step(batch), decode.step(_LIGHT * batch)
    slope_s = max((at_limit.total_s - light.total_s) / ((1 - _LIGHT) * batch), 1e-9) / decode.accepted
    whole_s = at_limit.total_s / decode.accepted
    return whole_s, max(whole_s - slope_s * batch, 0.02 * whole_s)


def derive(
    spec: LlmServingSpec,
    *,
    catalog: Catalog,
    prefill_unit_gpus: int,
    prefill_rank_gpus: int,
    decode_rank_gpus: int,
    kv_sequences_per_gpu: float,
) -> Derived:
    """Rates of this LLM on these GPUs; raises `MissingFigure` when the catalog lacks one."""
    decode_gpu = catalog.gpu(spec.decode_gpu or spec.gpu)
    prefill_gpu = decode_gpu if spec.is_aggregated else catalog.gpu(spec.gpu)
    prefill_tokens_per_s = prefill_rate(
        spec, gpu=prefill_gpu, unit_gpus=prefill_unit_gpus, rank_gpus=prefill_rank_gpus, catalog=catalog
    )
    decode = _decode_unit(spec, rank_gpus=decode_rank_gpus, catalog=catalog)
    limit = _limit(decode, tpot_s=spec.tpot_slo_s, kv_sequences_per_gpu=kv_sequences_per_gpu)
    batch, most = limit.batch, limit.most
    pools = _pools(
        spec,
        prefill=(prefill_gpu, prefill_unit_gpus, prefill_rank_gpus),
        decode=(decode_gpu, spec.decode_unit_gpus, decode_rank_gpus),
        batch=batch,
        most=most,
        catalog=catalog,
    )
    interval = catalog.calibration("roofline")["interval"]["seen" if worst(pools) == "calibrated" else "unseen"]
    low, high = (
        max(decode.batch_at(spec.tpot_slo_s * factor, most=most), 0.5 * decode.one_each)
        for factor in (1 / interval["tpot"], interval["tpot"])
    )
    at_limit = decode.step(batch)
    whole_s, fixed_s = _line(decode, batch=batch)
    rate = batch / whole_s
    return Derived(
        prefill_tokens_per_s_per_gpu=prefill_tokens_per_s,
        prefill_low=prefill_tokens_per_s / interval["throughput"],
        prefill_high=prefill_tokens_per_s * interval["throughput"],
        decode_tokens_per_s_per_gpu=rate,
        decode_low=min(rate, low / (decode.tpot_s(low) * interval["tpot"])),
        decode_high=max(rate, high / (decode.tpot_s(high) / interval["tpot"])),
        decode_batch_per_gpu=batch,
        decode_fixed_s=fixed_s,
        decode_per_sequence_s=(whole_s - fixed_s) / batch,
        kv_read_s_per_token=at_limit.kv_s / decode.accepted / (batch * spec.mean_context_tokens),
        decode_bound="KV capacity" if batch >= most else at_limit.bottleneck,
        tpot_in_reach=limit.in_reach,
        pools=pools,
        spread=interval["tpot"],
    )


def _pools(
    spec: LlmServingSpec,
    *,
    prefill: tuple[Gpu, int, int],
    decode: tuple[Gpu, int, int],
    batch: float,
    most: float,
    catalog: Catalog,
) -> tuple[Pool, ...]:
    """Units of each pool (GPU, GPUs, GPUs of a rank) as measurements see them, decode with its batch at the limit."""
    llm = catalog.llm(spec.llm)
    gpu, gpus, rank = decode
    name = "replica" if spec.is_aggregated else "decode"
    first = pool(
        spec, name=name, llm=llm, gpu=gpu, unit_gpus=gpus, rank_gpus=rank, held=batch * gpus, most=most * gpus,
        catalog=catalog,
    )  # fmt: skip
    if spec.is_aggregated:
        return (first,)
    gpu, gpus, rank = prefill
    lanes = max(1.0, gpus / rank)
    return first, pool(
        spec, name="prefill", llm=llm, gpu=gpu, unit_gpus=gpus, rank_gpus=rank, held=lanes, most=lanes, catalog=catalog
    )

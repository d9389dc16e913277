"""What one prefill unit and one decode unit can do: rates, step times, memory and links, as plain numbers.

Estimate and simulation read the same `Physics`; they differ only in how they queue.

Prefill: a unit has ``prefill_lanes`` attention ranks. A prompt runs on one of them, in steps of at most
``prefill_step_tokens`` tokens that last ``prefill_step_fixed_s + tokens * prefill_token_s``.
Decode: the ``decode_lanes`` ranks of a unit step together. A step with ``b`` sequences a GPU lasts
``decode_fixed_s + b * (decode_sequence_s + context * decode_kv_token_s)`` and gives each sequence one token (accepted
drafts are counted into the step time).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.catalog import Catalog, Gpu, Llm
from planner.core.result import Basis
from planner.formulas import attention, memory, weights
from planner.kinds.llm_serving.derived import DecodeAlone, Derived, decode_alone, derive
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.units import redundant_experts


@dataclass(frozen=True, slots=True)
class Placement:
    """How a unit's GPUs share a sequence: ranks of ``rank_gpus`` GPUs each."""

    unit_gpus: int
    rank_gpus: int

    @property
    def lanes(self) -> int:
        return max(1, self.unit_gpus // self.rank_gpus)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a decode GPU; the terms sum to the visible memory (a negative spare means that it does not fit)."""

    visible_bytes: float
    weights_bytes: float
    runtime_bytes: float
    outside_bytes: float

    @property
    def kv_pool_bytes(self) -> float:
        return self.visible_bytes - self.outside_bytes - self.weights_bytes - self.runtime_bytes


@dataclass(frozen=True, slots=True)
class Physics:
    """Numbers of one prefill and one decode unit (in the aggregated layout both are the same unit)."""

    prefill_tokens_per_s_per_gpu: float
    prefill_unit_gpus: int
    prefill_lanes: int
    prefill_step_tokens: float
    prefill_step_fixed_s: float
    prefill_token_s: float

    decode_tokens_per_s_per_gpu: float
    decode_unit_gpus: int
    decode_lanes: int
    decode_fixed_s: float
    decode_sequence_s: float
    decode_kv_token_s: float
    tokens_per_step: float
    """Of a sequence on average, accepted drafts included; the times of decode above are divided by it."""

    context_tokens: float
    kv_bytes_per_token: float
    kv_copies: float
    """Bytes stored over bytes of one copy: latent caches are replicated over the GPUs of a rank."""
    prefill_kv_copies: float
    decode_memory: Memory
    prefill_memory: Memory
    nic_bytes_per_s: float | None
    """Usable bandwidth of a prefill GPU towards decode; None in the aggregated layout."""
    gateway_s: float
    handover_fixed_s: float

    derived: Derived
    basis: Basis
    """assumed | calibrated | extrapolated"""
    spread: float
    """Half-width of the range of the rates, as a factor above one."""

    @property
    def decode_per_sequence_s(self) -> float:
        """Extra step time of one more sequence a GPU at the mean context."""
        return self.decode_sequence_s + self.context_tokens * self.decode_kv_token_s

    @property
    def kv_bytes_per_sequence(self) -> float:
        """KV cache of a sequence of mean context, all copies."""
        return self.context_tokens * self.kv_bytes_per_token * self.kv_copies

    @property
    def kv_sequences_per_gpu(self) -> float:
        """Sequences of mean context that fit in the KV pool of a decode GPU."""
        return max(0.0, self.decode_memory.kv_pool_bytes) / self.kv_bytes_per_sequence

    @property
    def kv_tokens_per_decode_unit(self) -> float:
        """Tokens that the KV pools of a decode unit hold."""
        pool = max(0.0, self.decode_memory.kv_pool_bytes) * self.decode_unit_gpus
        return pool / (self.kv_bytes_per_token * self.kv_copies)

    @property
    def kv_tokens_per_prefill_unit(self) -> float:
        """Tokens that the KV pools of a prefill unit hold beside the prompts of a step."""
        pool = max(0.0, self.prefill_memory.kv_pool_bytes) * self.prefill_unit_gpus
        held = pool / (self.kv_bytes_per_token * self.prefill_kv_copies)
        return max(0.0, held - self.prefill_step_tokens * self.prefill_lanes)

    def slower(self, factor: float) -> Physics:
        """The same fleet with all rates divided by ``factor``."""
        return replace(
            self,
            prefill_tokens_per_s_per_gpu=self.prefill_tokens_per_s_per_gpu / factor,
            prefill_step_fixed_s=self.prefill_step_fixed_s * factor,
            prefill_token_s=self.prefill_token_s * factor,
            decode_tokens_per_s_per_gpu=self.decode_tokens_per_s_per_gpu / factor,
            decode_fixed_s=self.decode_fixed_s * factor,
            decode_sequence_s=self.decode_sequence_s * factor,
            decode_kv_token_s=self.decode_kv_token_s * factor,
        )


def physics(spec: LlmServingSpec, *, catalog: Catalog) -> Physics:
    """Everything a queueing model of this design needs to know about its hardware."""
    llm = catalog.llm(spec.llm)
    prefill_gpu, decode_gpu = catalog.gpu(spec.gpu), catalog.gpu(spec.decode_gpu or spec.gpu)
    decode_at = placement(llm, unit_gpus=spec.decode_unit_gpus, rank_gpus=spec.decode_rank_gpus, spec=spec)
    prefill_at = decode_at
    if spec.is_aggregated:
        prefill_gpu = decode_gpu
    else:
        prefill_at = placement(llm, unit_gpus=spec.prefill_unit_gpus, rank_gpus=spec.prefill_rank_gpus, spec=spec)
    decode_memory = gpu_memory(spec, llm=llm, gpu=decode_gpu, at=decode_at)
    derived = derive(
        spec,
        catalog=catalog,
        prefill_unit_gpus=prefill_at.unit_gpus,
        prefill_rank_gpus=prefill_at.rank_gpus,
        decode_rank_gpus=decode_at.rank_gpus,
        kv_sequences_per_gpu=kv_sequences_per_gpu(spec, llm=llm, memory=decode_memory, at=decode_at),
    )
    is_derived = spec.rate_mode == "derived"
    prefill_rate = derived.prefill_tokens_per_s_per_gpu if is_derived else spec.prefill_tokens_per_s_per_gpu
    decode_rate = derived.decode_tokens_per_s_per_gpu if is_derived else assumed_decode_rate(spec, llm=llm)
    step_tokens = max(1.0, spec.prefill_step_tokens / prefill_at.lanes)
    lane_rate = prefill_rate * prefill_at.unit_gpus / prefill_at.lanes
    fixed_s = min(spec.prefill_step_fixed_s, 0.9 * step_tokens / lane_rate)
    decode_fixed_s, decode_slope_s = _decode_step(spec, derived=derived, decode_rate=decode_rate)
    kv_read_s = min(derived.kv_read_s_per_token, decode_slope_s / spec.mean_context_tokens)
    return Physics(
        prefill_tokens_per_s_per_gpu=prefill_rate,
        prefill_unit_gpus=prefill_at.unit_gpus,
        prefill_lanes=prefill_at.lanes,
        prefill_step_tokens=step_tokens,
        prefill_step_fixed_s=fixed_s,
        prefill_token_s=1 / lane_rate - fixed_s / step_tokens,
        decode_tokens_per_s_per_gpu=decode_rate,
        decode_unit_gpus=decode_at.unit_gpus,
        decode_lanes=decode_at.lanes,
        decode_fixed_s=decode_fixed_s,
        decode_sequence_s=max(0.0, decode_slope_s - kv_read_s * spec.mean_context_tokens),
        decode_kv_token_s=kv_read_s,
        tokens_per_step=1 + (spec.mtp_accepted_tokens if spec.mtp == "on" and llm.mtp_layers else 0.0),
        context_tokens=spec.mean_context_tokens,
        kv_bytes_per_token=kv_bytes_per_token(spec, llm=llm),
        kv_copies=_kv_copies(llm, at=decode_at),
        prefill_kv_copies=_kv_copies(llm, at=prefill_at),
        decode_memory=decode_memory,
        prefill_memory=gpu_memory(spec, llm=llm, gpu=prefill_gpu, at=prefill_at),
        nic_bytes_per_s=None if spec.is_aggregated else prefill_gpu.figure("nic_bytes_per_s") * spec.nic_efficiency,
        gateway_s=spec.gateway_s,
        handover_fixed_s=0.0 if spec.is_aggregated else spec.handover_fixed_s,
        derived=derived,
        basis=derived.basis if is_derived else "assumed",
        spread=derived.spread if is_derived else 1 + spec.rate_uncertainty,
    )


def derived_decode(spec: LlmServingSpec, *, catalog: Catalog) -> DecodeAlone:
    """A decode GPU by the roofline, without all else that `physics` works out."""
    llm, gpu = catalog.llm(spec.llm), catalog.gpu(spec.decode_gpu or spec.gpu)
    at = placement(llm, unit_gpus=spec.decode_unit_gpus, rank_gpus=spec.decode_rank_gpus, spec=spec)
    return decode_alone(
        spec,
        catalog=catalog,
        decode_rank_gpus=at.rank_gpus,
        kv_sequences_per_gpu=kv_sequences_per_gpu(
            spec, llm=llm, memory=gpu_memory(spec, llm=llm, gpu=gpu, at=at), at=at
        ),
    )


def kv_sequences_per_gpu(spec: LlmServingSpec, *, llm: Llm, memory: Memory, at: Placement) -> float:
    """Sequences of mean context that the KV pool of a decode GPU holds."""
    held = spec.mean_context_tokens * kv_bytes_per_token(spec, llm=llm) * _kv_copies(llm, at=at)
    return max(0.0, memory.kv_pool_bytes) / held


def _kv_copies(llm: Llm, *, at: Placement) -> float:
    return at.rank_gpus / (1 if llm.mla else min(at.rank_gpus, llm.kv_heads))


def kv_bytes_per_token(spec: LlmServingSpec, *, llm: Llm) -> float:
    """KV cache of a token: as stated, else averaged over a sequence of mean context."""
    if spec.kv_bytes_per_token is not None:
        return spec.kv_bytes_per_token
    return derived_kv_bytes_per_token(spec, llm=llm)


def derived_kv_bytes_per_token(spec: LlmServingSpec, *, llm: Llm) -> float:
    """KV cache of a token from the LLM: bytes(mean context) over mean context, because windows and states bend it."""
    width = memory.kv_dtype_bytes(spec.kv_dtype)
    context = spec.mean_context_tokens
    return attention.request_kv_bytes(llm, tokens=context, dtype_bytes=width) / context


def assumed_decode_rate(spec: LlmServingSpec, *, llm: Llm) -> float:
    """The assumed rate holds with drafting; without it the gain of drafting is taken off again."""
    if spec.mtp == "on" or not llm.mtp_layers:
        return spec.decode_tokens_per_s_per_gpu
    return spec.decode_tokens_per_s_per_gpu * spec.mtp_step_cost / (1 + spec.mtp_accepted_tokens)


def placement(llm: Llm, *, unit_gpus: int, rank_gpus: int | None, spec: LlmServingSpec) -> Placement:
    usual = 1 if llm.mla else min(unit_gpus, spec.gpus_per_node)
    return Placement(unit_gpus=unit_gpus, rank_gpus=rank_gpus or usual)


def gpu_memory(spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, at: Placement) -> Memory:
    visible = gpu.figure("visible_memory_bytes" if gpu.has("visible_memory_bytes") else "memory_bytes")
    held = weights.rank_weight_bytes(
        llm,
        dtype=spec.weight_dtype,
        tensor_parallel=at.rank_gpus,
        data_parallel_attention=at.lanes,
        redundant_experts=redundant_experts(spec, llm=llm, unit_gpus=at.unit_gpus),
    )
    if spec.mtp == "on" and llm.mtp_layers:
        draft_width = memory.part_bytes_per_parameter(llm, part="attention", dtype=spec.weight_dtype)
        held += memory.parameters(llm)["mtp"] * draft_width / at.unit_gpus
    return Memory(
        visible_bytes=visible,
        weights_bytes=held,
        runtime_bytes=spec.runtime_bytes,
        outside_bytes=visible * (1 - spec.kv_memory_share),
    )


def _decode_step(spec: LlmServingSpec, *, derived: Derived, decode_rate: float) -> tuple[float, float]:
    """Fixed time of a decode step and the time a sequence adds, through the point (rate x TPOT, TPOT)."""
    share = derived.decode_fixed_share if spec.decode_step_fixed_share is None else spec.decode_step_fixed_share
    if spec.rate_mode == "derived" and spec.decode_step_fixed_share is None:
        return derived.decode_fixed_s, derived.decode_per_sequence_s
    batch = decode_rate * spec.tpot_slo_s
    return share * spec.tpot_slo_s, (1 - share) * spec.tpot_slo_s / batch


def own_cache_tokens(spec: LlmServingSpec, *, facts: Physics) -> float:
    """Tokens that a unit's own prefix cache may hold; on a replica only where no request does, so all at most."""
    return facts.kv_tokens_per_decode_unit if spec.is_aggregated else facts.kv_tokens_per_prefill_unit

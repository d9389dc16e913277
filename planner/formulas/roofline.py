"""Time of a decode step and of a prefill on one replica: a roofline with calibrated coefficients.

`replica` works out once what depends on LLM, GPUs and placement; `decode_step` and `prefill` only multiply. The
coefficients come from the catalog (`calibration.coefficients`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, collectives, moe
from planner.formulas.calibration import Coefficients
from planner.formulas.traffic import Layout, Traffic, peak_flops_per_s, precision

__all__ = [
    "Layout",
    "Prefill",
    "Replica",
    "Step",
    "decode_step",
    "peak_flops_per_s",
    "precision",
    "prefill",
    "replica",
    "with_overlap",
]

_ACTIVATION_PASSES = 8.0
"""Reads and writes of the residual width a layer, element-wise work between the GEMMs: a constant of the form."""


@dataclass(frozen=True, slots=True)
class Replica:
    """Everything `decode_step` and `prefill` multiply with: seconds per token, per expert, per byte of cache."""

    llm: Llm
    layout: Layout
    coefficients: Coefficients
    dense_read_s: float
    expert_read_s: float
    decode_gemm_s: float
    kv_dtype_bytes: float
    bandwidth_bytes_per_s: float
    attention_flops_per_s: float
    decode_communication_s: float
    decode_network_s: float
    decode_overhead_s: float
    prefill_gemm_s: float
    prefill_communication_s: float
    prefill_network_s: float
    prefill_activation_s: float


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step: parts sum to ``total_s``. ``bound`` names the larger of weights read and arithmetic."""

    weights_and_gemm_s: float
    kv_s: float
    communication_s: float
    overhead_s: float
    bound: str

    @property
    def total_s(self) -> float:
        return self.weights_and_gemm_s + self.kv_s + self.communication_s + self.overhead_s

    @property
    def bottleneck(self) -> str:
        """What takes the largest part of the step: memory bandwidth, compute, network or launch overhead."""
        parts = {
            self.bound: self.weights_and_gemm_s + self.kv_s,
            "network": self.communication_s,
            "launch overhead": self.overhead_s,
        }
        return max(parts, key=parts.__getitem__)


@dataclass(frozen=True, slots=True)
class Prefill:
    """One prefill: ``latency_s`` on its rank, ``busy_s`` of the whole replica, ``floor_s`` one read of the weights."""

    latency_s: float
    busy_s: float
    floor_s: float


def replica(
    llm: Llm, gpu: Gpu, *, layout: Layout, weight_dtype: str, coefficients: Coefficients, kv_dtype_bytes: float = 2.0
) -> Replica:
    """What depends on LLM, GPU and placement, worked out once.

    Parameters
    ----------
    llm, gpu : catalog entries; `MissingFigure` is raised when a needed figure is not published
    layout : placement of the replica
    weight_dtype : number format of the weights
    coefficients : from `calibration.coefficients`
    kv_dtype_bytes : width of a cached number [bytes]
    """
    bandwidth = gpu.figure("memory_bytes_per_s")
    traffic = Traffic(llm=llm, gpu=gpu, layout=layout, coefficients=coefficients, weight_dtype=weight_dtype)
    experts_at_once = min(llm.moe.top_k, 8) / 4 if llm.moe else 0.0
    activation = llm.layers * 2 * llm.hidden * _ACTIVATION_PASSES * (1 + experts_at_once)
    return Replica(
        llm=llm,
        layout=layout,
        coefficients=coefficients,
        dense_read_s=coefficients.weights_read * traffic.dense_bytes() / bandwidth,
        expert_read_s=coefficients.weights_read * traffic.expert_bytes() / bandwidth,
        decode_gemm_s=coefficients.decode_gemm * traffic.decode_gemm_s(),
        kv_dtype_bytes=kv_dtype_bytes,
        bandwidth_bytes_per_s=bandwidth,
        attention_flops_per_s=peak_flops_per_s(gpu, compute="bf16"),
        decode_communication_s=traffic.decode_communication_s(),
        decode_network_s=traffic.network_s(copies=float(llm.moe.top_k)) if llm.moe else 0.0,
        decode_overhead_s=traffic.overhead_s(),
        prefill_gemm_s=traffic.prefill_gemm_s(),
        prefill_communication_s=traffic.prefill_communication_s(),
        prefill_network_s=traffic.prefill_network_s(),
        prefill_activation_s=coefficients.prefill_activation * activation / (bandwidth * layout.data_parallel),
    )


def decode_step(replica: Replica, *, batch: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> Step:
    """One decode step of ``batch`` sequences of the whole replica.

    Parameters
    ----------
    replica : from `replica`
    batch : sequences running [1]
    context_tokens : mean length of a sequence so far [tokens]
    tokens_per_sequence : tokens verified a sequence and step (1 without speculation)

    Returns
    -------
    Step [s]; its ``total_s`` is the time between two tokens of a sequence, through all pipeline stages

    Notes
    -----
    ``overhead + (Tw³ + Tf³)^(1/3) + KV + communication``: weights touched (dense once; the distinct experts of the
    batch), arithmetic, cache read with the share of attention arithmetic it does not hide. All-to-all across nodes is
    added and its overlapped share taken off. With pipeline stages a step works on ``batch/stages`` sequences.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline", 2009, doi:10.1145/1498765.1498785 (the bound); the cubic blend and the
    coefficients are fitted, see ``calibrations/roofline.toml``.
    """
    c, layout, llm = replica.coefficients, replica.layout, replica.llm
    batch = batch / layout.pipeline_parallel
    per_rank = max(batch / layout.data_parallel, min(1.0, batch))
    tokens = batch * tokens_per_sequence
    read_s = replica.dense_read_s
    if llm.moe:
        touched = moe.distinct_experts(
            experts=llm.moe.experts, top_k=llm.moe.top_k, tokens=tokens, correlation=c.expert_agreement
        )
        read_s += replica.expert_read_s * touched
    gemm_s = replica.decode_gemm_s * tokens
    joined_s = (read_s**3 + gemm_s**3) ** (1 / 3)
    kv_s = per_rank * _sequence_kv_s(replica, context_tokens, tokens_per_sequence)
    compute_s = joined_s + kv_s + replica.decode_overhead_s + c.sequence_s * per_rank
    network_s = replica.decode_network_s * tokens
    exposed = network_s - c.overlap_decode * min(compute_s, network_s)
    return Step(
        weights_and_gemm_s=joined_s,
        kv_s=kv_s,
        communication_s=replica.decode_communication_s * per_rank * tokens_per_sequence + exposed,
        overhead_s=replica.decode_overhead_s + c.sequence_s * per_rank,
        bound="memory bandwidth" if read_s + kv_s >= gemm_s else "compute",
    )


def _sequence_kv_s(replica: Replica, context_tokens: float, tokens_per_sequence: float) -> float:
    """Cache read and exposed attention arithmetic of one sequence on its attention group."""
    llm, layout, c = replica.llm, replica.layout, replica.coefficients
    seen = _seen_tokens(llm, context_tokens)
    cache = attention.request_kv_bytes(
        llm, tokens=seen, dtype_bytes=replica.kv_dtype_bytes, tensor_parallel=layout.tensor_parallel
    )
    flops = attention.decode_flops_per_token(llm, context_tokens=seen) * tokens_per_sequence / layout.tensor_parallel
    arithmetic_s = c.decode_attention * flops / replica.attention_flops_per_s
    return c.kv_read * (cache / (layout.context_parallel * replica.bandwidth_bytes_per_s) + arithmetic_s)


def _seen_tokens(llm: Llm, context_tokens: float) -> float:
    """Tokens a step reads: with a sparse indexer the chosen ones and a tenth of the context for the index."""
    if not llm.sparse_top_k:
        return context_tokens
    return min(context_tokens, llm.sparse_top_k + 0.1 * context_tokens)


def prefill(replica: Replica, *, new_tokens: float, cached_tokens: float = 0.0) -> Prefill:
    """One prefill of ``new_tokens`` behind ``cached_tokens``.

    Returns
    -------
    Prefill
        ``busy_s``: share of the whole replica it takes, what bounds the rate; ``latency_s``: time on the data-parallel
        rank that takes it, never below one read of the weights [s].

    Notes
    -----
    Sum of GEMM, causal attention, element-wise traffic and communication, each with its coefficient; all-to-all across
    nodes partly hidden behind the rest.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline", 2009, doi:10.1145/1498765.1498785; the coefficients are fitted, see
    ``calibrations/roofline.toml``.
    """
    c, layout, llm = replica.coefficients, replica.layout, replica.llm
    flops = attention.prefill_flops(llm, new_tokens=new_tokens, cached_tokens=cached_tokens)
    attention_s = c.prefill_attention * flops / (replica.attention_flops_per_s * layout.stage_gpus)
    per_token_s = replica.prefill_gemm_s + replica.prefill_communication_s + replica.prefill_activation_s
    compute_s = new_tokens * per_token_s + attention_s
    stage_s = collectives.overlapped_s(
        compute_s=compute_s, communication_s=new_tokens * replica.prefill_network_s, overlap=c.overlap_prefill
    )
    floor_s = replica.dense_read_s
    if llm.moe:
        touched = moe.distinct_experts(
            experts=llm.moe.experts, top_k=llm.moe.top_k, tokens=new_tokens, correlation=c.expert_agreement
        )
        floor_s += replica.expert_read_s * touched / c.experts_read
    return Prefill(
        latency_s=max(layout.data_parallel * stage_s, floor_s),
        busy_s=stage_s / layout.pipeline_parallel,
        floor_s=floor_s,
    )


def with_overlap(coefficients: Coefficients, *, decode: float, prefill: float) -> Coefficients:
    """The same coefficients with another share of the all-to-all hidden (0 serial … 1 fully overlapped)."""
    return replace(coefficients, overlap_decode=decode, overlap_prefill=prefill)

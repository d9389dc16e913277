"""Time of a decode step and of a prefill on one replica: a roofline with calibrated coefficients.

`replica` counts once what depends on LLM, GPUs and placement (`traffic.amounts`); its methods only multiply with the
coefficients of the catalog (`calibration.coefficients`). `Work` does the same for many replicas at once, as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, collectives, moe, traffic
from planner.formulas.calibration import Coefficients
from planner.formulas.elementwise import largest, least
from planner.formulas.traffic import Amounts, Layout, peak_flops_per_s, precision

__all__ = [
    "Layout",
    "Prefill",
    "Replica",
    "Step",
    "Work",
    "peak_flops_per_s",
    "precision",
    "replica",
    "with_overlap",
    "work",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step: parts sum to ``total_s``."""

    weights_and_gemm_s: float
    kv_s: float
    communication_s: float
    overhead_s: float
    read_s: float
    """Weights and cache read, before arithmetic is blended in."""
    gemm_s: float

    @property
    def total_s(self) -> float:
        return self.weights_and_gemm_s + self.kv_s + self.communication_s + self.overhead_s

    @property
    def bound(self) -> str:
        """The larger of reading and arithmetic."""
        return "memory bandwidth" if self.read_s >= self.gemm_s else "compute"

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


@dataclass(frozen=True, slots=True)
class SequenceWork:
    """What one sequence adds to a decode step on its attention group: cache read and attention arithmetic [s]."""

    kv_read_s: float
    attention_s: float


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica. Methods take a load and give times [s]."""

    llm: Llm
    layout: Layout
    amounts: Amounts
    coefficients: Coefficients
    kv_dtype_bytes: float
    bandwidth_bytes_per_s: float
    attention_flops_per_s: float

    @property
    def layers(self) -> float:
        return self.amounts.layers

    @property
    def data_parallel(self) -> float:
        return self.amounts.data_parallel

    def decode_step(self, *, batch: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> Step:
        """One decode step of ``batch`` sequences of the whole replica.

        Parameters
        ----------
        batch : sequences running [1]
        context_tokens : mean length of a sequence so far [tokens]
        tokens_per_sequence : tokens verified a sequence and step (1 without speculation)

        Returns
        -------
        Step [s]; its ``total_s`` is the time between two tokens of a sequence, through all pipeline stages
        """
        sequence = self.sequence_work(context_tokens=context_tokens, tokens_per_sequence=tokens_per_sequence)
        return step_time(
            self.amounts,
            coefficients=self.coefficients,
            sequence=sequence,
            batch=batch,
            tokens_per_sequence=tokens_per_sequence,
        )

    def prefill(self, *, new_tokens: float, cached_tokens: float = 0.0) -> Prefill:
        """One prefill of ``new_tokens`` behind ``cached_tokens``.

        Returns
        -------
        Prefill
            ``busy_s``: share of the whole replica it takes, what bounds the rate; ``latency_s``: time on the
            data-parallel rank that takes it, never below one read of the weights [s].
        """
        return prefill_time(
            self.amounts,
            coefficients=self.coefficients,
            new_tokens=new_tokens,
            attention_s=self.prefill_attention_s(new_tokens=new_tokens, cached_tokens=cached_tokens),
        )

    def sequence_work(self, *, context_tokens: float, tokens_per_sequence: float) -> SequenceWork:
        """Cache and attention arithmetic of one sequence, before coefficients."""
        seen = _seen_tokens(self.llm, context_tokens)
        ranks, shared = self.layout.tensor_parallel, self.layout.context_parallel
        cache = attention.request_kv_bytes(
            self.llm, tokens=seen, dtype_bytes=self.kv_dtype_bytes, tensor_parallel=ranks
        )
        flops = attention.decode_flops_per_token(self.llm, context_tokens=seen) * tokens_per_sequence
        return SequenceWork(
            kv_read_s=cache / (shared * self.bandwidth_bytes_per_s),
            attention_s=flops / (ranks * self.attention_flops_per_s),
        )

    def prefill_attention_s(self, *, new_tokens: float, cached_tokens: float) -> float:
        """Attention arithmetic of a prefill on all GPUs of a stage, before coefficients."""
        flops = attention.prefill_flops(self.llm, new_tokens=new_tokens, cached_tokens=cached_tokens)
        return flops / (self.attention_flops_per_s * self.layout.stage_gpus)


@dataclass(frozen=True, slots=True)
class Work:
    """Many replicas, each at one load, as arrays of shape (replicas,): what `Replica` gives for one, for all at once.

    The load is fixed when the work is counted, so `decode_step` and `prefill` ignore the lengths they are given.
    """

    amounts: Amounts
    coefficients: Coefficients
    sequence: SequenceWork
    new_tokens: float
    prefill_attention_s: float

    @property
    def layers(self) -> float:
        return self.amounts.layers

    @property
    def data_parallel(self) -> float:
        return self.amounts.data_parallel

    def decode_step(self, *, batch: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> Step:
        del context_tokens
        return step_time(
            self.amounts,
            coefficients=self.coefficients,
            sequence=self.sequence,
            batch=batch,
            tokens_per_sequence=tokens_per_sequence,
        )

    def prefill(self, *, new_tokens: float, cached_tokens: float = 0.0) -> Prefill:
        del new_tokens, cached_tokens
        return prefill_time(
            self.amounts,
            coefficients=self.coefficients,
            new_tokens=self.new_tokens,
            attention_s=self.prefill_attention_s,
        )


def replica(
    llm: Llm, gpu: Gpu, *, layout: Layout, weight_dtype: str, coefficients: Coefficients, kv_dtype_bytes: float = 2.0
) -> Replica:
    """What depends on LLM, GPU and placement, counted once.

    Parameters
    ----------
    llm, gpu : catalog entries; `MissingFigure` is raised when a needed figure is not published
    layout : placement of the replica
    weight_dtype : number format of the weights
    coefficients : from `calibration.coefficients`
    kv_dtype_bytes : width of a cached number [bytes]
    """
    return Replica(
        llm=llm,
        layout=layout,
        amounts=traffic.amounts(llm, gpu, layout=layout, weight_dtype=weight_dtype),
        coefficients=coefficients,
        kv_dtype_bytes=kv_dtype_bytes,
        bandwidth_bytes_per_s=gpu.figure("memory_bytes_per_s"),
        attention_flops_per_s=peak_flops_per_s(gpu, compute="bf16"),
    )


def work(
    replicas: Sequence[Replica],
    *,
    context_tokens: Sequence[float],
    new_tokens: Sequence[float],
    coefficients: Coefficients,
) -> Work:
    """Many replicas as one.

    Parameters
    ----------
    replicas : of any LLMs and GPUs; shape (replicas,)
    context_tokens : mean context of a running sequence, one a replica [tokens]
    new_tokens : prefill without cached prefix, one a replica [tokens]
    coefficients : each a number, or an array of shape (replicas,)
    """
    sequences = [
        one.sequence_work(context_tokens=context, tokens_per_sequence=1.0)
        for one, context in zip(replicas, context_tokens, strict=True)
    ]
    attention_s = [
        one.prefill_attention_s(new_tokens=new, cached_tokens=0.0)
        for one, new in zip(replicas, new_tokens, strict=True)
    ]
    columns = SequenceWork(
        kv_read_s=_column([each.kv_read_s for each in sequences]),
        attention_s=_column([each.attention_s for each in sequences]),
    )
    return Work(
        amounts=traffic.stack([one.amounts for one in replicas]),
        coefficients=coefficients,
        sequence=columns,
        new_tokens=_column(new_tokens),
        prefill_attention_s=_column(attention_s),
    )


def _column(values: Sequence[float]) -> float:
    """An array that formulas take where they take a number."""
    return np.array(values, dtype=float)  # type: ignore[return-value]


def step_time(
    amounts: Amounts,
    *,
    coefficients: Coefficients,
    sequence: SequenceWork,
    batch: float,
    tokens_per_sequence: float = 1.0,
) -> Step:
    """Time of one decode step from its amounts.

    Parameters
    ----------
    amounts : of the replica
    coefficients : fitted
    sequence : what each sequence adds
    batch : sequences running in the whole replica [1]
    tokens_per_sequence : tokens verified a sequence and step

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
    a, c = amounts, coefficients
    batch = batch / a.pipeline_parallel
    per_rank = largest(batch / a.data_parallel, least(batch, 1.0))
    tokens = batch * tokens_per_sequence
    read_s = c.weights_read * (a.dense_read_s + experts_read_s(a, coefficients=c, tokens=tokens))
    gemm_s = c.decode_gemm * tokens * (a.dense_gemm_s + a.head_gemm_s + a.expert_gemm_s)
    joined_s = (read_s**3 + gemm_s**3) ** (1 / 3)
    kv_s = per_rank * c.kv_read * (sequence.kv_read_s + c.decode_attention * sequence.attention_s)
    overhead_s = step_overhead_s(a, coefficients=c) + c.sequence_s * per_rank
    network_s = tokens * a.decode_network_s / c.network_efficiency
    busy_s = joined_s + kv_s + overhead_s
    exposed_s = collectives.overlapped_s(compute_s=busy_s, communication_s=network_s, overlap=c.overlap_decode) - busy_s
    reduced_s = all_reduces_s(a, coefficients=c)
    return Step(
        weights_and_gemm_s=joined_s,
        kv_s=kv_s,
        communication_s=per_rank * tokens_per_sequence * reduced_s + exposed_s,
        overhead_s=overhead_s,
        read_s=read_s + kv_s,
        gemm_s=gemm_s,
    )


def experts_read_s(amounts: Amounts, *, coefficients: Coefficients, tokens: float) -> float:
    """Reading the distinct experts that ``tokens`` tokens choose, at the rated bandwidth times their own factors [s].

    Notes
    -----
    ``c · S_e · E(B)`` with `moe.distinct_experts`.

    References
    ----------
    The factors are fitted, see ``calibrations/roofline.toml``.
    """
    a, c = amounts, coefficients
    touched = moe.distinct_experts(experts=a.experts, top_k=a.top_k, tokens=tokens, correlation=c.expert_agreement)
    slower: float = c.experts_read * c.four_bit_read**a.four_bit
    return slower * a.expert_read_s * touched


def all_reduces_s(amounts: Amounts, *, coefficients: Coefficients) -> float:
    """Bytes of one token of a decode step in the all-reduces of its rank [s].

    Notes
    -----
    Bytes over the rated bandwidth of the link, times a factor; over the NIC and through the host at their efficiency.

    References
    ----------
    The factor is fitted, see ``calibrations/roofline.toml``.
    """
    a, c = amounts, coefficients
    across_s = a.all_reduce_across_s / c.network_efficiency
    links_s = c.decode_communication * a.spread * (a.all_reduce_inside_s + across_s)
    return links_s + a.all_reduce_host_s / c.host_efficiency


def step_overhead_s(amounts: Amounts, *, coefficients: Coefficients) -> float:
    """Launches, scheduler and all-reduce latency of one step [s].

    Notes
    -----
    A time a layer by its kind, one a step, one an all-reduce by its reach.

    References
    ----------
    The times are fitted, see ``calibrations/roofline.toml``.
    """
    a, c = amounts, coefficients
    return (
        a.layers * c.layer_s
        + a.expert_layers * c.expert_layer_s
        + a.latent_layers * c.latent_layer_s
        + a.sparse_layers * c.sparse_layer_s
        + a.recurrent_layers * c.recurrent_layer_s
        + c.step_s
        + a.reductions_inside * c.all_reduce_s
        + a.reductions_host * c.all_reduce_host_s
        + a.reductions_across * c.all_reduce_across_s
    )


def _seen_tokens(llm: Llm, context_tokens: float) -> float:
    """Tokens a step reads: with a sparse indexer the chosen ones and a tenth of the context for the index."""
    if not llm.sparse_top_k:
        return context_tokens
    return min(context_tokens, llm.sparse_top_k + 0.1 * context_tokens)


def prefill_time(amounts: Amounts, *, coefficients: Coefficients, new_tokens: float, attention_s: float) -> Prefill:
    """Time of one prefill from its amounts.

    Parameters
    ----------
    amounts : of the replica
    coefficients : fitted
    new_tokens : tokens computed
    attention_s : attention arithmetic at the rated peak, all GPUs of a stage [s]

    Notes
    -----
    Sum of GEMM, causal attention, element-wise traffic and communication, each with its coefficient; all-to-all across
    nodes partly hidden behind the rest.

    References
    ----------
    Williams, Waterman, Patterson, "Roofline", 2009, doi:10.1145/1498765.1498785; the coefficients are fitted, see
    ``calibrations/roofline.toml``.
    """
    a, c = amounts, coefficients
    per_token_s = sum(prompt_token_parts(a, coefficients=c))
    compute_s = new_tokens * per_token_s + c.prefill_attention * attention_s
    network_s = new_tokens * a.prefill_network_s / c.network_efficiency
    stage_s = collectives.overlapped_s(compute_s=compute_s, communication_s=network_s, overlap=c.overlap_prefill)
    experts_s = experts_read_s(a, coefficients=c, tokens=new_tokens) / c.experts_read
    floor_s = c.weights_read * (a.dense_read_s + experts_s)
    return Prefill(
        latency_s=largest(a.data_parallel * stage_s, floor_s),
        busy_s=stage_s / a.pipeline_parallel,
        floor_s=floor_s,
    )


def prompt_token_parts(amounts: Amounts, *, coefficients: Coefficients) -> tuple[float, float]:
    """What a prompt token takes of the replica without attention and all-to-all: its own part, and its experts [s].

    Notes
    -----
    GEMM, element-wise traffic and all-reduce, each with its coefficient; formats and generation have factors.

    References
    ----------
    The coefficients are fitted, see ``calibrations/roofline.toml``.
    """
    a, c = amounts, coefficients
    wide = c.prefill_blackwell**a.blackwell
    dense = wide * c.prefill_fp4**a.dense_fp4 * c.prefill_bf16**a.dense_bf16
    experts = wide * c.prefill_fp4**a.expert_fp4 * c.prefill_bf16**a.expert_bf16
    reduced_s = a.all_reduce_inside_s + a.all_reduce_across_s / c.network_efficiency
    own_s = (
        c.prefill_dense * dense * a.dense_gemm_s
        + c.prefill_activation * a.activation_s
        + (c.prefill_communication * reduced_s + a.all_reduce_host_s / c.host_efficiency) / a.data_parallel
    )
    return own_s, c.prefill_experts * experts * a.expert_gemm_s


def with_overlap(coefficients: Coefficients, *, decode: float, prefill: float) -> Coefficients:
    """The same coefficients with another share of the all-to-all hidden (0 serial … 1 fully overlapped)."""
    return replace(coefficients, overlap_decode=decode, overlap_prefill=prefill)

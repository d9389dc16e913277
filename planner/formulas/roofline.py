"""Time of a decode step and of a prefill on one replica: a roofline with calibrated coefficients.

`replica` works out once what depends on LLM, GPUs and placement; `decode_step` and `prefill` only multiply. The
coefficients come from the catalog (`calibration.coefficients`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, collectives, memory, moe
from planner.formulas.calibration import Coefficients, generation

_BF16_BYTES = 2.0
_ACTIVATION_PASSES = 8.0
"""Reads and writes of the residual width a layer, element-wise work between the GEMMs: a constant of the form."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a replica of ``gpus`` GPUs is cut.

    ``tensor_parallel`` ranks share attention, ``data_parallel`` copies of attention exist, ``expert_parallel`` ranks
    share the experts by whole experts; ``gpus = tensor_parallel · data_parallel · pipeline_parallel``.
    """

    gpus: int
    tensor_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    redundant_experts: int = 0
    expert_imbalance: float = 1.0
    """Load of the busiest expert rank over the mean."""
    gpus_per_node: int = 8

    def __post_init__(self) -> None:
        if self.tensor_parallel * self.data_parallel * self.pipeline_parallel != self.gpus:
            raise ValueError(
                f"{self.tensor_parallel} tensor × {self.data_parallel} data × {self.pipeline_parallel} pipeline ranks "
                f"are not {self.gpus} GPUs"
            )

    @property
    def stage_gpus(self) -> int:
        return self.tensor_parallel * self.data_parallel


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


@dataclass(frozen=True, slots=True)
class Prefill:
    """One prefill: ``latency_s`` on its rank, ``busy_s`` of the whole replica, ``floor_s`` one read of the weights."""

    latency_s: float
    busy_s: float
    floor_s: float


def precision(gpu: Gpu, *, weight_dtype: str) -> str:
    """The number format the tensor cores compute in: ``bf16``, ``fp8``, ``fp4``, ``int8``.

    Weights without native units are widened: four-bit ones to 16 bits (``mxfp4`` names that case of MXFP4, ``int4`` of
    integers, both computed in BF16), FP8 on older GPUs likewise.
    """
    name = memory.dtype_name(weight_dtype)
    if name in ("nvfp4", "mxfp4"):
        return "fp4" if gpu.has("fp4_flops_per_s") else ("mxfp4" if name == "mxfp4" else "bf16")
    if name == "fp8":
        return "fp8" if gpu.has("fp8_flops_per_s") else "bf16"
    if name == "int8":
        return "int8" if gpu.has("int8_ops_per_s") else "bf16"
    return "int4" if name == "int4" else "bf16"


def peak_flops_per_s(gpu: Gpu, *, compute: str) -> float:
    """Dense peak of a format named by `precision` [FLOP/s]; raises `MissingFigure`."""
    return gpu.figure(
        {"fp8": "fp8_flops_per_s", "fp4": "fp4_flops_per_s", "int8": "int8_ops_per_s"}.get(compute, "bf16_flops_per_s")
    )


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
    traffic = _Traffic(llm=llm, gpu=gpu, layout=layout, coefficients=coefficients, weight_dtype=weight_dtype)
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


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Bytes and arithmetic of one token, stage by stage merged into one: all layers on the GPUs of a stage."""

    llm: Llm
    gpu: Gpu
    layout: Layout
    coefficients: Coefficients
    weight_dtype: str

    @property
    def _group(self) -> int:
        """GPUs that must talk in every layer: the stage, or one attention group when there are no experts."""
        return self.layout.stage_gpus if self.llm.moe else self.layout.tensor_parallel

    @property
    def _over_network(self) -> bool:
        """Whether experts lie across scale-up domains, so that tokens travel through the NIC."""
        domain = collectives.scaleup_gpus(self.gpu, gpus_per_node=self.layout.gpus_per_node)
        nodes_apart = self.layout.expert_parallel > max(domain, self.layout.gpus_per_node)
        return bool(self.llm.moe) and nodes_apart

    def _width(self, part: str) -> float:
        return memory.part_bytes_per_parameter(self.llm, part=part, dtype=self.weight_dtype)

    def _flops_per_s(self, part: str) -> float:
        return peak_flops_per_s(self.gpu, compute=self._compute(part))

    def _compute(self, part: str) -> str:
        return "bf16" if self._width(part) == _BF16_BYTES else precision(self.gpu, weight_dtype=self.weight_dtype)

    def dense_bytes(self) -> float:
        """Bytes of the weights that every step reads on one GPU."""
        counts, shards = memory.parameters(self.llm), self.layout.tensor_parallel
        mlp_shards = self.layout.tensor_parallel if self.layout.data_parallel > 1 else self.layout.stage_gpus
        mlp = sum(counts[part] * self._width(part) for part in ("dense_mlp", "shared_experts"))
        head = self.llm.vocab * self.llm.hidden * _BF16_BYTES
        return counts["attention"] * self._width("attention") / shards + mlp / mlp_shards + head / shards

    def expert_bytes(self) -> float:
        """Bytes of one expert of every layer, as spread over the GPUs, weighed by how slowly experts are read."""
        if self.llm.moe is None:
            return 0.0
        one = moe.expert_layers(self.llm) * memory.expert_parameters(self.llm) * self._width("experts")
        four_bit = self.coefficients.four_bit_read if memory.dtype_name(self.weight_dtype) in memory.FOUR_BIT else 1.0
        copies = moe.redundancy_factor(experts=self.llm.moe.experts, redundant_experts=self.layout.redundant_experts)
        return self.coefficients.experts_read * four_bit * copies * one / self.layout.stage_gpus

    def _active_experts(self) -> float:
        return (
            moe.expert_layers(self.llm) * self.llm.moe.top_k * memory.expert_parameters(self.llm)
            if self.llm.moe
            else 0.0
        )

    def decode_gemm_s(self) -> float:
        """Arithmetic of one token, all layers and the head, shared by the GPUs of a stage."""
        counts = memory.parameters(self.llm)
        parts = {part: counts[part] for part in ("attention", "dense_mlp", "shared_experts")}
        parts["experts"] = self._active_experts() * self.layout.expert_imbalance
        seconds = sum(2 * count / self._flops_per_s(part) for part, count in parts.items() if count)
        seconds += 2 * self.llm.vocab * self.llm.hidden / peak_flops_per_s(self.gpu, compute="bf16")
        return seconds / self.layout.stage_gpus

    def prefill_gemm_s(self) -> float:
        """Arithmetic of one prefilled token with the calibrated inefficiency of its format; no head."""
        c, counts = self.coefficients, memory.parameters(self.llm)
        dense = {part: counts[part] for part in ("attention", "dense_mlp", "shared_experts")}
        seconds = sum(
            c.prefill_dense * self._format_factor(part) * 2 * n / self._flops_per_s(part)
            for part, n in dense.items()
            if n
        )
        experts = self._active_experts() * self.layout.expert_imbalance
        if experts:
            seconds += c.prefill_experts * self._format_factor("experts") * 2 * experts / self._flops_per_s("experts")
        return seconds / self.layout.stage_gpus

    def _format_factor(self, part: str) -> float:
        c = self.coefficients
        compute = self._compute(part)
        factor = c.prefill_blackwell if generation(self.gpu) == "blackwell" else 1.0
        return factor * {"fp4": c.prefill_fp4, "fp8": 1.0, "int8": 1.0}.get(compute, c.prefill_bf16)

    def _all_reduce_s(self) -> float:
        """Two all-reduces a layer of one token's residual inside the group."""
        if self._group == 1:
            return 0.0
        bandwidth = collectives.scope_bytes_per_s(
            self.gpu,
            ranks=self._group,
            gpus_per_node=self.layout.gpus_per_node,
            network_efficiency=self.coefficients.network_efficiency,
        )
        payload = 2 * self.llm.layers * 2 * self.llm.hidden
        return collectives.all_reduce_bytes(payload_bytes=payload, ranks=self._group) / bandwidth

    def decode_communication_s(self) -> float:
        """Per sequence of a rank, inside the scale-up domain (0 when experts lie across the network)."""
        if self._over_network:
            return 0.0
        spread = min(self.llm.moe.top_k, self._group) / 2 if self.llm.moe and self.layout.data_parallel > 1 else 1.0
        return self.coefficients.decode_communication * self._all_reduce_s() * spread

    def prefill_communication_s(self) -> float:
        """Per prefilled token of the replica."""
        if self._over_network:
            return 0.0
        return self.coefficients.prefill_communication * self._all_reduce_s() / self.layout.data_parallel

    def network_s(self, *, copies: float) -> float:
        """All-to-all of one token of the replica, every GPU sending its share through its own NIC."""
        if not self._over_network:
            return 0.0
        dispatch = min(_BF16_BYTES, max(1.0, self._width("experts")))
        token = collectives.all_to_all_bytes_per_token(hidden=self.llm.hidden, copies=copies, dispatch_bytes=dispatch)
        rate = self.gpu.figure("nic_bytes_per_s") * self.coefficients.network_efficiency
        return moe.expert_layers(self.llm) * token * self.layout.expert_imbalance / (rate * self.layout.stage_gpus)

    def prefill_network_s(self) -> float:
        if self.llm.moe is None or not self._over_network:
            return 0.0
        domain = max(collectives.scaleup_gpus(self.gpu, gpus_per_node=self.layout.gpus_per_node), 1)
        nodes = -(-self.layout.expert_parallel // domain)
        return self.network_s(copies=moe.destination_nodes(top_k=self.llm.moe.top_k, nodes=nodes))

    def overhead_s(self) -> float:
        """Launches, scheduler and all-reduce latency of one step."""
        c, llm = self.coefficients, self.llm
        layers = llm.layers * (
            c.layer_s + (c.latent_layer_s if llm.mla else 0.0) + (c.sparse_layer_s if llm.sparse_top_k else 0.0)
        )
        layers += moe.expert_layers(llm) * c.expert_layer_s
        layers += llm.linear.layers * c.recurrent_layer_s if llm.linear else 0.0
        if self._group == 1 or self._over_network:
            return layers + c.step_s
        inside = self._group <= max(
            collectives.scaleup_gpus(self.gpu, gpus_per_node=self.layout.gpus_per_node), self.layout.gpus_per_node
        )
        return layers + c.step_s + 2 * llm.layers * (c.all_reduce_s if inside else c.all_reduce_across_s)


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


def decode_step_s(
    llm: Llm,
    gpu: Gpu,
    *,
    layout: Layout,
    batch: float,
    context_tokens: float,
    weight_dtype: str,
    coefficients: Coefficients,
    kv_dtype_bytes: float = 2.0,
) -> float:
    """Time of one decode step of ``batch`` sequences of the whole replica [s]; see `decode_step`."""
    made = replica(
        llm, gpu, layout=layout, weight_dtype=weight_dtype, coefficients=coefficients, kv_dtype_bytes=kv_dtype_bytes
    )
    return decode_step(made, batch=batch, context_tokens=context_tokens).total_s


def prefill_s(
    llm: Llm,
    gpu: Gpu,
    *,
    layout: Layout,
    new_tokens: float,
    weight_dtype: str,
    coefficients: Coefficients,
    cached_tokens: float = 0.0,
) -> float:
    """Time of one prefill on the rank that takes it [s]; see `prefill` for the share of the replica it keeps busy."""
    made = replica(llm, gpu, layout=layout, weight_dtype=weight_dtype, coefficients=coefficients)
    return prefill(made, new_tokens=new_tokens, cached_tokens=cached_tokens).latency_s


def with_overlap(coefficients: Coefficients, *, decode: float, prefill: float) -> Coefficients:
    """The same coefficients with another share of the all-to-all hidden (0 serial … 1 fully overlapped)."""
    return replace(coefficients, overlap_decode=decode, overlap_prefill=prefill)

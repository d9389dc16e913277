"""Bytes, arithmetic and messages of one token on the GPUs of a replica: what a roofline multiplies.

`Layout` says how a replica is cut; `Traffic` counts per token, all layers on the GPUs of a pipeline stage.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.catalog import Gpu, Llm
from planner.formulas import collectives, memory, moe
from planner.formulas.calibration import Coefficients, generation

_BF16_BYTES = 2.0


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


@dataclass(frozen=True, slots=True)
class Traffic:
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

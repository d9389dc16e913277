"""Bytes, arithmetic and messages of one token on the GPUs of a replica: what a roofline multiplies.

`Layout` says how a replica is cut; `amounts` counts per token, all layers on the GPUs of a pipeline stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from planner.core.catalog import Gpu, Llm
from planner.formulas import collectives, memory, moe
from planner.formulas.calibration import generation

_BF16_BYTES = 2.0
_NARROW = ("fp8", "fp4", "int8")
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
class Amounts:
    """What one token moves and computes on the GPUs of a pipeline stage, all layers together, before any coefficient.

    Times are bytes over rated bandwidth or FLOP over rated peak [s]; flags are 0 or 1. Fields are floats, or arrays of
    one shape for many replicas (`stack`).
    """

    gpus: float
    stage_gpus: float
    tensor_parallel: float
    data_parallel: float
    pipeline_parallel: float
    layers: float
    expert_layers: float
    latent_layers: float
    sparse_layers: float
    recurrent_layers: float
    experts: float
    """Routed experts of a layer; 1 of an LLM without."""
    top_k: float
    """Experts a token chooses; 0 of an LLM without."""
    four_bit: float
    blackwell: float
    dense_fp4: float
    dense_bf16: float
    expert_fp4: float
    expert_bf16: float
    dense_read_s: float
    """One read of the weights every step touches, on one GPU."""
    expert_read_s: float
    """One read of one expert of every layer, spread over the GPUs."""
    dense_gemm_s: float
    """Arithmetic of one token outside the experts, head left out."""
    head_gemm_s: float
    expert_gemm_s: float
    activation_s: float
    """Element-wise traffic of one token."""
    all_reduce_inside_s: float
    """Bytes of two all-reduces a layer over the scale-up links; 0 across nodes."""
    all_reduce_host_s: float
    """The same through the host, at the rated bandwidth of PCIe: GPUs of a node without links between them."""
    all_reduce_across_s: float
    """The same over the NIC, at its rated bandwidth; 0 inside the scale-up domain."""
    spread: float
    """Residuals a token is sent to beyond one all-reduce, with data-parallel attention."""
    reductions_inside: float
    """All-reduces a step inside the scale-up domain."""
    reductions_host: float
    reductions_across: float
    decode_network_s: float
    """All-to-all of one token over the NIC at its rated bandwidth, one copy an expert; 0 inside the domain."""
    prefill_network_s: float
    """The same with one copy a node."""


def stack(many: Sequence[Amounts]) -> Amounts:
    """Amounts of many replicas as one, each field an array of shape (replicas,)."""
    return Amounts(**{field.name: np.array([getattr(one, field.name) for one in many]) for field in fields(Amounts)})  # type: ignore[arg-type]


def amounts(llm: Llm, gpu: Gpu, *, layout: Layout, weight_dtype: str) -> Amounts:
    """Count what a replica moves and computes; raises `MissingFigure` when a needed figure is not published."""
    return _Count(llm=llm, gpu=gpu, layout=layout, weight_dtype=weight_dtype).amounts()


@dataclass(frozen=True, slots=True)
class _Count:
    llm: Llm
    gpu: Gpu
    layout: Layout
    weight_dtype: str

    def amounts(self) -> Amounts:
        llm, layout = self.llm, self.layout
        bandwidth = self.gpu.figure("memory_bytes_per_s")
        dense, experts = self._compute("attention"), self._compute("experts")
        reductions = 2.0 * llm.layers if self._group > 1 and not self._over_network else 0.0
        reduced_s = self._all_reduce_s()
        copies = float(llm.moe.top_k) if llm.moe else 0.0
        return Amounts(
            gpus=float(layout.gpus),
            stage_gpus=float(layout.stage_gpus),
            tensor_parallel=float(layout.tensor_parallel),
            data_parallel=float(layout.data_parallel),
            pipeline_parallel=float(layout.pipeline_parallel),
            layers=float(llm.layers),
            expert_layers=float(moe.expert_layers(llm)),
            latent_layers=float(llm.layers if llm.mla else 0),
            sparse_layers=float(llm.layers if llm.sparse_top_k else 0),
            recurrent_layers=float(llm.linear.layers if llm.linear else 0),
            experts=float(llm.moe.experts if llm.moe else 1),
            top_k=copies,
            four_bit=float(memory.dtype_name(self.weight_dtype) in memory.FOUR_BIT),
            blackwell=float(generation(self.gpu) == "blackwell"),
            dense_fp4=float(dense == "fp4"),
            dense_bf16=float(dense not in _NARROW),
            expert_fp4=float(experts == "fp4"),
            expert_bf16=float(experts not in _NARROW),
            dense_read_s=self._dense_bytes() / bandwidth,
            expert_read_s=self._expert_bytes() / bandwidth,
            dense_gemm_s=self._dense_gemm_s(),
            head_gemm_s=2 * llm.vocab * llm.hidden / (self._peak("bf16") * layout.stage_gpus),
            expert_gemm_s=self._expert_gemm_s(),
            activation_s=self._activation_bytes() / (bandwidth * layout.data_parallel),
            all_reduce_inside_s=reduced_s if self._way == "inside" else 0.0,
            all_reduce_host_s=reduced_s if self._way == "host" else 0.0,
            all_reduce_across_s=reduced_s if self._way == "across" else 0.0,
            spread=min(llm.moe.top_k, self._group) / 2 if llm.moe and layout.data_parallel > 1 else 1.0,
            reductions_inside=reductions if self._way == "inside" else 0.0,
            reductions_host=reductions if self._way == "host" else 0.0,
            reductions_across=reductions if self._way == "across" else 0.0,
            decode_network_s=self._network_s(copies=copies),
            prefill_network_s=self._network_s(copies=self._destinations()),
        )

    @property
    def _group(self) -> int:
        """GPUs that must talk in every layer: the stage, or one attention group when there are no experts."""
        return self.layout.stage_gpus if self.llm.moe else self.layout.tensor_parallel

    @property
    def _domain(self) -> int:
        return max(collectives.scaleup_gpus(self.gpu, gpus_per_node=self.layout.gpus_per_node), 1)

    @property
    def _stays_inside(self) -> bool:
        return self._group <= max(self._domain, self.layout.gpus_per_node)

    @property
    def _way(self) -> str:
        """How an all-reduce travels: ``inside`` the node, through its ``host``, or ``across`` nodes.

        The exchange of experts between copies of attention counts as inside: no run tells its way through a host apart
        from the reading of experts.
        """
        if not self._stays_inside:
            return "across"
        through_host = self._group > self._domain and self.gpu.has("pcie_bytes_per_s")
        return "host" if through_host and not (self.llm.moe and self.layout.data_parallel > 1) else "inside"

    @property
    def _over_network(self) -> bool:
        """Whether experts lie across scale-up domains, so that tokens travel through the NIC."""
        nodes_apart = self.layout.expert_parallel > max(self._domain, self.layout.gpus_per_node)
        return bool(self.llm.moe) and nodes_apart

    def _width(self, part: str) -> float:
        return memory.part_bytes_per_parameter(self.llm, part=part, dtype=self.weight_dtype)

    def _compute(self, part: str) -> str:
        return "bf16" if self._width(part) == _BF16_BYTES else precision(self.gpu, weight_dtype=self.weight_dtype)

    def _peak(self, compute: str) -> float:
        return peak_flops_per_s(self.gpu, compute=compute)

    def _dense_bytes(self) -> float:
        counts, shards = memory.parameters(self.llm), self.layout.tensor_parallel
        mlp_shards = self.layout.tensor_parallel if self.layout.data_parallel > 1 else self.layout.stage_gpus
        mlp = sum(counts[part] * self._width(part) for part in ("dense_mlp", "shared_experts"))
        head = self.llm.vocab * self.llm.hidden * _BF16_BYTES
        return counts["attention"] * self._width("attention") / shards + mlp / mlp_shards + head / shards

    def _expert_bytes(self) -> float:
        if self.llm.moe is None:
            return 0.0
        one = moe.expert_layers(self.llm) * memory.expert_parameters(self.llm) * self._width("experts")
        copies = moe.redundancy_factor(experts=self.llm.moe.experts, redundant_experts=self.layout.redundant_experts)
        return copies * one / self.layout.stage_gpus

    def _dense_gemm_s(self) -> float:
        counts = memory.parameters(self.llm)
        parts = {part: counts[part] for part in ("attention", "dense_mlp", "shared_experts")}
        seconds = sum(2 * count / self._peak(self._compute(part)) for part, count in parts.items() if count)
        return seconds / self.layout.stage_gpus

    def _expert_gemm_s(self) -> float:
        if self.llm.moe is None:
            return 0.0
        active = moe.expert_layers(self.llm) * self.llm.moe.top_k * memory.expert_parameters(self.llm)
        flops = 2 * active * self.layout.expert_imbalance
        return flops / (self._peak(self._compute("experts")) * self.layout.stage_gpus)

    def _activation_bytes(self) -> float:
        experts_at_once = min(self.llm.moe.top_k, 8) / 4 if self.llm.moe else 0.0
        return self.llm.layers * 2 * self.llm.hidden * _ACTIVATION_PASSES * (1 + experts_at_once)

    def _all_reduce_s(self) -> float:
        """Two all-reduces a layer of one token's residual inside the group, over the links, the host or the NIC."""
        if self._group == 1 or self._over_network:
            return 0.0
        per_node = self.layout.gpus_per_node
        bandwidth = collectives.scope_bytes_per_s(self.gpu, ranks=self._group, gpus_per_node=per_node)
        payload = 2 * self.llm.layers * 2 * self.llm.hidden
        return collectives.all_reduce_bytes(payload_bytes=payload, ranks=self._group) / bandwidth

    def _network_s(self, *, copies: float) -> float:
        """All-to-all of one token of the replica, every GPU sending its share through its own NIC."""
        if not self._over_network:
            return 0.0
        dispatch = min(_BF16_BYTES, max(1.0, self._width("experts")))
        token = collectives.all_to_all_bytes_per_token(hidden=self.llm.hidden, copies=copies, dispatch_bytes=dispatch)
        rate = self.gpu.figure("nic_bytes_per_s") * self.layout.stage_gpus
        return moe.expert_layers(self.llm) * token * self.layout.expert_imbalance / rate

    def _destinations(self) -> float:
        if self.llm.moe is None or not self._over_network:
            return 0.0
        nodes = -(-self.layout.expert_parallel // self._domain)
        return moe.destination_nodes(top_k=self.llm.moe.top_k, nodes=nodes)

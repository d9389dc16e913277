"""Parts of a layer of a unit whose experts lie on more GPUs than a node has, timed by what published kernels reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, balance, collectives, memory, moe, routing
from planner.formulas.parameters import dense_layers
from planner.formulas.traffic import peak_flops_per_s, precision

BF16_BYTES = 2.0
_SCALES = 1 + 4 / 128
"""FP8 numbers travel with a 4-byte scale for 128 of them."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What kernels and network reach; meanings and sources in ``calibrations/wide_expert.toml``."""

    gemm: float
    grouped_gemm: float
    weights_read: float
    core_prefill: float
    core_decode: float
    cache_read: float
    element_wise: float
    communication_sms: float
    network_bulk: float
    network_bulk_shared: float
    network_low_latency: float
    links: float
    attention_launch_s: float
    experts_launch_s: float
    step_s: float
    sequence_s: float
    uneven_decode: float
    uneven_prefill: float
    uneven_unbalanced: float


def reach(table: Mapping[str, Any]) -> Reach:
    """The figures of ``calibrations/wide_expert.toml``."""
    return Reach(**{field.name: float(table["figure"][field.name]["value"]) for field in fields(Reach)})


@dataclass(frozen=True)
class Layer:
    """One layer on one GPU of a unit of ``gpus``; attention ranks have ``rank_gpus`` GPUs. Times in seconds.

    What does not depend on the batch is kept: a search for the batch that an objective allows asks hundreds of times.
    """

    llm: Llm
    gpu: Gpu
    gpus: int
    rank_gpus: int
    gpus_per_node: int
    redundant_experts: int
    weight_dtype: str
    kv_dtype_bytes: float
    reach: Reach

    @cached_property
    def expert_layers(self) -> int:
        return moe.expert_layers(self.llm)

    @cached_property
    def dense_layers(self) -> int:
        return max(0, self.llm.layers - self.expert_layers)

    @property
    def top_k(self) -> int:
        return self.llm.moe.top_k if self.llm.moe else 0

    @cached_property
    def is_within_links(self) -> bool:
        """Whether the scale-up links reach all GPUs of the unit, as in a rack of 72."""
        return self.gpus <= collectives.scaleup_gpus(self.gpu, gpus_per_node=self.gpus_per_node)

    @cached_property
    def places(self) -> float:
        """What a token leaves to reach another: GPUs within the links, nodes beyond."""
        return float(self.gpus) if self.is_within_links else self.gpus / self.gpus_per_node

    def copies_to_places(self) -> float:
        """Copies of a token when those for one place travel once."""
        if self.llm.moe is None:
            return 0.0
        if self.is_within_links:
            return routing.places_reached(self.places, draws=self.llm.moe.top_k)
        return routing.nodes_reached(self.llm.moe, nodes=self.places)

    @cached_property
    def dispatch_bytes(self) -> float:
        """Of one copy of a token: FP8 with its scales where experts are FP8 or narrower, else 16 bits."""
        narrow = memory.part_bytes_per_parameter(self.llm, part="experts", dtype=self.weight_dtype) < BF16_BYTES
        return self.llm.hidden * (_SCALES if narrow else BF16_BYTES)

    def travel_bytes_per_s(self, network: float) -> float:
        """Of one GPU: the links' share within them, else that share of its NIC."""
        if self.is_within_links:
            return self.reach.links * self.gpu.figure("scaleup_bytes_per_s")
        return network * self.gpu.figure("nic_bytes_per_s")

    def imbalance(self, tokens: float, *, uneven: float) -> float:
        """Of the experts, ``tokens`` being what one GPU sends; without spare experts placement evens nothing out."""
        left = uneven if self.redundant_experts else self.reach.uneven_unbalanced
        return balance.expert_imbalance(ranks=self.gpus, assignments=tokens * self.top_k, uneven=left)

    @cached_property
    def attention_parameters(self) -> tuple[float, float]:
        """Parameters of one layer before and after the core attention on one GPU of a rank."""
        llm = self.llm
        whole = memory.attention_layer_parameters(llm)
        width = llm.heads * (llm.mla.v_dim if llm.mla else llm.v_dim or llm.head_dim)
        after = width * (llm.hidden + (llm.mla.kv_lora_rank if llm.mla else 0))
        return max(whole - after, 0.0) / self.rank_gpus, min(after, whole) / self.rank_gpus

    def latent_up_parameters(self) -> float:
        """Up-projections that a prefill applies to cached latents as well."""
        mla = self.llm.mla
        return mla.kv_lora_rank * self.llm.heads * (mla.nope_dim + mla.v_dim) if mla else 0.0

    def gemm_s(
        self, part: str, parameters: float, tokens: float, *, share: float | None = None, sms: float = 1.0
    ) -> float:
        read_s = self.read_s(part, parameters)
        arithmetic_s = self.arithmetic_s(part, parameters, tokens, share=share) / sms
        blended: float = (read_s**3 + arithmetic_s**3) ** (1 / 3)
        return blended

    def read_s(self, part: str, parameters: float) -> float:
        width, _ = self._of_part(part)
        return parameters * width / self._read_bytes_per_s

    def arithmetic_s(self, part: str, parameters: float, tokens: float, *, share: float | None = None) -> float:
        _, peak = self._of_part(part)
        return 2 * parameters * tokens / ((share or self.reach.gemm) * peak)

    def _of_part(self, part: str) -> tuple[float, float]:
        """Bytes of a parameter, and the peak its arithmetic has [FLOP/s]."""
        if part not in self._parts:
            width = memory.part_bytes_per_parameter(self.llm, part=part, dtype=self.weight_dtype)
            compute = "bf16" if width == BF16_BYTES else precision(self.gpu, weight_dtype=self.weight_dtype)
            self._parts[part] = width, peak_flops_per_s(self.gpu, compute=compute)
        return self._parts[part]

    @cached_property
    def _parts(self) -> dict[str, tuple[float, float]]:
        return {}

    @cached_property
    def _read_bytes_per_s(self) -> float:
        return self.reach.weights_read * self.gpu.figure("memory_bytes_per_s")

    def shared_s(self, tokens: float, *, sms: float = 1.0) -> float:
        return self.gemm_s("shared_experts", memory.shared_expert_parameters(self.llm), tokens, sms=sms)

    def experts_s(self, tokens: float, *, busiest: float, share: float, sms: float = 1.0) -> float:
        """Routed experts of one layer on the busiest GPU: their weights, arithmetic and element-wise work."""
        llm, layout_moe = self.llm, self.llm.moe
        if layout_moe is None:
            return 0.0
        held = (layout_moe.experts + self.redundant_experts) / self.gpus
        one = memory.expert_parameters(llm)
        computed = tokens * layout_moe.top_k * busiest
        used = min(held, moe.distinct_experts(experts=held, top_k=min(held, 1.0), tokens=computed))
        read_s = self.read_s("experts", used * one)
        arithmetic_s = self.arithmetic_s("experts", one, computed, share=share) / sms
        element_bytes = computed * (4 * llm.hidden + 5 * layout_moe.expert_width)
        blended: float = (read_s**3 + arithmetic_s**3) ** (1 / 3)
        return (
            blended
            + self.element_wise_s(element_bytes)
            + self.element_wise_s(tokens * 10 * llm.hidden)
            + self.reach.experts_launch_s
        )

    def attention_bytes(self) -> float:
        """Element-wise traffic of one token in one attention: norms, rotary, assembling heads, quantisation."""
        llm = self.llm
        value = llm.mla.v_dim if llm.mla else llm.v_dim or llm.head_dim
        heads = (
            llm.heads * (4 * llm.head_dim + 2 * value) if llm.mla else (2 * llm.heads + 4 * llm.kv_heads) * llm.head_dim
        )
        return BF16_BYTES * (5 * llm.hidden + heads)

    def element_wise_s(self, amount_bytes: float) -> float:
        return amount_bytes / (self.reach.element_wise * self.gpu.figure("memory_bytes_per_s"))

    def dense_mlp_s(self, tokens: float) -> float:
        layers = dense_layers(self.llm)
        if not layers:
            return 0.0
        return self.gemm_s("dense_mlp", memory.parameters(self.llm)["dense_mlp"] / layers / self.rank_gpus, tokens)

    def head_s(self, tokens: float) -> float:
        return self.gemm_s("head", self.llm.vocab * self.llm.hidden / self.rank_gpus, tokens)

    def rank_reduce_s(self, tokens: float) -> float:
        """One all-reduce behind the output projection inside a rank of several GPUs."""
        if self.rank_gpus == 1:
            return 0.0
        payload = tokens * self.llm.hidden * BF16_BYTES
        sent = collectives.all_reduce_bytes(payload_bytes=payload, ranks=self.rank_gpus)
        rate = collectives.scope_bytes_per_s(self.gpu, ranks=self.rank_gpus, gpus_per_node=self.gpus_per_node)
        return sent / rate

    def core_decode_s(self, sequences: float, context_tokens: float, tokens_per_sequence: float) -> float:
        """Core attention of one layer, bound by the cache or by arithmetic."""
        read_s, flop_s = self._core_of_one(context_tokens)
        return sequences * max(read_s, flop_s * tokens_per_sequence)

    def _core_of_one(self, context_tokens: float) -> tuple[float, float]:
        """Of one sequence: reading its cache, and the arithmetic of one of its tokens."""
        if context_tokens not in self._cores:
            llm, r = self.llm, self.reach
            layers = max(1, attention.attention_layers(llm))
            cached = attention.request_kv_bytes(
                llm, tokens=context_tokens, dtype_bytes=self.kv_dtype_bytes, tensor_parallel=self.rank_gpus
            )
            flops = attention.decode_flops_per_token(llm, context_tokens=context_tokens)
            peak = r.core_decode * peak_flops_per_s(self.gpu, compute="bf16")
            self._cores[context_tokens] = (
                cached / layers / (r.cache_read * self.gpu.figure("memory_bytes_per_s")),
                flops / layers / self.rank_gpus / peak,
            )
        return self._cores[context_tokens]

    @cached_property
    def _cores(self) -> dict[float, tuple[float, float]]:
        return {}

    @cached_property
    def touched(self) -> tuple[tuple[str, float], ...]:
        """Parameters that one token uses in one layer."""
        return (
            ("attention", sum(self.attention_parameters)),
            ("experts", memory.shared_expert_parameters(self.llm) + self.top_k * memory.expert_parameters(self.llm)),
        )

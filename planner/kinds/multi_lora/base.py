"""The base LLM on one replica: bytes it holds and reads, KV of a token, the time of a step and of a prompt.

A decode step is bytes over bandwidth and a fixed part, a prompt FLOP over FLOP/s: the reference's own arithmetic, with
its shares of the peaks as inputs. Kernels of the base are not modelled finer here; `engine_instance` does that.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.catalog import Gpu, Llm
from planner.formulas import attention, lengths, memory, moe
from planner.formulas.parameters import expert_parameters, parameters
from planner.kinds.multi_lora.spec import MultiLoraSpec


@dataclass(frozen=True, slots=True)
class Base:
    """Figures of one replica, whose GPUs split weights and KV."""

    llm: Llm
    gpu: Gpu
    gpus: int
    active_parameters: float
    llm_active_parameters: float
    weight_bytes: float
    """Held by a replica."""
    dense_bytes: float
    """Of these, read in every step; the rest are routed experts."""
    expert_bytes: float
    kv_bytes_per_token: float
    """On one GPU, averaged over the context of a request."""
    state_bytes: float
    """Of recurrent layers, a request on one GPU."""
    bytes_per_s: float
    """Of one GPU, as used."""
    flops_per_s: float
    """Of a replica, as used."""
    overhead_s: float
    memory_bytes: float

    @property
    def flops_per_token(self) -> float:
        return 2 * self.active_parameters

    @property
    def read_bytes(self) -> float:
        """One reading of the whole base."""
        return self.weight_bytes

    def step_bytes(self, batch: float) -> float:
        """Weights that a step of so many requests reads, over all GPUs."""
        shape = self.llm.moe
        if shape is None or self.expert_bytes <= 0:
            return self.dense_bytes
        touched = moe.distinct_experts(experts=shape.experts, top_k=shape.top_k, tokens=batch)
        return self.dense_bytes + self.expert_bytes * touched / shape.experts

    def step_s(self, batch: float, *, context_tokens: float) -> float:
        """A decode step without adapters [s]."""
        kv = batch * (context_tokens * self.kv_bytes_per_token + self.state_bytes)
        return (self.step_bytes(batch) / self.gpus + kv) / self.bytes_per_s + self.overhead_s

    def prefill_s(self, tokens: float) -> float:
        """Time of a replica for so many prompt tokens, attention included [s]."""
        if tokens <= 0:
            return 0.0
        flops = tokens * self.flops_per_token + attention.prefill_flops(self.llm, new_tokens=tokens)
        return flops / self.flops_per_s


def base_of(spec: MultiLoraSpec, *, llm: Llm, gpu: Gpu) -> Base:
    """The base of the spec; raises `MissingFigure` where the catalog lacks one of the GPU."""
    own = parameters(llm)
    active = llm.published_active_params or own["active"]
    stated = spec.base_parameters
    gpus, tokens = spec.gpus_per_replica, resident_tokens(spec)
    state = attention.recurrent_state_bytes(llm, tensor_parallel=gpus)
    kv = attention.request_kv_bytes(
        llm, tokens=tokens, dtype_bytes=memory.kv_dtype_bytes(spec.kv_dtype), tensor_parallel=gpus
    )
    dense, experts = _weights(llm, spec=spec)
    return Base(
        llm=llm,
        gpu=gpu,
        gpus=gpus,
        active_parameters=active if stated is None else stated,
        llm_active_parameters=active,
        weight_bytes=dense + experts,
        dense_bytes=dense,
        expert_bytes=experts,
        kv_bytes_per_token=max(kv - state, 0.0) / tokens,
        state_bytes=state,
        bytes_per_s=gpu.figure("memory_bytes_per_s") * spec.mbu,
        flops_per_s=_peak(gpu, dtype=spec.weight_dtype) * spec.mfu * gpus,
        overhead_s=spec.step_overhead_s,
        memory_bytes=_visible(gpu) * spec.memory_share,
    )


def _weights(llm: Llm, *, spec: MultiLoraSpec) -> tuple[float, float]:
    """Bytes read in every step and bytes of routed experts.

    A stated number of parameters stands for all that a token reads; what a token leaves aside comes on top.
    """
    width = memory.BITS_PER_PARAMETER[spec.weight_dtype] / 8
    experts = parameters(llm)["experts"] if llm.moe else 0.0
    expert_bytes = experts * width if experts else 0.0
    if spec.base_parameters is None:
        return max(memory.weight_bytes(llm, dtype=spec.weight_dtype) - expert_bytes, 0.0), expert_bytes
    if not llm.moe:
        return spec.base_parameters * width, 0.0
    chosen = moe.expert_layers(llm) * llm.moe.top_k * expert_parameters(llm)
    return max(spec.base_parameters - chosen, 0.0) * width, expert_bytes


def _peak(gpu: Gpu, *, dtype: str) -> float:
    """Dense FLOP/s: of FP8 weights in FP8 where the GPU has it, else in 16 bits."""
    fast = dtype == "fp8" and gpu.has("fp8_flops_per_s")
    return gpu.figure("fp8_flops_per_s" if fast else "bf16_flops_per_s")


def resident_tokens(spec: MultiLoraSpec) -> float:
    """Tokens in the cache of a running request, seen at a random moment: long answers run for longer."""
    growing = spec.output_tokens * (1 + lengths.squared_variation(spec.output_sigma)) / 2
    return spec.input_tokens + growing


def _visible(gpu: Gpu) -> float:
    """Memory that the runtime reports, where somebody has read it; else what is marketed."""
    return gpu.figure("visible_memory_bytes" if gpu.has("visible_memory_bytes") else "memory_bytes")

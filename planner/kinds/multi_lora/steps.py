"""What adapters add to a decode step: kernels that are launched whatever happens, and weights that are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.formulas import lora_step, moe

if TYPE_CHECKING:
    from planner.kinds.multi_lora.replica import Replica

LAUNCHES = {"graphs": lora_step.GRAPHS, "eager": lora_step.EAGER, "old_eager": lora_step.EAGER_OLD}


@dataclass(frozen=True, slots=True)
class Step:
    """A decode step in its parts."""

    base_s: float
    launch_s: float
    read_s: float
    distinct: float
    engine_factor: float

    @property
    def total_s(self) -> float:
        return self.base_s * self.factor

    @property
    def factor(self) -> float:
        """Over the step without adapters."""
        found = lora_step.step_factor(self.launch_s + self.read_s, base_s=self.base_s, engine_factor=self.engine_factor)
        return float(found)


def step_of(replica: Replica, *, base_s: float, batch: float) -> Step:
    """The step of a batch, by the family of kernels."""
    spec, tokens = replica.spec, batch * replica.adapted
    if not replica.adapter.exists:
        return Step(base_s, 0.0, 0.0, 0.0, 1.0)
    # Who waits for a slot is not in the batch.
    distinct = min(replica.mean_distinct(batch), float(replica.memory.slots)) if tokens > 0 else 0.0
    launch_s = _launch_s(replica, tokens=tokens)
    read_s = _read_s(replica, tokens=tokens, distinct=distinct, launch_s=launch_s)
    engine_factor = lora_step.V0_FACTOR if spec.generation == "first" else 1.0
    return Step(base_s, launch_s, read_s, distinct, engine_factor)


def kernel_s(replica: Replica) -> float:
    """Time of one launch."""
    return LAUNCHES[replica.spec.launches].kernel_s


def _launch_s(replica: Replica, *, tokens: float) -> float:
    """Kernels of a step, weighted by how often a batch uses no adapter at all."""
    kernels, each_s = replica.adapter.kernels, kernel_s(replica)
    unused_s = lora_step.base_only_s(
        kernels=kernels, kernel_s=each_s, specialised_graphs=replica.spec.specialised_graphs == "on"
    )
    none = math.exp(-tokens)
    return (1 - none) * kernels * each_s + none * unused_s


def _read_s(replica: Replica, *, tokens: float, distinct: float, launch_s: float) -> float:
    spec, base, adapter = replica.spec, replica.base, replica.adapter
    if spec.kernels == "gather":
        found = lora_step.gather_s(
            tokens,
            adapter_bytes=adapter.gpu_file_bytes,
            memory_bytes_per_s=base.bytes_per_s / spec.mbu,
            distinct=distinct,
            launch_s=launch_s,
            bandwidth_use=spec.mbu,
        )
        return float(found) - launch_s
    found = lora_step.grouped_s(
        distinct,
        batch=tokens,
        kernels=0,
        kernel_s=0.0,
        slot_bytes=read_bytes_of(replica, tokens=tokens, distinct=distinct),
        adapter_parameters=adapter.active_parameters / base.gpus,
        memory_bytes_per_s=base.bytes_per_s / spec.mbu,
        flops_per_s=base.flops_per_s / spec.mfu / base.gpus,
        bandwidth_use=spec.mbu,
        compute_use=spec.mfu,
    )
    return float(found)


def read_bytes_of(replica: Replica, *, tokens: float, distinct: float) -> float:
    """Of an adapter in a step: of routed experts only those that its few tokens choose."""
    adapter, shape = replica.adapter, replica.base.llm.moe
    if shape is None or adapter.gpu_routed_bytes <= 0 or distinct <= 0:
        return adapter.gpu_slot_bytes
    chosen = moe.distinct_experts(experts=shape.experts, top_k=shape.top_k, tokens=tokens / distinct)
    return adapter.gpu_slot_bytes - adapter.gpu_routed_bytes * (1 - chosen / shape.experts)

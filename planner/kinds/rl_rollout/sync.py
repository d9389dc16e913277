"""New weights on their way to the instances: bytes, tensors and time by method, and what a switch of roles takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas import colocation, moe, weight_sync
from planner.kinds.rl_rollout.base import Base

METHODS = ("relay", "broadcast", "point_to_point", "delta")
PUBLISHED = {
    "broadcast": "checkpoint-engine, broadcast",
    "point_to_point": "checkpoint-engine, to some GPUs",
    "bucketed": "verl with checkpoint-engine",
    "by_tensor": "verl, tensor by tensor",
}
"""Ways to move weights of which published runs tell a rate."""


@dataclass(frozen=True, slots=True)
class Sync:
    """One sync by one method."""

    method: str
    size_bytes: float
    seconds: float


def tensors_of(llm: Llm) -> int:
    """Tensors of a checkpoint: projections and norms of each layer, experts one by one, embedding, norm and head."""
    mlp = llm.mlp_matrices
    attention = (7 if llm.mla else 6) + 2
    if llm.moe is None:
        return weight_sync.tensors_of(layers=llm.layers, per_layer=attention + mlp)
    with_experts = moe.expert_layers(llm)
    shared = mlp if llm.moe.shared_experts else 0
    plain = weight_sync.tensors_of(layers=llm.layers - with_experts, per_layer=attention + mlp, outside=0)
    return plain + weight_sync.tensors_of(
        layers=with_experts, per_layer=attention + 1 + shared, experts=llm.moe.experts, matrices_per_expert=mlp
    )


def ideal_s(base: Base) -> float:
    """Bytes over links, relayed without end: the bound of the reference."""
    spec = base.spec
    return weight_sync.relay_s(
        base.physics.weight_bytes, links=spec.sync_links, link_bytes_per_s=spec.link_bytes_per_s, replicas=1, chunks=1
    )


def sync_of(base: Base, *, instances: int, method: str | None = None) -> Sync:
    """One method to so many instances."""
    spec, weights = base.spec, base.physics.weight_bytes
    chosen = method or spec.sync_method
    size = min(changed_bytes(base), weights) if chosen == "delta" else weights
    before_s = spec.sync_fixed_s + tensors(base) * spec.sync_per_tensor_s
    if chosen == "point_to_point":
        return Sync(
            chosen,
            size,
            weight_sync.sharded_s(
                size,
                tensor_parallel=spec.instance_gpus,
                replicas=instances,
                train_gpus=spec.training_gpus,
                link_bytes_per_s=spec.link_bytes_per_s,
                fixed_s=before_s,
                efficiency=spec.sync_efficiency,
            ),
        )
    # A broadcast is a relay of endless chunks: every instance receives while the first still sends.
    chunks = math.inf if chosen == "broadcast" else float(spec.relay_chunks)
    moving_s = weight_sync.relay_s(
        size,
        links=spec.sync_links,
        link_bytes_per_s=spec.link_bytes_per_s * spec.sync_efficiency,
        replicas=instances,
        chunks=chunks,
    )
    return Sync(chosen, size, before_s + moving_s)


def tensors(base: Base) -> int:
    """Stated, or those of the LLM."""
    return base.spec.sync_tensors or tensors_of(base.physics.llm)


def changed_bytes(base: Base) -> float:
    """Changed weights in 16 bits with their places."""
    return weight_sync.delta_bytes(
        base.physics.parameters, changed=base.spec.delta_share, index_bytes=base.spec.delta_index_bytes
    )


def switch_s(base: Base) -> float:
    """Roles of co-located GPUs change twice a step: training's memory out and in, and the weights resharded."""
    spec, physics = base.spec, base.physics
    moved = spec.switch_bytes_per_gpu
    if moved is None:
        moved = colocation.optimiser_bytes_per_gpu(physics.parameters, gpus=spec.training_gpus)
    link = physics.gpu.figure("pcie_bytes_per_s")
    return colocation.switch_s(moved, host_link_bytes_per_s=link, reshard_s=spec.reshard_s)

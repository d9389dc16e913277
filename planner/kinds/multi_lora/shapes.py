"""What an adapter weighs: parameters, bytes of the file and of its slot, tensors to copy, kernels it adds."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas import adapters
from planner.formulas.adapter_shapes import ATTENTION, LINEAR, Matrix, adapted_matrices
from planner.kinds.multi_lora.spec import MultiLoraSpec

_TARGETS = {
    "qv": frozenset({"q", "v"}),
    "attention": frozenset(ATTENTION),
    "linear": frozenset({*LINEAR, "shared_experts"}),
    "experts": frozenset({*LINEAR, "shared_experts", "experts"}),
}
_VOCABULARY = frozenset({"embedding", "head"})
_BYTES = {"bf16": 2.0, "fp32": 4.0}


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter of this LLM, and the slot that takes it."""

    matrices: tuple[Matrix, ...]
    slot_matrices: tuple[Matrix, ...]
    parameters: float
    file_bytes: float
    slot_bytes: float
    """Over all GPUs of a replica, as if nothing were kept twice."""
    gpu_slot_bytes: float
    """On one GPU of a replica."""
    gpu_routed_bytes: float
    """Of these, the part of routed experts."""
    gpu_file_bytes: float
    tensors: int
    kernels: int
    active_parameters: float
    """Those that one token multiplies with: of routed experts only the chosen ones."""

    @property
    def exists(self) -> bool:
        """Whether the LLM has any of the matrices named."""
        return self.parameters > 0

    @property
    def wasted_share(self) -> float:
        """Of a slot, what an adapter of this design leaves empty."""
        return 1 - self.file_bytes / self.slot_bytes if self.slot_bytes > 0 else 0.0


def matrices_of(llm: Llm, *, targets: str, vocabulary: bool) -> tuple[Matrix, ...]:
    """What adapters with these targets have factors for; empty where the LLM has none."""
    return adapted_matrices(llm, targets=_TARGETS[targets] | (_VOCABULARY if vocabulary else frozenset()))


def adapter_of(spec: MultiLoraSpec, *, llm: Llm) -> Adapter:
    """The adapter of the spec on this LLM."""
    vocabulary, each = spec.vocabulary == "on", _BYTES[spec.adapter_dtype]
    own = matrices_of(llm, targets=spec.targets, vocabulary=vocabulary)
    room = matrices_of(llm, targets=spec.slot_targets, vocabulary=vocabulary)
    full = spec.sharding == "full"

    def on_gpu(matrices: tuple[Matrix, ...], rank: int) -> float:
        return adapters.rank_bytes(
            matrices,
            rank=rank,
            tensor_parallel=spec.gpus_per_replica,
            fully_sharded=full,
            parameter_bytes=each,
        )

    return Adapter(
        matrices=own,
        slot_matrices=room,
        parameters=adapters.adapter_parameters(own, rank=spec.rank),
        file_bytes=adapters.adapter_bytes(own, rank=spec.rank, parameter_bytes=each),
        slot_bytes=adapters.adapter_bytes(room, rank=spec.slot_rank, parameter_bytes=each),
        gpu_slot_bytes=on_gpu(room, spec.slot_rank),
        gpu_routed_bytes=on_gpu(tuple(each for each in room if each.routed), spec.slot_rank),
        gpu_file_bytes=on_gpu(own, spec.rank),
        tensors=adapters.tensors(own),
        kernels=adapters.kernels(room),
        active_parameters=_active(llm, own, rank=spec.rank),
    )


def _active(llm: Llm, matrices: tuple[Matrix, ...], *, rank: int) -> float:
    chosen = llm.moe.top_k / llm.moe.experts if llm.moe else 1.0
    routed = [each for each in matrices if each.routed]
    rest = [each for each in matrices if not each.routed]
    return adapters.adapter_parameters(rest, rank=rank) + chosen * adapters.adapter_parameters(routed, rank=rank)

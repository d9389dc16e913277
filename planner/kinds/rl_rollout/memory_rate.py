"""The rate that memory allows: weights and cached tokens read each step, and nothing else."""

from __future__ import annotations

from planner.formulas.decode_step import from_roofline
from planner.kinds.rl_rollout.base import Base

_NO_FLOP = 1e30


def bandwidth(base: Base) -> float:
    """Bytes a second that an instance reaches."""
    spec, physics = base.spec, base.physics
    return physics.gpus * physics.gpu.figure("memory_bytes_per_s") * spec.memory_efficiency


def read_step_s(base: Base, *, answers: float) -> float:
    """Time of a decode step that only reads, at the mean context."""
    physics = base.physics
    line = from_roofline(
        weight_bytes=physics.touched_bytes,
        kv_bytes_per_token=physics.kv_bytes_per_token,
        flops_per_token=0.0,
        memory_bytes_per_s=bandwidth(base),
        flops_per_s=_NO_FLOP,
    )
    return line.at(answers, context_tokens=physics.context_tokens)


def memory_rate(base: Base) -> float | None:
    """Tokens a second of a GPU with as many answers as memory holds; None where it does not hold one."""
    physics = base.physics
    if not physics.fits:
        return None
    return physics.memory_batch / read_step_s(base, answers=physics.memory_batch) / physics.gpus

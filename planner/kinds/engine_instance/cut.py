"""How the GPUs of a replica multiply: tensor-parallel ranks × copies of attention × pipeline stages."""

from __future__ import annotations


def fill(gpus: int, *, stages: int, ranks: int | None, copies: int | None) -> tuple[int, int] | None:
    """Tensor-parallel ranks and copies of a stage; None when they do not multiply to its GPUs."""
    stage, rest = divmod(gpus, stages)
    if rest:
        return None
    if ranks is None:
        return (stage // (copies or 1), copies or 1) if stage % (copies or 1) == 0 else None
    if copies is None:
        return (ranks, stage // ranks) if stage % ranks == 0 else None
    if ranks * copies == stage:
        return ranks, copies
    return (ranks // copies, copies) if ranks == stage and ranks % copies == 0 else None

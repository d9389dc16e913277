"""How the GPUs of a replica multiply: tensor-parallel ranks × copies of attention × pipeline stages."""

from __future__ import annotations


def fill(
    gpus: int, *, stages: int, ranks: int | None, copies: int | None, experts: int | None = None
) -> tuple[int, int] | None:
    """Tensor-parallel ranks and copies of a stage; None when they do not multiply to its GPUs.

    Tables of measurements write ranks as products with the expert ranks: TP 64 with EP 8 on 8 GPUs are 8 ranks.
    """
    stage, rest = divmod(gpus, stages)
    if rest:
        return None
    if ranks is None:
        return (stage // (copies or 1), copies or 1) if stage % (copies or 1) == 0 else None
    if copies is None and stage % ranks == 0:
        return ranks, stage // ranks
    copies = copies or 1
    if ranks * copies == stage:
        return ranks, copies
    if ranks == stage and ranks % copies == 0:
        return ranks // copies, copies
    if ranks * copies != stage * (experts or 1) or 1 not in (ranks, copies):
        return None
    return (stage, 1) if copies == 1 else (1, stage)

"""Low-rank adapters as bytes: parameters, slots on a GPU, tensors to copy, kernels a step, tokens they displace."""

from __future__ import annotations

import math
from collections.abc import Collection

from planner.formulas.adapter_shapes import Matrix

BF16_BYTES = 2.0

VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks vLLM takes as its maximum (`MaxLoRARanks` of vllm/config/lora.py)."""


def adapter_parameters(matrices: Collection[Matrix], *, rank: int, shared_factors: bool = False) -> float:
    """Parameters of one adapter.

    Parameters
    ----------
    matrices : it has factors for
    rank : r [1]
    shared_factors : routed experts of a layer share the factor on the side of the hidden state: of gate and up the
        one that reads it, of down the one that writes it

    Returns
    -------
    [1]

    Notes
    -----
    sum of r (d_in + d_out): factor A is r x d_in, factor B is d_out x r. Shared factors are counted once a layer.

    References
    ----------
    E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685, section 4.1 and
    eq. (3).

    >>> adapter_parameters([Matrix("q", 4096, 4096, 32), Matrix("v", 4096, 1024, 32)], rank=16)
    6815744.0
    """
    sums = sum(each.count * (each.d_in + each.d_out) for each in matrices)
    return float(rank * (sums - (_saved(matrices) if shared_factors else 0)))


def _saved(matrices: Collection[Matrix]) -> int:
    """Widths that experts of the same layer need not each keep."""
    routed = [each for each in matrices if each.routed]
    return sum((each.count - each.calls) * (each.d_out if each.cut == "row" else each.d_in) for each in routed)


def adapter_bytes(
    matrices: Collection[Matrix], *, rank: int, parameter_bytes: float = BF16_BYTES, shared_factors: bool = False
) -> float:
    """Bytes of one adapter, or of a slot: the same at the largest rank and for all targets that are enabled.

    Parameters
    ----------
    matrices : the adapter has factors for, or the slot has room for
    rank : of the adapter, or the largest that the engine is set to take [1]
    parameter_bytes : [bytes]
    shared_factors : as in `adapter_parameters`

    Returns
    -------
    [bytes]

    Notes
    -----
    b sum of r (d_in + d_out).

    References
    ----------
    E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685, section 4.1.

    >>> adapter_bytes([Matrix("q", 4096, 4096, 32), Matrix("v", 4096, 1024, 32)], rank=16) / 2**20
    13.0
    """
    return parameter_bytes * adapter_parameters(matrices, rank=rank, shared_factors=shared_factors)


def rank_bytes(
    matrices: Collection[Matrix],
    *,
    rank: int,
    tensor_parallel: int,
    expert_parallel: int = 1,
    fully_sharded: bool = False,
    parameter_bytes: float = BF16_BYTES,
) -> float:
    """Bytes of one adapter on one tensor-parallel rank.

    Parameters
    ----------
    matrices : the adapter has factors for
    rank : r [1]
    tensor_parallel : t, ranks that share a layer [1]
    expert_parallel : ranks over which whole routed experts are spread; those experts are then not cut [1]
    fully_sharded : both factors are cut, not only the one on the cut side
    parameter_bytes : [bytes]

    Returns
    -------
    [bytes]

    Notes
    -----
    Column: r d_in + r d_out / t. Row: r d_in / t + r d_out. Fully sharded: both over t. Projections that every rank
    holds whole (the downward ones of latent attention) are whole here too. Heads are not cut: with more ranks than
    heads of keys and values, each rank holds one.

    References
    ----------
    Y. Sheng et al., "S-LoRA: Serving Thousands of Concurrent LoRA Adapters", 2023, arXiv:2311.03285, section 6.1 and
    figure 4 (partition of both factors); vLLM documentation, "LoRA Adapters", option fully_sharded_loras.

    >>> rank_bytes([Matrix("o", 4096, 4096, 32, "row")], rank=16, tensor_parallel=4)
    5242880.0
    """
    ways = max(tensor_parallel, 1)
    numbers = 0.0
    for each in matrices:
        spread = expert_parallel if each.routed else 1
        numbers += each.count / spread * _on_rank(each, ways if spread == 1 else 1, fully_sharded)
    return parameter_bytes * rank * numbers


def _on_rank(each: Matrix, ways: int, fully_sharded: bool) -> float:
    if each.cut == "whole":
        return float(each.d_in + each.d_out)
    near, cut = (each.d_in, each.d_out) if each.cut == "column" else (each.d_out, each.d_in)
    mine = math.ceil(each.pieces / ways) / each.pieces if each.pieces else 1 / ways
    return near * (1 / ways if fully_sharded else 1.0) + cut * mine


def tensors(matrices: Collection[Matrix]) -> int:
    """Tensors of one adapter, two for each matrix: as many copies as a swap makes one by one.

    >>> tensors([Matrix("q", 4096, 4096, 32), Matrix("v", 4096, 1024, 32)])
    128
    """
    return 2 * sum(each.count for each in matrices)


def kernels(matrices: Collection[Matrix], *, fused: bool = True) -> int:
    """Kernels that adapters add to one step: one to shrink and one to expand for each product.

    Parameters
    ----------
    matrices : that slots have room for
    fused : projections that one product makes (q, k and v; gate and up) share their kernels

    Returns
    -------
    [1]

    Notes
    -----
    2 x products. Dense layers have 4 fused products (8 kernels, 256 for 32 layers) or 7 apart; routed experts add 2.

    References
    ----------
    L. Chen et al., "Punica: Multi-Tenant LoRA Serving", 2023, arXiv:2310.18547, section 4 (a pair of segmented
    gather products); vLLM source, vllm/lora/layers (one shrink and one expand for a merged projection).

    >>> qv = [Matrix("q", 4096, 4096, 32), Matrix("v", 4096, 1024, 32, joins=True)]
    >>> kernels(qv), kernels(qv, fused=False)
    (64, 128)
    """
    return 2 * sum(each.calls for each in matrices if not (fused and each.joins))


def resident_adapters(budget_bytes: float, *, slot_bytes: float) -> int:
    """Slots that a budget of memory holds.

    Notes
    -----
    floor(budget / slot): slots are all of the same size.

    References
    ----------
    vLLM documentation, "LoRA Adapters": slots are allocated at start for the largest rank.

    >>> resident_adapters(8 * 2**30, slot_bytes=83_886_080)
    102
    """
    return int(budget_bytes // slot_bytes) if slot_bytes > 0 else 0


def displaced_tokens(slots: float, *, slot_bytes: float, kv_bytes_per_token: float) -> float:
    """Tokens of KV cache that slots take the place of.

    Notes
    -----
    slots x slot bytes / KV bytes per token: both live in what the weights leave.

    References
    ----------
    Y. Sheng et al., "S-LoRA: Serving Thousands of Concurrent LoRA Adapters", 2023, arXiv:2311.03285, section 5.1
    (adapters and KV cache in one pool).

    >>> displaced_tokens(102, slot_bytes=83_886_080, kv_bytes_per_token=131_072)
    65280.0
    """
    return slots * slot_bytes / kv_bytes_per_token if kv_bytes_per_token > 0 else 0.0


def allowed_rank(rank: int) -> int | None:
    """The least maximum that vLLM can be set to and that takes an adapter of this rank; None past the largest.

    >>> allowed_rank(17), allowed_rank(1024)
    (32, None)
    """
    return next((allowed for allowed in VLLM_RANKS if allowed >= rank), None)

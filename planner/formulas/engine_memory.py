"""How an engine divides the memory of one rank: named terms in whole bytes that sum to its budget exactly.

The rules and constants of each engine come from ``calibrations/engine_memory.toml``; one function an engine.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Llm

GIB = 2.0**30
MIB = 2.0**20


@dataclass(frozen=True, slots=True)
class Terms:
    """Memory of one rank [bytes]; whole numbers, so that sums are exact.

    ``kv_pool`` is negative when the rest does not leave room. ``outside`` is what the engine takes beyond its budget,
    ``band`` the uncertainty of the pool.
    """

    budget: float
    weights: float
    activation: float
    graph: float
    context: float
    other: float
    outside: float
    band: float
    memory_fraction: float

    @property
    def kv_pool(self) -> float:
        return self.budget - self.weights - self.activation - self.graph - self.context - self.other


@dataclass(frozen=True, slots=True)
class Rank:
    """What the rules ask about one rank: its share of the LLM and the sizes it was started with."""

    visible_bytes: float
    weights_bytes: float
    activation_bytes: float
    extra_bytes: float
    """Adapter slots and draft weights."""
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    graph_capture: bool

    @property
    def is_parallel(self) -> bool:
        return self.tensor_parallel * self.data_parallel > 1


def era(rows: Sequence[Mapping[str, Any]], *, version: str | None) -> Mapping[str, Any]:
    """The row for a version: the first whose ``since`` it reaches, rows from new to old; without one the newest."""
    if not version:
        return rows[0]
    wanted = _numbers(version)
    return next((row for row in rows if wanted >= _numbers(row["since"])), rows[-1])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3]) or (0,)


def activation_bytes(
    llm: Llm,
    *,
    batched_tokens: int,
    sequences: int,
    tensor_parallel: int,
    hidden_factor: float,
    logit_bytes: float,
    mlp_width: float,
) -> float:
    """Peak of activations while the largest batch is profiled [bytes].

    Parameters
    ----------
    llm : architecture
    batched_tokens : tokens of the largest step
    sequences : sequences whose logits are sampled at once
    tensor_parallel : ranks that share the MLP
    hidden_factor : residual-width buffers alive at the peak
    logit_bytes : bytes of a sampled logit, over the whole vocabulary on every rank
    mlp_width : width of the dense or shared MLP

    Notes
    -----
    ``max(2N(3I/TP + c·h), 2N·h + b·S·V) + 6·N·k·I_expert/TP``: the MLP peak or the sampler's, and the experts' work
    space. Against 16 start-up logs of vLLM 0.19 on H100: median error 2 %, worst 8 %.
    """
    rows = min(sequences, batched_tokens)
    mlp = 2.0 * batched_tokens * (3.0 * mlp_width / tensor_parallel + hidden_factor * llm.hidden)
    sampler = 2.0 * batched_tokens * llm.hidden + logit_bytes * rows * llm.vocab
    experts = 6.0 * batched_tokens * llm.moe.top_k * llm.moe.expert_width / tensor_parallel if llm.moe else 0.0
    return max(mlp, sampler) + experts


def vllm_terms(row: Mapping[str, Any], *, rank: Rank, memory_fraction: float | None) -> Terms:
    """vLLM: a fraction of the whole GPU, from which weights, activation peak and buffers are taken.

    Notes
    -----
    ``KV = total·u − (weights + activations + non-torch) − graphs``; before 0.21 graphs lie outside the fraction.
    """
    fraction = memory_fraction or float(row["memory_fraction"])
    graph = row["graph_gib"] * GIB if rank.graph_capture else 0.0
    inside = bool(row["graphs_inside"])
    budget = rank.visible_bytes * fraction
    return Terms(
        budget=_whole(budget),
        weights=_whole(rank.weights_bytes),
        activation=_whole(rank.activation_bytes),
        graph=_whole(graph if inside else 0.0),
        context=_whole(_parallel(row, "non_torch_gib", rank) * GIB),
        other=_whole(rank.extra_bytes),
        outside=_whole(0.0 if inside else graph),
        band=_parallel(row, "band_gib", rank) * GIB,
        memory_fraction=fraction,
    )


def sglang_terms(
    rules: Mapping[str, Any], *, rank: Rank, memory_fraction: float | None, chunk: int, graph_batch: int
) -> Terms:
    """SGLang: the static fraction holds weights and cache; activations and graphs live in what is left.

    Notes
    -----
    ``KV = free·f − weights`` with the memory free after the communicators are up. The budget is the whole visible
    memory; ``other`` is the part of the reserve that neither activations nor graphs are expected to fill.
    """
    preload = _interpolated(rules["preload"], "ranks", rank.tensor_parallel * rank.data_parallel) * GIB
    free = rank.visible_bytes - preload
    fraction = memory_fraction or sglang_fraction(rules, rank=rank, chunk=chunk, graph_batch=graph_batch)
    graph = _interpolated(rules["graph"], "batch", graph_batch) * GIB if rank.graph_capture else 0.0
    reserve = free * (1.0 - fraction)
    return Terms(
        budget=_whole(rank.visible_bytes),
        weights=_whole(rank.weights_bytes),
        activation=_whole(min(rank.activation_bytes, reserve)),
        graph=_whole(min(graph, max(reserve - rank.activation_bytes, 0.0))),
        context=_whole(preload),
        other=_whole(rank.extra_bytes + max(reserve - rank.activation_bytes - graph, 0.0)),
        outside=0.0,
        band=_parallel(rules, "band_gib", rank) * GIB,
        memory_fraction=fraction,
    )


def sglang_fraction(rules: Mapping[str, Any], *, rank: Rank, chunk: int, graph_batch: int) -> float:
    """The static fraction SGLang chooses when none is given [1]."""
    reserve = float(rules["reserve_base_mib"])
    reserve += rules["reserve_per_chunk_token_mib"] * max(chunk, rules["reserve_chunk_floor"])
    reserve += rules["reserve_per_rank_mib"] * rank.tensor_parallel * rank.data_parallel * rank.pipeline_parallel / 8
    reserve += rules["reserve_per_graph_sequence_mib"] * graph_batch if rank.graph_capture else 0.0
    if rank.data_parallel > 1:
        reserve += rules["reserve_per_data_parallel_sequence_mib"] * graph_batch * rank.data_parallel
    if rank.visible_bytes > rules["reserve_floor_above_gib"] * GIB:
        reserve = max(reserve, rules["reserve_floor_mib"])
    return float(max(1.0 - reserve * MIB / rank.visible_bytes, 0.05))


def tensorrt_llm_terms(rules: Mapping[str, Any], *, rank: Rank, memory_fraction: float | None) -> Terms:
    """TensorRT-LLM (PyTorch backend): a fraction of what a trial run leaves free.

    Notes
    -----
    ``KV = fraction · (total − peak)``; ``other`` is the free part it leaves alone.
    """
    fraction = memory_fraction or float(rules["memory_fraction"])
    context = _parallel(rules, "non_torch_gib", rank) * GIB
    graph = rules["graph_gib"] * GIB if rank.graph_capture else 0.0
    peak = rank.weights_bytes + rank.activation_bytes + rank.extra_bytes + context + graph
    free = max(rank.visible_bytes - peak, 0.0)
    return Terms(
        budget=_whole(rank.visible_bytes),
        weights=_whole(rank.weights_bytes),
        activation=_whole(rank.activation_bytes),
        graph=_whole(graph),
        context=_whole(context),
        other=_whole(rank.extra_bytes + free * (1.0 - fraction)),
        outside=0.0,
        band=_parallel(rules, "band_gib", rank) * GIB,
        memory_fraction=fraction,
    )


def _whole(size: float) -> float:
    return float(round(size))


def _parallel(row: Mapping[str, Any], name: str, rank: Rank) -> float:
    return float(row[name.replace("_gib", "_parallel_gib")] if rank.is_parallel else row[name])


def _interpolated(rows: Sequence[Mapping[str, Any]], axis: str, at: float) -> float:
    """Linear between the rows, held constant beyond them."""
    if at <= rows[0][axis]:
        return float(rows[0]["gib"])
    for low, high in itertools.pairwise(rows):
        if at <= high[axis]:
            share = (at - low[axis]) / (high[axis] - low[axis])
            return float(low["gib"] + share * (high["gib"] - low["gib"]))
    return float(rows[-1]["gib"])

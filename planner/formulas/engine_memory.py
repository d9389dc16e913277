"""How an engine divides the memory of one rank: named terms in whole bytes that sum to its budget exactly.

The constants come from the catalog: the engine's own file and ``calibrations/engine_memory.toml``; one function an
engine.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Llm


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


def version_row(settings: Mapping[str, Any], *, version: str | None) -> Mapping[str, Any]:
    """The settings of a version over the engine's own: the newest row whose ``since`` it reaches, else the newest.

    Rows run from old to new.
    """
    rows: Sequence[Mapping[str, Any]] = settings.get("versions", ())
    wanted = _numbers(version) if version else None
    reached = [row for row in rows if wanted is None or wanted >= _numbers(row["since"])]
    chosen = reached[-1] if reached else (rows[0] if rows else {})
    return {**settings, **chosen}


def gpu_row(settings: Mapping[str, Any], *, visible_bytes: float, architecture: str) -> Mapping[str, Any]:
    """The sizes an engine chooses by GPU: the first row whose memory the GPU has, rows from large to small."""
    for row in settings.get("by_gpu", ()):
        if visible_bytes >= row["visible_from"] and architecture not in row.get("except_architectures", ()):
            found: Mapping[str, Any] = row
            return found
    return {}


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

    References
    ----------
    Fitted on the start-up logs named in ``calibrations/engine_memory.toml``.
    """
    rows = min(sequences, batched_tokens)
    mlp = 2.0 * batched_tokens * (3.0 * mlp_width / tensor_parallel + hidden_factor * llm.hidden)
    sampler = 2.0 * batched_tokens * llm.hidden + logit_bytes * rows * llm.vocab
    experts = 6.0 * batched_tokens * llm.moe.top_k * llm.moe.expert_width / tensor_parallel if llm.moe else 0.0
    return max(mlp, sampler) + experts


def engine_terms(
    settings: Mapping[str, Any],
    *,
    rank: Rank,
    common: Mapping[str, Any],
    memory_fraction: float | None,
    batched_tokens: int,
    graph_sequences: int,
) -> Terms:
    """Terms of a rank by the rule the engine's settings name: a fraction of visible memory, of what is free before the
    weights are loaded, or of what a trial run leaves.

    Parameters
    ----------
    settings : of the engine and version (`version_row`)
    rank : what the rank holds
    common : ``calibrations/engine_memory.toml``
    memory_fraction : given by the user, else the engine's own
    batched_tokens : tokens of the largest step
    graph_sequences : largest batch a graph is captured for
    """
    rule = settings["memory_fraction_of"]
    if rule == "visible":
        return vllm_terms(settings, rank=rank, common=common, memory_fraction=memory_fraction)
    if rule == "free_before_load":
        fraction = memory_fraction or sglang_fraction(
            settings, rank=rank, chunk=batched_tokens, graph_sequences=graph_sequences
        )
        return sglang_terms(settings, rank=rank, common=common, fraction=fraction, graph_sequences=graph_sequences)
    return tensorrt_llm_terms(settings, rank=rank, common=common, memory_fraction=memory_fraction)


def vllm_terms(
    settings: Mapping[str, Any], *, rank: Rank, common: Mapping[str, Any], memory_fraction: float | None
) -> Terms:
    """vLLM: a fraction of the whole GPU, from which weights, activation peak and buffers are taken.

    Notes
    -----
    ``KV = total·u − (weights + activations + non-torch) − graphs``; before 0.21 graphs lie outside the fraction.

    References
    ----------
    Kwon et al., "PagedAttention", 2023, arXiv:2309.06180, section 4.2; fractions and terms by version are in
    ``engines/vllm.toml``.
    """
    fraction = memory_fraction or float(settings["memory_fraction"])
    graph = settings["graphs"]["typical"] if rank.graph_capture else 0.0
    inside = bool(settings["graphs_inside_fraction"])
    return Terms(
        budget=_whole(rank.visible_bytes * fraction),
        weights=_whole(rank.weights_bytes),
        activation=_whole(rank.activation_bytes),
        graph=_whole(graph if inside else 0.0),
        context=_whole(_step(settings["non_torch"], rank.tensor_parallel * rank.data_parallel)),
        other=_whole(rank.extra_bytes),
        outside=_whole(0.0 if inside else graph),
        band=float(common["band"]["parallel" if rank.is_parallel else "single"]),
        memory_fraction=fraction,
    )


def sglang_terms(
    settings: Mapping[str, Any], *, rank: Rank, common: Mapping[str, Any], fraction: float, graph_sequences: int
) -> Terms:
    """SGLang: the static fraction holds weights and cache; activations and graphs live in what is left.

    Notes
    -----
    ``KV = free·f − weights`` with the memory free after the communicators are up. The budget is the whole visible
    memory; ``other`` is the part of the reserve that neither activations nor graphs are expected to fill.

    References
    ----------
    The engine's server arguments and memory pool, by version in ``engines/sglang.toml``.
    """
    lost = _step(settings["lost_before_load"], rank.tensor_parallel * rank.data_parallel)
    reserve = (rank.visible_bytes - lost) * (1.0 - fraction)
    activation = min(rank.activation_bytes, reserve)
    graph = _graph_bytes(settings["graphs"], graph_sequences) if rank.graph_capture else 0.0
    graph = min(graph, reserve - activation)
    return Terms(
        budget=_whole(rank.visible_bytes),
        weights=_whole(rank.weights_bytes),
        activation=_whole(activation),
        graph=_whole(graph),
        context=_whole(lost),
        other=_whole(rank.extra_bytes + reserve - activation - graph),
        outside=0.0,
        band=float(common["band"]["parallel" if rank.is_parallel else "single"]),
        memory_fraction=fraction,
    )


def sglang_fraction(settings: Mapping[str, Any], *, rank: Rank, chunk: int, graph_sequences: int) -> float:
    """The static fraction SGLang chooses when none is given: what a reserve by sizes leaves [1]."""
    rule = settings["reserve"]
    reserve = float(rule["fixed"])
    reserve += rule["per_prefill_token"] * max(chunk, rule["prefill_tokens_at_least"])
    reserve += rule["per_gpu"] * rank.tensor_parallel * rank.data_parallel * rank.pipeline_parallel
    reserve += rule["per_graph_sequence"] * graph_sequences if rank.graph_capture else 0.0
    if rank.visible_bytes > rule["floor_above_visible"]:
        reserve = max(reserve, rule["floor"])
    return float(max(1.0 - reserve / rank.visible_bytes, 0.05))


def tensorrt_llm_terms(
    settings: Mapping[str, Any], *, rank: Rank, common: Mapping[str, Any], memory_fraction: float | None
) -> Terms:
    """TensorRT-LLM (PyTorch backend): a fraction of what a trial run leaves free.

    Notes
    -----
    ``KV = fraction · (total − peak)``; ``other`` is the free part it leaves alone.

    References
    ----------
    The engine's documentation of its KV cache, as ``engines/tensorrt_llm.toml`` names it.
    """
    fraction = memory_fraction or float(settings["memory_fraction"])
    context = float(common["unstated"]["non_torch_parallel" if rank.is_parallel else "non_torch_single"])
    graph = float(common["unstated"]["graph"]) if rank.graph_capture else 0.0
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
        band=float(common["band"]["unchecked"]),
        memory_fraction=fraction,
    )


def _whole(size: float) -> float:
    return float(round(size))


def _step(rows: Sequence[Mapping[str, Any]], ranks: int) -> float:
    """Interpolated between the rows by number of ranks, held constant beyond the last."""
    if ranks <= rows[0]["tensor_parallel_from"]:
        return float(rows[0]["typical"])
    for low, high in itertools.pairwise(rows):
        first, last = low["tensor_parallel_from"], high["tensor_parallel_from"]
        if ranks <= last:
            return float(low["typical"] + (ranks - first) / (last - first) * (high["typical"] - low["typical"]))
    return float(rows[-1]["typical"])


def _graph_bytes(row: Mapping[str, Any], sequences: int) -> float:
    """Graphs seen at 48, 128 and 512 sequences, straight lines between."""
    seen = ((48, row["low"]), (128, row["typical"]), (512, row["high"]))
    for (first, low), (last, high) in itertools.pairwise(seen):
        if sequences <= last:
            return float(low + max(sequences - first, 0) / (last - first) * (high - low))
    return float(row["high"])

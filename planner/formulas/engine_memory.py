"""How an engine divides the memory of one rank: one function an engine gives the terms of `memory_terms`.

The constants come from the catalog: the engine's own file and ``calibrations/engine_memory.toml``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from planner.formulas.memory_terms import NOTHING, Rank, Spread, Terms, assemble, settled

_GRAPH_POINTS = (48.0, 128.0, 512.0)
_LEAST_FRACTION = 0.05


def version_row(
    settings: Mapping[str, Any], *, version: str | None, generation: str | None = None
) -> Mapping[str, Any]:
    """The settings of a version over the engine's own: the newest row whose ``since`` it reaches, else the newest.

    Rows run from old to new. A word without a number in it (main, nightly) means the newest. ``generation`` keeps to
    the rows of one: an engine may offer two for a while.
    """
    rows: Sequence[Mapping[str, Any]] = settings.get("versions", ())
    if generation is not None:
        rows = [row for row in rows if row.get("generation") == generation] or rows
    reached = [row for row in rows if reaches(version, row["since"])]
    chosen = reached[-1] if reached else (rows[0] if rows else {})
    return {**settings, **chosen}


def reaches(version: str | None, since: str) -> bool:
    """Whether a version is another or newer; none stands for the newest."""
    return version is None or version == "" or _numbers(version) >= _numbers(since)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = re.findall(r"\d+", version.partition("+")[0])[:3]
    return tuple(int(part) for part in numbers) or (10**6,)


def gpu_row(settings: Mapping[str, Any], *, visible_bytes: float, architecture: str) -> Mapping[str, Any]:
    """The sizes an engine chooses by GPU: the first row whose memory the GPU has, rows from large to small."""
    for row in settings.get("by_gpu", ()):
        if visible_bytes >= row["visible_from"] and architecture not in row.get("except_architectures", ()):
            found: Mapping[str, Any] = row
            return found
    return {}


def ranks_row(rows: Sequence[Mapping[str, Any]], *, ranks: int, gpu_class: str) -> Spread:
    """The row of a table by ranks and kind of GPU: the last one of the kind that the ranks reach.

    Buffers come in steps (one rank needs no communicator, two do), so nothing is interpolated. A kind without rows of
    its own takes those of the first kind in the table.
    """
    own = [row for row in rows if row["gpu_class"] == gpu_class] or [
        row for row in rows if row["gpu_class"] == rows[0]["gpu_class"]
    ]
    chosen = [row for row in own if row["ranks_from"] <= ranks][-1]
    return Spread(float(chosen["typical"]), float(chosen["low"]), float(chosen["high"]))


def engine_terms(
    settings: Mapping[str, Any],
    *,
    rank: Rank,
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
    memory_fraction : given by the user, else the engine's own
    batched_tokens : tokens of the largest step
    graph_sequences : largest batch a graph is captured for
    """
    rule = settings["memory_fraction_of"]
    if rule == "visible":
        return vllm_terms(settings, rank=rank, memory_fraction=memory_fraction)
    if rule == "free_before_load":
        fraction = memory_fraction or sglang_fraction(
            settings, rank=rank, chunk=batched_tokens, graph_sequences=graph_sequences
        )
        return sglang_terms(settings, rank=rank, fraction=fraction, graph_sequences=graph_sequences)
    return tensorrt_llm_terms(settings, rank=rank, memory_fraction=memory_fraction)


def vllm_terms(settings: Mapping[str, Any], *, rank: Rank, memory_fraction: float | None) -> Terms:
    """vLLM: a fraction of the whole GPU, from which weights, activation peak and buffers are taken.

    Notes
    -----
    ``KV = total·u − (weights + activations + non-torch) − graphs``; before 0.21 graphs lie outside the fraction. What
    counts as non-torch differs by version: all that is used on the device (to 0.6.3, context included), what the
    allocator does not know of (0.8 to 0.9.1), or what was taken since start-up.

    References
    ----------
    Kwon et al., "PagedAttention", 2023, arXiv:2309.06180, section 4.2; fractions and terms by version are in
    ``engines/vllm.toml``.
    """
    fraction = memory_fraction or float(settings["memory_fraction"])
    inside = bool(settings["graphs_inside_fraction"])
    graph = _graphs(settings["graphs"], rank=rank)
    taken = settled(rank, context=_context(settings["non_torch"], rank=rank), graph=graph if inside else NOTHING)
    return assemble(
        rank,
        taken,
        budget=rank.visible.typical * fraction,
        other=rank.extra_bytes + rank.draft_bytes,
        outside=0.0 if inside else graph.typical,
        memory_fraction=fraction,
        visible_share=fraction,
    )


def sglang_terms(settings: Mapping[str, Any], *, rank: Rank, fraction: float, graph_sequences: int) -> Terms:
    """SGLang: the static fraction holds weights and cache; activations and graphs live in what is left.

    Notes
    -----
    ``KV = free·f − weights`` with the memory free after the communicators are up. The budget is the whole visible
    memory; ``other`` is the part of the reserve that neither activations nor graphs are expected to fill.

    References
    ----------
    The engine's server arguments and memory pool, by version in ``engines/sglang.toml``.
    """
    lost = _context(settings["lost_before_load"], rank=rank)
    if rank.measured and rank.measured.context is not None:
        lost = Spread.exact(rank.measured.context)
    reserve = max(rank.visible.typical - lost.typical, 0.0) * (1.0 - fraction)
    activation = min(rank.activation.typical, reserve)
    graph = _graph_bytes(settings["graphs"], graph_sequences) if rank.graph_capture else 0.0
    if rank.measured and rank.measured.graph is not None:
        graph = rank.measured.graph
    graph = min(graph, reserve - activation)
    # A draft is loaded after the pool was cut: the reserve has to hold it.
    other = rank.extra_bytes + reserve - activation - graph
    if rank.measured and rank.measured.rest_shift is not None:
        other = max(other + rank.measured.rest_shift, 0.0)
        lost = Spread(lost.typical, lost.typical - rank.measured.rounding, lost.typical + rank.measured.rounding)
    # Neither activations nor graphs touch the pool: the reserve holds them, however large they are.
    return assemble(
        rank,
        (Spread.exact(activation), lost.kept(fraction), Spread.exact(graph)),
        budget=rank.visible.typical,
        other=other,
        outside=0.0,
        memory_fraction=fraction,
        visible_share=fraction,
    )


def sglang_fraction(settings: Mapping[str, Any], *, rank: Rank, chunk: int, graph_sequences: int) -> float:
    """The static fraction SGLang chooses when none is given: by ranks in old versions, else what a reserve leaves [1].

    Parameters
    ----------
    settings : of the engine and version
    rank : what the rank holds
    chunk : tokens of a prefill chunk
    graph_sequences : largest batch a graph is captured for

    Notes
    -----
    ``1 − (512 MiB + 1.5·max(chunk, 2048) + 1024·TP·PP/8 + 2·graphs + DP attention)/memory``, the reserve at least
    10,240 MiB on cards above 60 GiB.

    References
    ----------
    The engine's server arguments, by version in ``engines/sglang.toml``.
    """
    if settings["fraction_rule"] == "by_ranks":
        rows = [row for row in settings["fraction_by_ranks"] if row["ranks_from"] <= rank.ranks]
        return float(rows[-1]["memory_fraction"])
    rule = settings["reserve"]
    reserve = float(rule["fixed"])
    reserve += rule["per_prefill_token"] * max(chunk, rule["prefill_tokens_at_least"])
    reserve += rule["per_gpu"] * rank.ranks * rank.pipeline_parallel
    if rank.graph_capture:
        reserve += rule["per_graph_sequence"] * graph_sequences
        if rank.data_parallel > 1:
            many = graph_sequences > rule["many_graph_sequences"]
            share = rule["per_copy_and_graph_sequence"] * (1.5 if many else 1.0)
            reserve += share * graph_sequences * rank.data_parallel
    if rank.visible.typical > rule["floor_above_visible"]:
        reserve = max(reserve, rule["floor"])
    if rank.draft_bytes:
        reserve += rule["speculation"]
    if rank.dispatch.typical:
        reserve += rule["deep_ep"]
    return float(max(round(1.0 - reserve / rank.visible.typical, 3), _LEAST_FRACTION))


def tensorrt_llm_terms(settings: Mapping[str, Any], *, rank: Rank, memory_fraction: float | None) -> Terms:
    """TensorRT-LLM (PyTorch backend): a fraction of what a trial run leaves free.

    Notes
    -----
    ``KV = fraction · (total − peak)``, the trial's own pool given back before; ``other`` is the free part it leaves
    alone. One public log: (119.70 − 113.65 + 0.56) · 0.9 = 5.95 GiB.

    References
    ----------
    The engine's documentation of its KV cache, as ``engines/tensorrt_llm.toml`` names it.
    """
    fraction = memory_fraction or float(settings["memory_fraction"])
    taken = settled(
        rank,
        context=_context(settings["outside_torch"], rank=rank),
        graph=_graphs(settings["graphs"], rank=rank),
        pool_share=fraction,
    )
    extra = rank.extra_bytes + rank.draft_bytes
    peak = rank.weights.typical + extra + sum(spread.typical for spread in taken)
    free = max(rank.visible.typical - peak, 0.0)
    return assemble(
        rank,
        taken,
        budget=rank.visible.typical,
        other=extra + free * (1.0 - fraction),
        outside=0.0,
        memory_fraction=fraction,
        visible_share=1.0,
        pool_share=fraction,
    )


def _context(rows: Sequence[Mapping[str, Any]], *, rank: Rank) -> Spread:
    found = ranks_row(rows, ranks=rank.ranks * rank.pipeline_parallel, gpu_class=rank.gpu_class)
    return found.plus(rank.dispatch)


def _graphs(row: Mapping[str, Any], *, rank: Rank) -> Spread:
    if not rank.graph_capture:
        return NOTHING
    return Spread(float(row["typical"]), float(row["low"]), float(row["high"]))


def _graph_bytes(row: Mapping[str, Any], sequences: int) -> float:
    """Graphs seen at 48, 128 and 512 sequences, straight lines between."""
    seen = tuple(zip(_GRAPH_POINTS, (row["low"], row["typical"], row["high"]), strict=True))
    for (first, low), (last, high) in itertools.pairwise(seen):
        if sequences <= last:
            return float(low + max(sequences - first, 0) / (last - first) * (high - low))
    return float(row["high"])

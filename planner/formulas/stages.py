"""Layers of each pipeline stage, by what they keep in the cache and by their MLP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from planner.core.catalog import Llm
from planner.formulas.parameters import attention_layers


@dataclass(frozen=True, slots=True)
class Mix:
    """Layers of a stage: by cache (``full``, ``window``, ``state``) and by MLP (``dense``, ``expert``).

    The rest of ``layers`` keep nothing (an MLP only); a layer may have a state beside its attention.
    """

    layers: int
    full: int
    window: int
    state: int
    dense: int
    expert: int

    @property
    def attention(self) -> int:
        """Layers that keep keys and values."""
        return self.full + self.window


def stage_layers(llm: Llm, *, pipeline_parallel: int) -> tuple[int, ...]:
    """Layers of each pipeline stage: as even as can be, the rest to the stages before the last.

    The last stage also holds the head, the first the embedding, so they take the fewer layers.
    """
    base, rest = divmod(llm.layers, pipeline_parallel)
    counts = [base] * pipeline_parallel
    order = [*range(pipeline_parallel - 2, 0, -1), *sorted({0, pipeline_parallel - 1})]
    for stage in order[:rest]:
        counts[stage] += 1
    return tuple(counts)


@lru_cache(maxsize=512)
def stage_mixes(llm: Llm, *, pipeline_parallel: int) -> tuple[Mix, ...]:
    """What the layers of each stage are, counted in the order they stand in.

    Layers of mixed kinds repeat a pattern that ends with the rarer, full one; dense layers come first, then experts
    every ``moe.every`` layers.
    """
    marks = (_full(llm), _windows(llm), _states(llm), _dense(llm), _experts(llm))
    found, start = [], 0
    for count in stage_layers(llm, pipeline_parallel=pipeline_parallel):
        full, window, state, dense, expert = (sum(mark[start : start + count]) for mark in marks)
        found.append(Mix(layers=count, full=full, window=window, state=state, dense=dense, expert=expert))
        start += count
    return tuple(found)


def _spread(places: list[int], count: int, *, total: int) -> list[bool]:
    """Marks of ``total`` layers: ``count`` of ``places``, as evenly as can be, each at the end of its run."""
    marks, many = [False] * total, max(len(places), 1)
    for order, place in enumerate(places):
        marks[place] = (order + 1) * count // many > order * count // many
    return marks


def _attention(llm: Llm) -> list[bool]:
    return _spread(list(range(llm.layers)), attention_layers(llm), total=llm.layers)


def _full(llm: Llm) -> list[bool]:
    windows = llm.sliding.layers if llm.sliding else 0
    places = [layer for layer, has in enumerate(_attention(llm)) if has]
    return _spread(places, len(places) - windows, total=llm.layers)


def _windows(llm: Llm) -> list[bool]:
    return [has and not full for has, full in zip(_attention(llm), _full(llm), strict=True)]


def _states(llm: Llm) -> list[bool]:
    if llm.linear is None:
        return [False] * llm.layers
    beside = llm.linear.beside_attention
    places = [layer for layer, has in enumerate(_attention(llm)) if beside or not has]
    return _spread(places, llm.linear.layers, total=llm.layers)


def _experts(llm: Llm) -> list[bool]:
    if llm.moe is None:
        return [False] * llm.layers
    if llm.moe.layers:
        return _spread(list(range(llm.layers)), llm.moe.layers, total=llm.layers)
    first, every = llm.moe.first_dense_layers, llm.moe.every
    return [layer >= first and (layer - first + 1) % every == 0 for layer in range(llm.layers)]


def _dense(llm: Llm) -> list[bool]:
    if llm.dense_layers is None:
        return [not has for has in _experts(llm)]
    return _spread(list(range(llm.layers)), llm.dense_layers, total=llm.layers)

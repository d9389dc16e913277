"""A trace as what comes back: which blocks its prompts share, at the rate of the design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog, MissingFigure
from planner.core.simulation import Blocks, Workload
from planner.formulas import reuse as formulas
from planner.formulas.caching import Sessions
from planner.formulas.gap_samples import Empirical
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.turns import Sort

POINTS = 192
"""Requests that stand for all of a trace."""
_STEP = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What follows from a trace, whatever the design."""

    workload: Workload
    blocks: Blocks
    curve: formulas.ReuseCurve
    leading_tokens: NDArray[np.float64]
    """Of each prompt, what a cache without limit finds from its beginning on."""

    @property
    def lookups_per_request(self) -> float:
        return len(self.blocks.ids) / max(self.workload.requests, 1)

    @property
    def context_tokens(self) -> float:
        """Mean of prompt and answer."""
        return float(self.workload.input_tokens.mean() + self.workload.output_tokens.mean())

    @property
    def new_tokens(self) -> float:
        """Mean of what no cache holds, the answer included."""
        return max(self.context_tokens - float(self.leading_tokens.mean()), 1.0)


@lru_cache(maxsize=8)
def read(workload: Workload) -> Trace:
    """Sort the touches of a trace once; raises `MissingFigure` without block hashes."""
    blocks = workload.blocks
    if blocks is None or not len(blocks.ids):
        raise MissingFigure(table="workloads", slug=workload.name, figure="block hashes")
    found = formulas.leading_hits(blocks.ids, offsets=blocks.offsets).astype(float) * blocks.tokens
    leading = np.minimum(found, np.maximum(workload.input_tokens - 1.0, 0.0))
    return Trace(workload, blocks, formulas.reuse_curve(blocks.ids), leading)


def trace_of(spec: KvPoolSpec, *, catalog: Catalog) -> Trace:
    """The trace that a spec names."""
    return read(catalog.workload(spec.workload or ""))


def own_rate(trace: Trace) -> float:
    """Requests a second of the trace as it was recorded; 0 for one that lasts no time."""
    arrivals = trace.workload.arrival_s
    span_s = float(arrivals[-1] - arrivals[0]) if len(arrivals) else 0.0
    return (len(arrivals) - 1) / span_s if span_s > 0 else 0.0


@lru_cache(maxsize=8)
def first_requests(workload: Workload, *, count: int) -> Workload:
    """The beginning of a trace."""
    blocks = workload.blocks
    if blocks is not None:
        blocks = Blocks(blocks.ids[: int(blocks.offsets[count])], blocks.offsets[: count + 1], blocks.tokens)
    cached = workload.cached_tokens
    return replace(
        workload,
        arrival_s=workload.arrival_s[:count],
        input_tokens=workload.input_tokens[:count],
        output_tokens=workload.output_tokens[:count],
        cached_tokens=None if cached is None else cached[:count],
        blocks=blocks,
    )


def with_own_lengths(spec: KvPoolSpec, *, trace: Trace) -> KvPoolSpec:
    """The spec with the lengths of its trace; the rate stays."""
    lengths = {
        "context_tokens": trace.context_tokens,
        "new_tokens": trace.new_tokens,
        "output_tokens": float(trace.workload.output_tokens.mean()),
        "one_shot_share": 0.0,
        "shared_prefix_tokens": 0.0,
    }
    return spec.model_copy(update=lengths)


def sorts(trace: Trace) -> tuple[Sort, ...]:
    """Requests of the trace by the length of their prompts, with the means of all."""
    order = np.argsort(trace.workload.input_tokens, kind="stable")
    picked = order[((np.arange(POINTS) + 0.5) / POINTS * len(order)).astype(int)]
    prompts = _of_mean(trace.workload.input_tokens.astype(float), picked)
    reusable = _of_mean(trace.leading_tokens, picked)
    return (Sort(1.0, prompts, np.minimum(reusable, np.maximum(prompts - 1.0, 0.0))),)


def _of_mean(values: NDArray[np.float64], picked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Some of the values, stretched to the mean of all."""
    chosen = np.asarray(values[picked], dtype=float)
    mean = float(chosen.mean())
    return chosen * (float(values.mean()) / mean) if mean > 0 else chosen


@dataclass(frozen=True, slots=True, eq=False)
class TraceReuse:
    """The law of reuse times of a trace, counted in references and told in seconds at the design's rate."""

    trace: Trace
    turns_per_s: float

    @property
    def references_per_s(self) -> float:
        return self.turns_per_s * self.trace.lookups_per_request

    @property
    def reusable_tokens_per_s(self) -> float:
        return self.turns_per_s * float(self.trace.leading_tokens.mean())

    def keep_s(self, capacity_tokens: Any) -> Any:
        rate = self.references_per_s
        kept = self.trace.curve.kept_references(np.asarray(capacity_tokens, dtype=float) / self.trace.blocks.tokens)
        return np.where(np.isinf(kept) | (rate <= 0), np.inf, np.asarray(kept) / (rate if rate > 0 else 1.0))[()]

    def hit_share(self, keep_s: Any) -> Any:
        within = self.trace.curve.within
        if within[-1] <= 0:
            return np.zeros(np.shape(keep_s))[()]
        references = np.minimum(np.asarray(keep_s, dtype=float) * self.references_per_s, len(within) - 1.0)
        references = np.where(np.isinf(keep_s), len(within) - 1.0, references)
        return (within[references.astype(np.int64)] / within[-1])[()]

    def parts(self, hit_share: Any) -> tuple[Any, Any]:
        """Nothing is told apart."""
        return hit_share, hit_share

    def hit_share_by_value(self, capacity_tokens: Any) -> Any:
        """One class of entries: by value is by age."""
        return self.hit_share(self.keep_s(capacity_tokens))

    def marginal_hits_per_s(self, keep_s: float) -> float:
        rate, curve = self.references_per_s, self.trace.curve
        middle = keep_s * rate
        low, high = (int(min(max(middle * factor, 0.0), len(curve.held) - 1)) for factor in (1 - _STEP, 1 + _STEP))
        room = (curve.held[high] - curve.held[low]) * self.trace.blocks.tokens
        if not np.isfinite(keep_s) or room <= 0:
            return 0.0
        hits = (curve.within[min(high, len(curve.within) - 1)] - curve.within[low]) / max(curve.within[-1], 1)
        return float(hits * self.reusable_tokens_per_s / room)


def as_sessions(trace: Trace, *, turns_per_s: float) -> Sessions:
    """The trace as blocks that wait for their next touch, at the design's rate: for caches it is spread over."""
    blocks, workload = trace.blocks, trace.workload
    load = formulas.trace_load(blocks.ids, offsets=blocks.offsets, arrival_s=workload.arrival_s)
    lasts_s = float(workload.arrival_s[-1] - workload.arrival_s[0]) if workload.requests > 1 else 0.0
    if lasts_s <= 0 or turns_per_s <= 0 or not isinstance(load.gaps, Empirical):
        return Sessions(load.gaps, 0.0, 0.0)
    faster = turns_per_s * lasts_s / workload.requests
    tokens_per_s = faster * blocks.tokens
    return Sessions(
        Empirical(np.asarray(load.gaps.gaps_s) / faster),
        load.reusable_tokens_per_s * tokens_per_s,
        load.final_tokens_per_s * tokens_per_s,
    )

"""Which adapter requests ask for: a law or a trace; and what of it one replica sees under each way of routing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog, MissingFigure
from planner.core.simulation import Workload
from planner.formulas import typical_replica
from planner.formulas.popularity import Popularity, zipf
from planner.formulas.typical_replica import TypicalReplica
from planner.formulas.zipf_fit import ZipfFit, counted, fit_zipf
from planner.kinds.multi_lora.spec import MultiLoraSpec

ROUTINGS = ("random", "hash", "load_aware")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What a trace tells, whatever the design."""

    workload: Workload
    counts: NDArray[np.int64]
    """Requests of each adapter, the most popular first."""
    popularity: Popularity
    fit: ZipfFit | None
    base_share: float

    @property
    def adapters(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The adapters of the design and how often each is asked for, among requests that name one."""

    adapters: int
    popularity: Popularity
    trace: Trace | None

    @property
    def hottest(self) -> float:
        """Share of the most popular adapter."""
        return self.popularity.most


@lru_cache(maxsize=8)
def read(workload: Workload) -> Trace:
    """Count the adapters of a trace once; raises `MissingFigure` when it names none."""
    named = workload.adapters
    if named is None or not len(named) or int(named.max()) < 0:
        raise MissingFigure(table="workloads", slug=workload.name, figure="the adapter of each request")
    counts = np.sort(np.bincount(named[named >= 0]))[::-1]
    return Trace(workload, counts, counted(counts), fit_zipf(counts), float(np.mean(named < 0)))


def trace_of(spec: MultiLoraSpec, *, catalog: Catalog) -> Trace | None:
    """The trace that a spec names; None where popularity is a law."""
    return read(catalog.workload(spec.workload or "")) if spec.popularity == "trace" else None


def with_own_lengths(spec: MultiLoraSpec, *, trace: Trace) -> MultiLoraSpec:
    """The spec with the adapters and lengths of its trace; the rate stays."""
    rows = trace.workload
    change = {
        "adapters": trace.adapters,
        "tenants": min(spec.tenants, trace.adapters),
        "base_share": trace.base_share,
        "input_tokens": max(float(rows.input_tokens.mean()), 1.0),
        "input_sigma": _sigma(rows.input_tokens),
        "output_tokens": max(float(rows.output_tokens.mean()), 1.0),
        "output_sigma": _sigma(rows.output_tokens),
    }
    return spec.model_copy(update=change)


def _sigma(tokens: NDArray[np.int64]) -> float:
    """Spread of the log-normal law with the same variation."""
    mean = float(tokens.mean())
    return float(np.sqrt(np.log1p(tokens.var() / mean**2))) if mean > 0 else 0.0


def asked_of(spec: MultiLoraSpec, *, trace: Trace | None) -> Asked:
    """The adapters of the spec; of a trace its own."""
    if trace is None:
        return Asked(spec.adapters, zipf(spec.adapters, exponent=spec.zipf_exponent), None)
    return Asked(trace.adapters, trace.popularity, trace)


def seen_by_replica(spec: MultiLoraSpec, *, asked: Asked, routing: str, replicas: int) -> TypicalReplica:
    """What one of so many replicas sees."""
    return _seen(asked.popularity, routing=routing, replicas=replicas, copies=spec.copies)


@lru_cache(maxsize=256)
def _seen(popularity: Popularity, *, routing: str, replicas: int, copies: int) -> TypicalReplica:
    if routing == "random" or replicas <= 1:
        return typical_replica.anywhere(popularity, replicas=replicas)
    if routing == "hash":
        return typical_replica.by_hash(popularity, replicas=replicas, copies=copies)
    return typical_replica.by_load(popularity, replicas=replicas, least=copies)

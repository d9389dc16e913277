"""What a kind lets a search change: candidates with a bound on their cost, and what mends one that misses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.core.catalog import Catalog
    from planner.core.result import Result


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change of the base that may be taken.

    ``group`` is what a reader is answered once each: a GPU, say. No design with this change costs less than ``least``.
    ``rejected`` says why none of them works at all, known without an estimate.
    """

    change: Mapping[str, Any]
    group: str = ""
    least: float = -math.inf
    rejected: str = ""


@dataclass(frozen=True, slots=True)
class Space:
    """What a search goes through. ``fields`` are all that candidates change.

    ``heads`` are tried whatever they cost, a few of each group; ``stream`` rises in ``least`` and may be very long.
    ``left_out`` says of what is no candidate at all why; ``sources`` where prices and the like come from.
    """

    fields: tuple[str, ...]
    heads: Iterable[Candidate]
    stream: Iterable[Candidate] = ()
    rejected: Iterable[Candidate] = ()
    count: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """The levers of a kind. ``objective`` is the metric that the bounds of candidates are of.

    ``mends`` are whole-number fields that may be raised until a candidate holds, by the changes that findings offer or
    ``mend(spec, result)`` adds. ``words(spec, result, catalog)`` is a design in a few words: "24 × H200, 3 replicas".
    """

    objective: str
    space: Callable[[Any, Result, Catalog], Space]
    words: Callable[[Any, Result, Catalog], str]
    mends: tuple[str, ...] = ()
    mend: Callable[[Any, Result], Mapping[str, Any]] | None = None
    around: Callable[[Any], Iterable[Mapping[str, Any]]] | None = None
    """Changes of a design that holds which show what a shorter latency costs; without it one more of what mends."""


def ranked(
    fields: tuple[str, ...],
    candidates: Iterable[Candidate],
    *,
    left_out: Mapping[str, str] | None = None,
    sources: Mapping[str, Any] | None = None,
    heads: int = 1,
) -> Space:
    """A space of candidates that are all at hand: the cheapest first, and the first of each group in any case."""
    found = sorted(candidates, key=lambda one: one.least)
    rejected = [one for one in found if one.rejected]
    stream = [one for one in found if not one.rejected]
    of_group: dict[str, list[Candidate]] = {}
    for one in stream:
        of_group.setdefault(one.group, []).append(one)
    first = sorted((one for group in of_group.values() for one in group[:heads]), key=lambda one: one.least)
    return Space(fields, first, stream, rejected, len(found), left_out or {}, sources or {})

"""What a kind lets a search change: candidates with a bound on their cost, and what mends one that misses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.core.catalog import Catalog, MissingFigure
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

    ``stream`` is every candidate, rising in ``least``; it may be very long. ``groups`` are those of each group alone,
    in the same order, so that a reader is told the best of each. ``left_out`` says why of what is no candidate at all;
    ``sources`` where prices and the like come from.
    """

    fields: tuple[str, ...]
    stream: Iterable[Candidate] = ()
    groups: Mapping[str, Iterable[Candidate]] = field(default_factory=dict)
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
) -> Space:
    """A space of candidates that are all at hand: the cheapest first."""
    found = sorted(candidates, key=lambda one: one.least)
    stream = [one for one in found if not one.rejected]
    groups: dict[str, list[Candidate]] = {}
    for one in stream:
        groups.setdefault(one.group, []).append(one)
    rejected = [one for one in found if one.rejected]
    return Space(fields, stream, groups, rejected, len(found), left_out or {}, sources or {})


def lacking(problem: MissingFigure) -> str:
    """Why a candidate that needs a figure nobody has published is none."""
    return f"The catalog has no figure “{problem.figure}” of {problem.slug}, which this needs."


def grid(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of values, the last field the quickest; a value that comes twice counts once."""
    values = [tuple(dict.fromkeys(axis)) for axis in axes.values()]
    return (dict(zip(axes, row, strict=True)) for row in itertools.product(*values))

"""Many designs judged alike: what each costs and misses, the front of them, the best, and why the others are not.

A sweep and a search build the same `Sweep`: points with their figures (`worked_out`, `joined`), judged (`decided`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain
from typing import Any

from planner.core.batch import Batch, BatchResult, Status, missed, one_by_one
from planner.core.catalog import Catalog
from planner.core.kind import DesignKind, Spec
from planner.core.quantities import delta, show
from planner.core.result import MetricDef
from planner.core.sweep_front import Column, Order, best_of, front_of

MOST_RUNNERS_UP = 6
"""Half of them better than the best but for a constraint, half the next best."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint beside the objectives that a design has itself: one of the two bounds, in the metric's unit."""

    metric: MetricDef
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bound(self) -> float:
        return (self.at_most if self.at_least is None else self.at_least) or 0.0


@dataclass(frozen=True, slots=True)
class Goal:
    """What is sought: the best ``objective`` within all limits, shown against another metric.

    ``shown`` names the metrics that are kept of every point: objective, against and those of ``limits`` are among them.
    ``definitions`` are all metrics of the kind.
    """

    objective: MetricDef
    against: MetricDef | None
    limits: tuple[Limit, ...]
    shown: tuple[str, ...]
    definitions: Mapping[str, MetricDef]

    @property
    def order(self) -> Order:
        """Which way each of the two is better; without a direction less is."""
        against = self.against.direction if self.against else "lower"
        return Order(lower=self.objective.direction != "higher", lower_against=against != "higher")


@dataclass(frozen=True, slots=True)
class Points:
    """Points by column, one entry a point. ``limits`` are the objectives that the designs set themselves, by metric.

    ``reasons`` say what keeps a point from being taken; None where nothing does. ``changes`` are there only where the
    points are no grid: all that a point changes of the base.
    """

    values: Mapping[str, Sequence[Any]]
    figures: Mapping[str, Column]
    limits: Mapping[str, Column]
    status: Sequence[Status]
    reasons: Sequence[str | None]
    changes: Sequence[Mapping[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.status)

    def change(self, place: int) -> dict[str, Any]:
        """What the point at ``place`` changes of the base."""
        if self.changes is not None:
            return dict(self.changes[place])
        return {name: column[place] for name, column in self.values.items()}


@dataclass(frozen=True, slots=True)
class Binding:
    """A constraint that a point misses. ``excess`` is by how much, a share of the limit; infinite without a value."""

    metric: MetricDef
    limit: float
    value: float | None
    is_least: bool
    excess: float

    @property
    def sentence(self) -> str:
        if self.value is None:
            return f"{self.metric.label} has no figure; {show(self.limit, self.metric.unit)} is asked for."
        return missed(self.metric, value=self.value, limit=self.limit)


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """A point beside the best and why it was not taken."""

    place: int
    reason: str
    binding: Binding | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All points and what was made of them. ``fields`` are those that vary; places are positions in ``points``."""

    fields: tuple[str, ...]
    goal: Goal
    points: Points
    best: int | None
    front: tuple[int, ...]
    runners_up: tuple[RunnerUp, ...] = ()


def worked_out(
    kind: DesignKind,
    *,
    base: Spec,
    columns: Mapping[str, Sequence[Any]],
    goal: Goal,
    catalog: Catalog,
    batch: Batch | None = None,
) -> Points:
    """The points that are ``base`` with the fields of ``columns`` replaced; one without an answer keeps its reason.

    ``batch`` is the kind's own way to do it fast, where it has one.
    """
    if batch is None:
        found = one_by_one(kind, base=base, columns=columns, catalog=catalog)
    else:
        found = batch(base, columns, catalog)
    return judged(found, columns=columns, goal=goal)


def judged(found: BatchResult, *, columns: Mapping[str, Sequence[Any]], goal: Goal) -> Points:
    """Points of what was found for the values of ``columns``, held against the goal's own limits too."""
    kept = dict.fromkeys((*goal.shown, *found.objectives))
    points = Points(
        values={name: list(column) for name, column in columns.items()},
        figures={name: found.figures[name].listed() for name in kept},
        limits={name: limits.listed() for name, limits in found.objectives.items()},
        status=found.statuses(),
        reasons=found.reasons(),
    )
    told = [_verdict(points, place=place, goal=goal) for place in range(len(points))]
    return replace(points, status=[status for status, _ in told], reasons=[reason for _, reason in told])


def joined(parts: Sequence[Points]) -> Points:
    """Points one after the other, as one."""
    lengths = [len(part) for part in parts]
    return Points(
        values=_columns([part.values for part in parts], lengths=lengths),
        figures=_columns([part.figures for part in parts], lengths=lengths),
        limits=_columns([part.limits for part in parts], lengths=lengths),
        status=list(chain.from_iterable(part.status for part in parts)),
        reasons=list(chain.from_iterable(part.reasons for part in parts)),
        changes=_changes(parts),
    )


def decided(points: Points, *, fields: Sequence[str], goal: Goal) -> Sweep:
    """The best point, the front, and those that came near with what keeps each of them from being taken."""
    fine = [place for place, status in enumerate(points.status) if status == "ok"]
    objective = points.figures[goal.objective.name]
    against = points.figures[goal.against.name] if goal.against else None
    best = best_of(fine, objective=objective, against=against, order=goal.order)
    front = front_of(fine, objective=objective, against=against, order=goal.order)
    return Sweep(tuple(fields), goal, points, best, front, runners_up(points, goal=goal, best=best))


def runners_up(points: Points, *, goal: Goal, best: int | None) -> tuple[RunnerUp, ...]:
    """Points that would be better but for what they miss, those that miss least first; then the next best.

    Without a best they are all that came near.
    """
    objective = points.figures[goal.objective.name]
    sign = 1.0 if goal.order.lower else -1.0
    to_beat = None if best is None else objective[best]
    missing = [
        (found.excess, place, found)
        for place, status in enumerate(points.status)
        if status == "misses" and _is_better(objective[place], to_beat, sign=sign)
        if (found := binding(points, place=place, goal=goal))
    ]
    half = MOST_RUNNERS_UP if best is None else MOST_RUNNERS_UP // 2
    near = nsmallest(half, missing, key=lambda row: row[:2])
    rejected = [RunnerUp(place, found.sentence, found) for _excess, place, found in near]
    return (*rejected, *_next_best(points, goal=goal, best=best, sign=sign))


def binding(points: Points, *, place: int, goal: Goal) -> Binding | None:
    """The constraint that a point misses by most; None where it meets all."""
    return max(_missed(points, place=place, goal=goal), key=lambda one: one.excess, default=None)


def _next_best(points: Points, *, goal: Goal, best: int | None, sign: float) -> Iterator[RunnerUp]:
    """Of each other choice (a GPU, a topology) the best; where only numbers vary, those that come next."""
    if best is None:
        return
    objective = points.figures[goal.objective.name]
    choices = [column for column in points.values.values() if any(isinstance(value, str | bool) for value in column)]
    seen = {tuple(column[best] for column in choices)}
    rows = sorted(
        (sign * value, place)
        for place, (status, value) in enumerate(zip(points.status, objective, strict=True))
        if status == "ok" and place != best and value is not None
    )
    found = 0
    for _value, place in rows:
        chosen = tuple(column[place] for column in choices)
        if choices and chosen in seen:
            continue
        seen.add(chosen)
        yield RunnerUp(place, _how_far(objective[best], objective[place], metric=goal.objective))
        if (found := found + 1) == MOST_RUNNERS_UP // 2:
            return


def _how_far(best: float | None, value: float | None, *, metric: MetricDef) -> str:
    amount, share = delta(best, value, metric.unit)
    if amount == "±0":
        return f"{metric.label} is the same."
    return f"{metric.label}: {amount}{f' ({share})' if share else ''} against the best."


def _is_better(value: float | None, to_beat: float | None, *, sign: float) -> bool:
    return value is not None and (to_beat is None or sign * value < sign * to_beat)


def _verdict(points: Points, *, place: int, goal: Goal) -> tuple[Status, str | None]:
    """What the design says of itself, and of one that works the constraint that it misses by most."""
    status = points.status[place]
    if status in ("refused", "infeasible"):
        return status, points.reasons[place]
    if points.figures[goal.objective.name][place] is None:
        return "infeasible", f"{goal.objective.label} has no figure here."
    found = binding(points, place=place, goal=goal)
    return ("misses", found.sentence) if found else ("ok", None)


def _missed(points: Points, *, place: int, goal: Goal) -> Iterator[Binding]:
    """Constraints that a point misses: objectives of its own that have a figure, and the given ones."""
    for name, column in points.limits.items():
        own, value = column[place], points.figures[name][place]
        metric = goal.definitions[name]
        if own is not None and value is not None:
            yield from _over(metric, value=value, limit=own, is_least=metric.direction == "higher")
    for limit in goal.limits:
        value = points.figures[limit.metric.name][place]
        yield from _over(limit.metric, value=value, limit=limit.bound, is_least=limit.at_least is not None)


def _over(metric: MetricDef, *, value: float | None, limit: float, is_least: bool) -> Iterator[Binding]:
    if value is None:
        yield Binding(metric, limit, None, is_least, excess=math.inf)
        return
    excess = limit - value if is_least else value - limit
    if excess > 0:
        yield Binding(metric, limit, value, is_least, excess=excess / abs(limit) if limit else math.inf)


def _changes(parts: Sequence[Points]) -> list[Mapping[str, Any]] | None:
    found = [part.changes for part in parts if part.changes is not None]
    return list(chain.from_iterable(found)) if len(found) == len(parts) and parts else None


def _columns(parts: Sequence[Mapping[str, Sequence[Any]]], *, lengths: Sequence[int]) -> dict[str, list[Any]]:
    """Columns put together by name; where a part lacks one it has no figure."""
    names = dict.fromkeys(chain.from_iterable(parts))
    pieces = zip(parts, lengths, strict=True)
    whole: dict[str, list[Any]] = {name: [] for name in names}
    for part, length in pieces:
        for name in names:
            whole[name] += part.get(name) or [None] * length
    return whole

"""What a sweep seeks: the metrics it is asked by, or those that the kind's own answer puts first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.kind import DesignKind
from planner.core.result import Metric, MetricDef, Result
from planner.core.sweep import Goal, Limit
from planner.core.sweep_axes import BadSweep

MOST_LIMITS = 8
_FIRST_LATENCIES = ("tpot_p99_s", "tpot_s", "ttft_p99_s", "step_s")
"""Latencies to hold a cost against, where a kind has them; else the first time that has an objective."""


def read_goal(
    kind: DesignKind,
    *,
    result: Result,
    objective: str = "",
    against: str | None = None,
    constraints: Sequence[Mapping[str, Any]] = (),
) -> Goal:
    """The goal as asked; ``result`` is the answer of the base, whose headline and objectives are the defaults.

    ``against`` None is the kind's main latency, "" nothing. Raises `BadSweep`.
    """
    definitions = {metric.name: metric for metric in kind.metrics}
    sought = _metric(definitions, objective or _headline(result, definitions), path="objective")
    other = _latency(result, definitions, but=sought.name) if against is None else against
    limits = tuple(_limits(definitions, constraints))
    goal = Goal(
        objective=sought,
        against=_metric(definitions, other, path="against") if other else None,
        limits=limits,
        shown=(),
        definitions=definitions,
    )
    shown = [name for name in _shown(goal, result=result) if name in definitions]
    return Goal(sought, goal.against, limits, tuple(dict.fromkeys(shown)), definitions)


def own_limits(result: Result) -> tuple[Limit, ...]:
    """The objectives that a design has itself, as limits."""
    return tuple(_own(metric) for metric in result.metrics.values() if metric.objective is not None)


def _own(metric: Metric) -> Limit:
    if metric.definition.direction == "higher":
        return Limit(metric.definition, at_least=metric.objective)
    return Limit(metric.definition, at_most=metric.objective)


def _metric(definitions: Mapping[str, MetricDef], name: Any, *, path: str) -> MetricDef:
    found = definitions.get(name) if isinstance(name, str) else None
    if found is None:
        raise BadSweep(field=path, message="This kind has no such metric.")
    if path in ("objective", "against") and found.direction == "none":
        raise BadSweep(field=path, message=f"{found.label} is neither better high nor low; choose another metric.")
    return found


def _headline(result: Result, definitions: Mapping[str, MetricDef]) -> str:
    """The price in the headline, or beside it; else the headline."""
    for name in (result.answer.metric, result.answer.cost_metric):
        if name and name in definitions and definitions[name].unit.startswith("USD"):
            return name
    return result.answer.metric


def _latency(result: Result, definitions: Mapping[str, MetricDef], *, but: str) -> str:
    times = [name for name, metric in definitions.items() if metric.unit == "s" and metric.direction == "lower"]
    limited = [name for name in times if name in result.metrics and result.metrics[name].objective is not None]
    shown = [name for name in result.answer.facts if name in times]
    ranked = [*[name for name in _FIRST_LATENCIES if name in times], *limited, *shown]
    return next((name for name in ranked if name != but), "")


def _limits(definitions: Mapping[str, MetricDef], constraints: Sequence[Mapping[str, Any]]) -> Iterator[Limit]:
    if len(constraints) > MOST_LIMITS:
        raise BadSweep(field="constraints", message=f"Give at most {MOST_LIMITS} constraints.")
    for place, asked in enumerate(constraints):
        path = f"constraints/{place}"
        metric = _metric(definitions, asked.get("metric"), path=f"{path}/metric")
        given = {name: asked[name] for name in ("at_most", "at_least") if asked.get(name) is not None}
        if len(given) != 1:
            raise BadSweep(field=path, message="Give either at_most or at_least.")
        (side, bound) = next(iter(given.items()))
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
            raise BadSweep(field=f"{path}/{side}", message="Give a number.")
        yield Limit(metric, **{side: float(bound)})


def _shown(goal: Goal, *, result: Result) -> Iterator[str]:
    yield goal.objective.name
    if goal.against:
        yield goal.against.name
    yield from (limit.metric.name for limit in (*goal.limits, *own_limits(result)))
    yield from (name for name in (result.answer.metric, result.answer.cost_metric) if name)
    yield from result.answer.facts

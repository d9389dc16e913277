"""Charts of a comparison: prices, objectives, and the designs' own charts laid over each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from planner import charts as drawing
from planner.core import quantities
from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.compare import Comparison, MetricRow
from planner.core.result import Metric

if TYPE_CHECKING:
    from planner.designs.compare import Item

_PERCENTILE = re.compile(r"^(.*)_p\d+(?=_|$)")


def charts(items: Sequence[Item], *, comparison: Comparison) -> list[Chart]:
    """The price chart, the objectives chart (each only where there is something to draw), then the overlays."""
    own = [chart for chart in (_prices(items, comparison), _objectives(items, comparison)) if chart is not None]
    return [*own, *_overlays(items)]


def _overlays(items: Sequence[Item]) -> list[Chart]:
    """Charts meant for comparison that at least two designs have under one name."""
    by_name: dict[str, dict[str, Chart]] = {}
    for item in items:
        if item.estimate is None:
            continue
        for chart in item.estimate.kind.charts(item.estimate.spec, item.estimate.result):
            if chart.compare:
                by_name.setdefault(chart.name, {})[title(item)] = chart
    return [drawing.overlay(found) for found in by_name.values() if len(found) > 1]


def title(item: Item) -> str:
    """How a chart names a design."""
    return f"{item.label} {item.name}"


def _prices(items: Sequence[Item], comparison: Comparison) -> Chart | None:
    """What the designs cost, in every metric of the unit they are ranked by."""
    cost = comparison.verdict.cost
    if cost is None:
        return None
    unit = cost.definition.unit
    rows = [row for row in _rows(comparison) if row.definition.unit == unit and _is_complete(row)]
    if not rows:
        return None
    return Chart(
        name="compare_cost",
        title=_("What do they cost?"),
        subtitle=cost.definition.label,
        form="bars",
        x=Axis(label=""),
        y=Axis(label=cost.definition.label, unit=unit),
        traces=tuple(_price_trace(item, place=place, rows=rows) for place, item in enumerate(items)),
        summary="; ".join(
            f"{item.label} {quantities.show(_value(cost.metrics[place]), unit)}" for place, item in enumerate(items)
        ),
    )


def _price_trace(item: Item, *, place: int, rows: Sequence[MetricRow]) -> Trace:
    values = [_value(row.metrics[place]) for row in rows]
    return Trace(name=title(item), x=[row.definition.label for row in rows], y=values, order=place)


def _objectives(items: Sequence[Item], comparison: Comparison) -> Chart | None:
    """How much of each objective the designs use: a percentile is set against the objective of its family."""
    rows = _rows(comparison)
    found = [(row, goal) for row in rows if (goal := _goal(row, rows=rows)) is not None]
    if not found:
        return None
    traces = tuple(_objective_trace(item, place=place, rows=found) for place, item in enumerate(items))
    return Chart(
        name="compare_objectives",
        title=_("Are the objectives met?"),
        subtitle=_("Share of each objective that is used; beyond the line it is missed."),
        form="bars",
        x=Axis(label=""),
        y=Axis(label=_("share of the objective"), unit="ratio", shown="%"),
        traces=traces,
        limits=(Limit(value=1.0, label=_("objective")),),
        summary="; ".join(_summary(trace, label=item.label) for trace, item in zip(traces, items, strict=True)),
    )


def _goal(row: MetricRow, *, rows: Sequence[MetricRow]) -> MetricRow | None:
    """The row whose objectives a row is held against: its own, or that of another percentile of the same quantity.

    A verdict (yes or no, without a unit) has no share that could be drawn; the table shows it.
    """
    if not row.definition.unit:
        return None
    if _has_objective(row):
        return row
    stem = _PERCENTILE.match(row.definition.name)
    if stem is None:
        return None
    family = (other for other in rows if _has_objective(other) and other.definition.unit == row.definition.unit)
    return next((other for other in family if other.definition.name.startswith(f"{stem[1]}_")), None)


def _objective_trace(item: Item, *, place: int, rows: Sequence[tuple[MetricRow, MetricRow]]) -> Trace:
    used = [_used(row.metrics[place], goal=goal.metrics[place]) for row, goal in rows]
    return Trace(name=title(item), x=[row.definition.label for row, _goal_row in rows], y=used, order=place)


def _used(metric: Metric | None, *, goal: Metric | None) -> float | None:
    """Share of the objective used; above 1 it is missed, whichever direction is better."""
    if metric is None or goal is None or metric.value is None or goal.objective is None:
        return None
    over, under = metric.value, goal.objective
    if metric.definition.direction == "higher":
        over, under = under, over
    return over / under if under > 0 else None


def _summary(trace: Trace, *, label: str) -> str:
    told = [f"{name} {quantities.show(value, 'ratio')}" for name, value in zip(trace.x, trace.y, strict=True)]
    return f"{label}: {', '.join(told)}"


def _rows(comparison: Comparison) -> list[MetricRow]:
    return [row for rows in comparison.groups.values() for row in rows]


def _is_complete(row: MetricRow) -> bool:
    return all(metric is not None for metric in row.metrics)


def _has_objective(row: MetricRow) -> bool:
    return any(metric is not None and metric.objective is not None for metric in row.metrics)


def _value(metric: Metric | None) -> float | None:
    return metric.value if metric else None

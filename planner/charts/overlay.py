"""The same chart of several designs in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.core.chart import Chart, Limit, Mark, Trace, Value
from planner.core.quantities import show

_MOST_BANDS = 2


def overlay(charts: Mapping[str, Chart]) -> Chart:
    """Merge charts of one name, in the order given; each design takes the next hue, marker and dash.

    Keys are the designs' names as the legend writes them ("A Reference"). A stacked chart keeps its segments' hues
    and becomes one bar a design.
    """
    if not charts:
        raise ValueError("nothing to overlay")
    first = next(iter(charts.values()))
    if first.form == "stacked":
        traces = _stacked(charts)
    elif first.form == "bars":
        traces = tuple(_one_trace(label, chart, order) for order, (label, chart) in enumerate(charts.items()))
    else:
        traces = _lines(charts)
    limits = tuple(dict.fromkeys(limit for chart in charts.values() for limit in chart.limits))
    summary = f"{first.title} {', '.join(charts)} in one picture; the table below holds the figures."
    return replace(first, subtitle="", traces=traces, limits=_distinct(limits), marks=_marks(charts), summary=summary)


def _distinct(limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
    """One line for each place: two designs often share an objective."""
    return tuple({(limit.axis, limit.value): limit for limit in reversed(limits)}.values())[::-1]


def short(label: str) -> str:
    """The letter of a design, where its label starts with one ("A Reference" → "A")."""
    head = label.split(" ", 1)[0]
    return head if len(head) == 1 else label


def _lines(charts: Mapping[str, Chart]) -> tuple[Trace, ...]:
    """The first trace of each: a chart's own second curve would be taken for another design."""
    traces = []
    for order, (label, chart) in enumerate(charts.items()):
        trace = chart.traces[0]
        with_band = order == 0 or len(charts) <= _MOST_BANDS
        low, high = (trace.low, trace.high) if with_band else (None, None)
        traces.append(replace(trace, name=label, order=order % 6, low=low, high=high))
    return tuple(traces)


def _one_trace(label: str, chart: Chart, order: int) -> Trace:
    """Bars may come as several traces only to colour them; a design has one hue here."""
    categories: list[Value] = []
    lengths: list[float | None] = []
    for trace in chart.traces:
        categories.extend(trace.x)
        lengths.extend(trace.y)
    return Trace(name=label, x=categories, y=lengths, order=order % 6)


def _stacked(charts: Mapping[str, Chart]) -> tuple[Trace, ...]:
    rows: list[tuple[str, Chart, Value]] = []
    for label, chart in charts.items():
        for category in dict.fromkeys(value for trace in chart.traces for value in trace.x):
            several = len(chart.traces[0].x) > 1
            rows.append((f"{short(label)} {category}" if several else short(label), chart, category))
    segments = {trace.name: trace for chart in charts.values() for trace in chart.traces}
    names = [row[0] for row in rows]
    return tuple(
        Trace(
            name=name,
            x=names,
            y=[_segment(chart, name, category) for _, chart, category in rows],
            order=like.order,
            idle=like.idle,
        )
        for name, like in segments.items()
    )


def _segment(chart: Chart, name: str, category: Value) -> float | None:
    for trace in chart.traces:
        if trace.name == name:
            return dict(zip(trace.x, trace.y, strict=False)).get(category)
    return None


def _marks(charts: Mapping[str, Chart]) -> tuple[Mark, ...]:
    return tuple(
        replace(mark, order=order % 6, label=f"{short(label)} {show(mark.y, chart.y.unit, shown=chart.y.shown)}")
        for order, (label, chart) in enumerate(charts.items())
        for mark in chart.marks
    )

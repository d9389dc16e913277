"""The same chart of several designs in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.core.chart import Chart, Limit, Mark, Trace, Value
from planner.core.quantities import show

_MOST_BANDS = 2
_MOST_OWN_LIMITS = 2
_LETTERS = "ABCDEF"


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
    summary = f"{first.title} {', '.join(charts)} in one picture; the table below holds the figures."
    return replace(first, subtitle="", traces=traces, limits=_limits(charts), marks=_marks(charts), summary=summary)


def _limits(charts: Mapping[str, Chart]) -> tuple[Limit, ...]:
    """What all designs share is drawn once; a few that differ carry their design's letter, many would only clutter."""
    placed = {label: {(limit.axis, limit.value): limit for limit in chart.limits} for label, chart in charts.items()}
    first = next(iter(placed.values()))
    shared = [limit for place, limit in first.items() if all(place in limits for limits in placed.values())]
    places = {(limit.axis, limit.value) for limit in shared}
    own = [
        replace(limit, label=f"{short(label)} {limit.label}")
        for label, limits in placed.items()
        for place, limit in limits.items()
        if place not in places
    ]
    return (*shared, *(own if len(own) <= _MOST_OWN_LIMITS else ()))


def short(label: str) -> str:
    """The letter of a design, where its label starts with one ("A Reference" → "A")."""
    head = label.split(" ", 1)[0]
    return head if len(head) == 1 else label


def _order(label: str, place: int) -> int:
    """The hue of a design: that of its letter, though designs without such a chart stand between."""
    letter = short(label)
    return _LETTERS.index(letter) if len(letter) == 1 and letter in _LETTERS else place % len(_LETTERS)


def _lines(charts: Mapping[str, Chart]) -> tuple[Trace, ...]:
    """The first trace of each: a chart's own second curve would be taken for another design."""
    traces = []
    for order, (label, chart) in enumerate(charts.items()):
        trace = chart.traces[0]
        with_band = order == 0 or len(charts) <= _MOST_BANDS
        low, high = (trace.low, trace.high) if with_band else (None, None)
        traces.append(replace(trace, name=label, order=_order(label, order), low=low, high=high))
    return tuple(traces)


def _one_trace(label: str, chart: Chart, order: int) -> Trace:
    """Bars may come as several traces only to colour them; a design has one hue here."""
    categories: list[Value] = []
    lengths: list[float | None] = []
    for trace in chart.traces:
        categories.extend(trace.x)
        lengths.extend(trace.y)
    return Trace(name=label, x=categories, y=lengths, order=_order(label, order))


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
        replace(mark, order=_order(label, order), label=f"{short(label)} {_figure(chart, mark)}")
        for order, (label, chart) in enumerate(charts.items())
        for mark in chart.marks
    )


def _figure(chart: Chart, mark: Mark) -> str:
    """The figure at a mark, without the "/M tokens" that the axis says."""
    text = show(mark.y, chart.y.unit, shown=chart.y.shown)
    return text.split("/")[0] if chart.y.unit.startswith("USD/") else text

"""A Gantt chart in the units it is drawn in: who does what, from when to when."""

from __future__ import annotations

from dataclasses import dataclass

from planner.charts.scale import in_unit, title_of, unit_of
from planner.core.chart import Chart, Limit, Trace
from planner.core.quantities import show


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of an activity in drawn units; ``row`` counts from the top."""

    row: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Activity:
    """One trace: all its stretches, and how they look."""

    name: str
    order: int
    idle: bool
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    rows: tuple[str, ...]
    activities: tuple[Activity, ...]
    limits: tuple[Limit, ...]
    low: float
    high: float
    unit: str
    title: str

    def figure(self, value: float) -> str:
        return show(value, self.unit, shown=self.unit)

    def told(self, activity: Activity, span: Span) -> str:
        """What a stretch is, in words: "train, 300 to 600 s"."""
        return f"{activity.name}, {self.figure(span.start)} to {self.figure(span.end)}"


def schedule_of(chart: Chart) -> Schedule:
    """Lay out a chart of the form ``gantt``; stretches without an end, or that end before they start, are left out."""
    rows = tuple(dict.fromkeys(str(name) for trace in chart.traces for name in trace.x))
    moments = [at for trace in chart.traces for ends in (trace.low, trace.high) for at in ends or () if at is not None]
    unit = unit_of(chart.x, moments)
    activities = tuple(
        Activity(trace.name, trace.order, trace.idle, _spans(chart, trace, rows, unit)) for trace in chart.traces
    )
    drawn = [at for activity in activities for span in activity.spans for at in (span.start, span.end)]
    low, high = min(drawn, default=0.0), max(drawn, default=1.0)
    limits = [Limit(in_unit(limit.value, chart.x, unit) or 0.0, limit.label, "x") for limit in chart.limits]
    return Schedule(
        rows=rows,
        activities=activities,
        limits=tuple(limit for limit in limits if low <= limit.value <= high),
        low=min(low, 0.0) if chart.x.start_at_zero else low,
        high=high if high > low else low + 1.0,
        unit=unit,
        title=title_of(chart.x, unit),
    )


def _spans(chart: Chart, trace: Trace, rows: tuple[str, ...], unit: str) -> tuple[Span, ...]:
    place = {name: index for index, name in enumerate(rows)}
    found = []
    for name, low, high in zip(trace.x, trace.low or (), trace.high or (), strict=True):
        start, end = in_unit(low, chart.x, unit), in_unit(high, chart.x, unit)
        if start is not None and end is not None and end >= start:
            found.append(Span(place[str(name)], start, end))
    return tuple(found)

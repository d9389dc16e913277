"""A chart over two numeric axes in the units it is drawn in: what lines, scatters and CDFs share in every adapter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeGuard

from planner.charts.cutting import Point, Range, cut, stairs
from planner.charts.scale import Scale, in_unit, outward, spread, title_of, unit_of
from planner.core.chart import Axis, Chart, Limit, Mark, Trace, Value

ON_A_PLANE = ("line", "step", "scatter", "cdf")
"""Forms over two numeric axes."""

_Y_TICKS = 5
_ZERO_IS_NEAR = 0.25  # an x axis starts at zero when the data begins in its first quarter
_LIMIT_IN_SIGHT = 3.0  # a limit is drawn while it is at most so many times beyond the data
_CROWD = 60
_CURVE_IN_SIGHT = 4.0  # a curve is cut off at twice its limit once it leaves this many limits


@dataclass(frozen=True, slots=True)
class Curve:
    """One trace, its figures in the units of the picture; None where there is nothing to draw."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    order: int
    as_points: bool
    stepped: bool
    idle: bool
    hollow: bool
    labels: tuple[str, ...] = ()
    guide: bool = False
    places: tuple[int, ...] = ()
    crowded: bool = False
    """Whether the picture holds so many points that each must be small to be seen."""

    def runs(self, y_range: Range) -> list[list[Point]]:
        """Unbroken pieces, cut where they leave the picture."""
        pieces = self._pieces()
        if self.as_points:
            return [[point for point in piece if y_range[0] <= point[1] <= y_range[1]] for piece in pieces]
        if self.stepped:
            pieces = [stairs(piece) for piece in pieces]
        return [run for piece in pieces for run in cut(piece, y_range)]

    def bands(self, y_range: Range) -> list[list[Point]]:
        """Closed outlines of the interval, cut to the picture."""
        outlines = []
        rows = zip(self.xs, self.lows, self.highs, strict=True)
        for known, group in itertools.groupby(rows, key=lambda row: row[1] is not None and row[2] is not None):
            piece = [(x, _held(low, y_range), _held(high, y_range)) for x, low, high in group if known]
            if len(piece) > 1:
                outlines.append([(x, high) for x, _, high in piece] + [(x, low) for x, low, _ in reversed(piece)])
        return outlines

    def _pieces(self) -> list[list[Point]]:
        """The points between two gaps."""
        pieces: list[list[Point]] = [[]]
        for x, y in zip(self.xs, self.ys, strict=True):
            if y is not None:
                pieces[-1].append((x, y))
            elif pieces[-1]:
                pieces.append([])
        return [piece for piece in pieces if piece]


@dataclass(frozen=True, slots=True)
class Plane:
    """Everything an adapter needs to draw, in drawn units."""

    curves: tuple[Curve, ...]
    runs: tuple[list[list[Point]], ...]
    """Of each curve, in order, what `Curve.runs` says in this picture."""
    limits: tuple[Limit, ...]
    marks: tuple[Mark, ...]
    x_range: Range
    y_range: Range
    x_unit: str
    y_unit: str
    x_title: str
    y_title: str
    x_log: bool
    y_log: bool
    y_ticks: tuple[float, ...]
    categories: tuple[str, ...] = ()

    def holds(self, x: float, y: float) -> bool:
        return self.x_range[0] <= x <= self.x_range[1] and self.y_range[0] <= y <= self.y_range[1]

    def x_ticks(self, count: int) -> list[float]:
        if self.categories:
            stride = -(-len(self.categories) // (count + 1))
            return [float(index) for index in range(0, len(self.categories), stride)]
        return Scale(*self.x_range, 0, 1, log=self.x_log).ticks(count)

    def x_names(self, ticks: Sequence[float]) -> list[str]:
        """Names at the ticks of an axis of categories; none on a numeric one."""
        return [self.categories[int(tick)] for tick in ticks] if self.categories else []


def plane_of(chart: Chart) -> Plane:
    """Convert a chart to the units it is drawn in and choose its ranges."""
    categories = _categories(chart)
    chart = _numbered(chart, categories) if categories else chart
    x_unit = "" if categories else unit_of(chart.x, _all_x(chart))
    y_unit = unit_of(chart.y, _all_y(chart))
    curves = _sized([_curve(chart, trace, x_unit, y_unit) for trace in chart.traces])
    limits = tuple(_limit(chart, limit, x_unit, y_unit) for limit in chart.limits)
    marks = tuple(_mark(chart, mark, x_unit, y_unit) for mark in chart.marks)
    y_range = (0.0, _in(1.0, chart.y, y_unit)) if chart.form == "cdf" else _y_range(chart, curves, limits, marks)
    return Plane(
        curves=curves,
        runs=tuple(curve.runs(y_range) for curve in curves),
        limits=limits,
        marks=marks,
        x_range=_x_range(chart, curves, limits, marks),
        y_range=y_range,
        x_unit=x_unit,
        y_unit=y_unit,
        x_title=title_of(chart.x, x_unit),
        y_title=title_of(chart.y, y_unit),
        x_log=chart.x.log,
        y_log=chart.y.log,
        y_ticks=tuple(Scale(*y_range, 0, 1, log=chart.y.log).ticks(4 if chart.form == "cdf" else _Y_TICKS)),
        categories=categories,
    )


def _categories(chart: Chart) -> tuple[str, ...]:
    values = [value for trace in chart.traces for value in trace.x if value is not None]
    if not any(isinstance(value, str) for value in values):
        return ()
    return tuple(dict.fromkeys(str(value) for value in values))


def _numbered(chart: Chart, categories: Sequence[str]) -> Chart:
    """Put categories at 0, 1, 2 … of a plain axis."""
    place = {name: float(index) for index, name in enumerate(categories)}
    traces = tuple(replace(trace, x=[place[str(value)] for value in trace.x]) for trace in chart.traces)
    return replace(chart, traces=traces, x=replace(chart.x, unit="", shown="", log=False))


def _in(value: float, axis: Axis, unit: str) -> float:
    drawn = in_unit(value, axis, unit)
    return 0.0 if drawn is None else drawn


def _all_x(chart: Chart) -> list[float]:
    figures = [value for trace in chart.traces for value in trace.x if isinstance(value, (int, float))]
    return [*figures, *(mark.x for mark in chart.marks)]


def _all_y(chart: Chart) -> list[float]:
    return [value for trace in chart.traces for value in trace.y if value is not None] + [
        mark.y for mark in chart.marks
    ]


def _curve(chart: Chart, trace: Trace, x_unit: str, y_unit: str) -> Curve:
    nothing: list[float | None] = [None] * len(trace.x)
    y, low, high = (
        [_positive(in_unit(value, chart.y, y_unit), chart.y.log) for value in column] if column else nothing
        for column in (trace.y, trace.low, trace.high)
    )
    names = trace.labels or [""] * len(trace.x)
    places = trace.places or [0] * len(trace.x)
    rows = sorted(
        (
            (_in(float(x), chart.x, x_unit), *figures)
            for x, figures in zip(trace.x, zip(y, low, high, names, places, strict=True), strict=True)
            if _is_number(x) and not (chart.x.log and float(x) <= 0)
        ),
        key=itemgetter(0),
    )
    scatter = chart.form == "scatter"
    front = scatter and trace.order < 0 and not (trace.marker_only or trace.guide)
    return Curve(
        name=trace.name,
        xs=tuple(row[0] for row in rows),
        ys=tuple(row[1] for row in rows),
        lows=tuple(row[2] for row in rows),
        highs=tuple(row[3] for row in rows),
        order=trace.order,
        as_points=trace.marker_only or (scatter and not front and not trace.guide),
        stepped=chart.form == "step" or front,
        idle=trace.idle,
        hollow=trace.marker_only and not scatter,
        labels=tuple(row[4] for row in rows) if trace.labels else (),
        guide=trace.guide,
        places=tuple(row[5] for row in rows) if trace.places else (),
    )


def _sized(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Small points in all curves, if in one of them; where some are pale, in those."""
    crowded = sum(len(curve.xs) for curve in curves if curve.as_points) > _CROWD
    some_pale = any(curve.idle and curve.as_points for curve in curves)
    small = [crowded and curve.as_points and (curve.idle or not some_pale) for curve in curves]
    return tuple(replace(curve, crowded=each) for curve, each in zip(curves, small, strict=True))


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _positive(value: float | None, log: bool) -> float | None:
    return None if value is None or (log and value <= 0) else value


def _limit(chart: Chart, limit: Limit, x_unit: str, y_unit: str) -> Limit:
    axis, unit = (chart.x, x_unit) if limit.axis == "x" else (chart.y, y_unit)
    return replace(limit, value=_in(limit.value, axis, unit))


def _mark(chart: Chart, mark: Mark, x_unit: str, y_unit: str) -> Mark:
    return replace(mark, x=_in(mark.x, chart.x, x_unit), y=_in(mark.y, chart.y, y_unit))


def _x_range(chart: Chart, curves: Sequence[Curve], limits: Sequence[Limit], marks: Sequence[Mark]) -> Range:
    values = [x for curve in curves for x in curve.xs] + [mark.x for mark in marks]
    low, high = spread(values, log=chart.x.log)
    needs = [
        limit.value for limit in limits if limit.axis == "x" and limit.value <= high + _LIMIT_IN_SIGHT * (high - low)
    ]
    high = max([high, *needs])
    low = min([low, *(need for need in needs if need > 0 or not chart.x.log)])
    if chart.x.log:
        return outward(low, high, count=6, log=True) if chart.form == "scatter" else (low, high)
    if chart.x.start_at_zero and 0 < low <= _ZERO_IS_NEAR * high:
        low = 0.0
    if chart.form != "scatter":
        return low, high
    return outward(low, high, count=6)


def _y_range(chart: Chart, curves: Sequence[Curve], limits: Sequence[Limit], marks: Sequence[Mark]) -> Range:
    values = [y for curve in curves for column in (curve.ys, curve.lows, curve.highs) for y in column if y is not None]
    points = [mark.y for mark in marks]
    low, high = spread([*values, *points], log=chart.y.log)
    needs = [limit.value for limit in limits if limit.axis == "y"]
    if chart.y.log:
        near = [need for need in needs if 0 < need <= high * 10]
        return outward(min([low, *near]), max([high, *near]), count=_Y_TICKS, log=True)
    if needs and high > _CURVE_IN_SIGHT * max(needs) > 0:
        high = max([2 * max(needs), *points])
    high = max([high, *(need for need in needs if need <= _LIMIT_IN_SIGHT * high)])
    if chart.y.start_at_zero:
        low, high = min(0.0, low), max(0.0, high)
    return outward(low, high if high > low else low + 1.0, count=_Y_TICKS)


def _held(value: float | None, y_range: Range) -> float:
    return min(max(value if value is not None else y_range[0], y_range[0]), y_range[1])

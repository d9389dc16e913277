"""Forms over two numeric axes: line, step, scatter and cdf."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.charts.drawing.canvas import DASHES, Canvas, Point, hue, number, points
from planner.charts.drawing.labels import Area, Labels, Place, around
from planner.charts.drawing.legend import LEGEND_ROW, draw_legend, legend_rows
from planner.charts.drawing.type import width as text_width
from planner.charts.plane import Curve, Plane, plane_of
from planner.charts.scale import Scale, tick_texts
from planner.core.chart import Chart, Limit, Mark

_TOP = 22.0
_RING = 9.5
_TICK_EVERY = 64  # units of the picture between two ticks of the x axis


@dataclass(frozen=True, slots=True)
class Frame:
    """The plane laid out on a canvas."""

    canvas: Canvas
    plane: Plane
    x: Scale
    y: Scale
    labels: Labels

    def at(self, point: Point) -> Point:
        return self.x(point[0]), self.y(point[1])

    def along(self, path: Sequence[Point]) -> list[Point]:
        return list(zip(self.x.along(x for x, _ in path), self.y.along(y for _, y in path), strict=True))


def draw(chart: Chart, *, width: float, plane: Plane | None = None) -> Canvas:
    """Draw the plane. Clouds of points, and lines whose names find no place beside them, get a legend."""
    plane = plane or plane_of(chart)
    named = [
        curve
        for curve in plane.curves
        if curve.name and not (chart.form == "scatter" and curve.order < 0 and not curve.labels)
    ]
    if chart.form == "scatter" and len(named) > 1:
        return _drawn(chart, plane, width=width, legend=named)[0]
    canvas, is_named = _drawn(chart, plane, width=width, legend=())
    return canvas if is_named else _drawn(chart, plane, width=width, legend=named)[0]


def _drawn(chart: Chart, plane: Plane, *, width: float, legend: Sequence[Curve]) -> tuple[Canvas, bool]:
    """The picture, and whether each curve has its name in it: in the legend, if there is one, or beside the curve."""
    rows = legend_rows([curve.name for curve in legend], width)
    top = _TOP + LEGEND_ROW * len(rows) + (5 if rows else 0)
    frame = _frame(plane, width=width, top=top, narrow=320.0 if chart.opens else 240.0)
    draw_legend(frame.canvas, [(curve.name, curve.order) for curve in legend], rows)
    _axes(frame)
    _closed(frame)
    drawn = [[frame.along(run) for run in runs] for runs in plane.runs]
    for curve, paths in zip(plane.curves, drawn, strict=True):
        _curve(frame, curve, paths, pale=chart.form == "scatter" and curve.idle)
        if chart.opens and curve.places and not curve.crowded:
            _links(frame, curve, opens=chart.opens)
    _limits(frame)
    _marks(frame, ring=chart.form == "scatter")
    if len(plane.curves) == 1 or legend:
        return frame.canvas, True
    rising = chart.form == "cdf"
    curves = zip(plane.curves, drawn, strict=True)
    return frame.canvas, all(_name(frame, curve, paths, rising=rising) for curve, paths in curves)


def _frame(plane: Plane, *, width: float, top: float, narrow: float) -> Frame:
    height = (max(250.0, 0.4 * width) if width > 400 else narrow) + top - _TOP
    y_texts = tick_texts(plane.y_ticks, plane.y_unit, log=plane.y_log)
    left = max([24.0, *(text_width(text) + 10 for text in y_texts)])
    right, bottom = width - 14.0, height - 38.0
    labels = Labels(border=Area(0, 2, width, bottom - 2))
    return Frame(
        canvas=Canvas(width, height),
        plane=plane,
        x=Scale(*plane.x_range, left, right, log=plane.x_log),
        y=Scale(*plane.y_range, bottom, top, log=plane.y_log),
        labels=labels,
    )


def _axes(frame: Frame) -> None:
    canvas, x, y = frame.canvas, frame.x, frame.y
    plane = frame.plane
    for tick, text in zip(plane.y_ticks, tick_texts(plane.y_ticks, plane.y_unit, log=plane.y_log), strict=True):
        canvas.path(f"M{number(x.start)} {number(y(tick))}H{number(x.end)}", "grid")
        canvas.text(x.start - 7, y(tick) + 4, text, anchor="end")
    canvas.path(f"M{number(x.start)} {number(y.start)}H{number(x.end)}", "axis")
    _x_ticks(frame)
    canvas.text(x.end, y.start + 33, frame.plane.x_title, anchor="end")
    canvas.text(0, y.end - 10, frame.plane.y_title)
    frame.labels.block(frame.plane.y_title, (0, y.end - 10, "start"))


def _x_ticks(frame: Frame) -> None:
    canvas, x, base = frame.canvas, frame.x, frame.y.start
    ticks = frame.plane.x_ticks(max(2, int((x.end - x.start) / _TICK_EVERY)))
    texts = frame.plane.x_names(ticks) or tick_texts(ticks, frame.plane.x_unit, log=frame.plane.x_log)
    reached = -1e9
    for tick, text in zip(ticks, texts, strict=True):
        half = text_width(text) / 2
        if x(tick) - half < reached + 6:
            continue
        reached = x(tick) + half
        canvas.path(f"M{number(x(tick))} {number(base)}v4", "axis")
        middle = min(max(x(tick), half), canvas.width - half)
        canvas.text(middle, base + 17, text, anchor="middle")


def _curve(frame: Frame, curve: Curve, paths: Sequence[list[Point]], *, pale: bool) -> None:
    for band in curve.bands(frame.plane.y_range):
        frame.canvas.path(f"{points(frame.along(band))}Z", f"bd {hue(curve.order)}")
    if curve.crowded:
        frame.canvas.dots([point for path in paths for point in path], curve.order)
        return
    if curve.as_points:
        for path in paths:
            for x, y in path:
                kind = "pt o" if curve.hollow else ("hl" if pale else "pt")
                frame.canvas.marker(x, y, curve.order, size=3.2 if pale else 4.2, kind=kind)
                frame.labels.draw_over([(x - 3, y), (x + 3, y)], owner=curve.name)
        return
    for path in map(thinned, paths):
        frame.labels.draw_over(path, owner=curve.name)
        if len(path) == 1:
            frame.canvas.marker(*path[0], curve.order, size=3)
        else:
            frame.canvas.path(points(path), f"ln {hue(curve.order)}", dash=DASHES[max(curve.order, 0) % 6])


def _links(frame: Frame, curve: Curve, *, opens: str) -> None:
    """A place to click on, wider than the point, over each point that opens something."""
    labels = curve.labels or [""] * len(curve.xs)
    for x, y, place, label in zip(curve.xs, curve.ys, curve.places, labels, strict=True):
        if y is not None and frame.plane.holds(x, y):
            frame.canvas.marker(*frame.at((x, y)), 0, size=7 if curve.idle else 12, kind="hit")
            frame.canvas.link(f"{opens}{place}/", label=label or str(place + 1))


def thinned(path: Sequence[Point]) -> list[Point]:
    """At most an entry, a lowest, a highest and an exit point for each unit of width: what a screen can show."""
    if len(path) < 300:
        return list(path)
    kept: list[Point] = []
    column: list[Point] = []
    for point in [*path, (float("inf"), 0.0)]:
        if column and point[0] >= column[0][0] + 1:
            chosen = {0, len(column) - 1}
            heights = [y for _, y in column]
            chosen |= {heights.index(min(heights)), heights.index(max(heights))}
            kept.extend(column[index] for index in sorted(chosen))
            column = []
        column.append(point)
    return kept


def _closed(frame: Frame) -> None:
    """The side of a limit on which it is missed."""
    x, y = frame.x, frame.y
    for limit in frame.plane.limits:
        low, high = frame.plane.x_range if limit.axis == "x" else frame.plane.y_range
        start, end = (limit.value, high) if limit.closed == "above" else (low, limit.value)
        if not limit.closed or not low <= start < end <= high:
            continue
        if limit.axis == "x":
            frame.canvas.rect(x(start), y.end, x(end) - x(start), y.start - y.end, "no")
        else:
            frame.canvas.rect(x.start, y(end), x.end - x.start, y(start) - y(end), "no")


def _limits(frame: Frame) -> None:
    for limit in frame.plane.limits:
        (_y_limit if limit.axis == "y" else _x_limit)(frame, limit)


def _y_limit(frame: Frame, limit: Limit) -> None:
    x, y = frame.x, frame.y
    if not frame.plane.y_range[0] <= limit.value <= frame.plane.y_range[1]:
        arrow = "↑" if limit.value > frame.plane.y_range[1] else "↓"
        _say(
            frame,
            f"{arrow} {limit.label}",
            [(x.end, y.end + 12, "end"), (x.start + 4, y.end + 12, "start")],
            kind="halo lim",
        )
        return
    height = y(limit.value)
    frame.canvas.path(f"M{number(x.start)} {number(height)}H{number(x.end)}", "lim")
    frame.labels.draw_over([(x.start, height), (x.end, height)])
    places = [
        (at, height + rise, anchor) for rise in (-6, 15) for at, anchor in ((x.start + 4, "start"), (x.end, "end"))
    ]
    middle = (x.start + x.end) / 2
    _say(
        frame, limit.label, [*places, (middle, height - 6, "middle"), (middle, height + 15, "middle")], kind="halo lim"
    )


def _x_limit(frame: Frame, limit: Limit) -> None:
    x, y = frame.x, frame.y
    if not frame.plane.x_range[0] <= limit.value <= frame.plane.x_range[1]:
        right = limit.value > frame.plane.x_range[1]
        at, anchor = (x.end, "end") if right else (x.start + 4, "start")
        places = [(at, height, anchor) for height in (y.end + 12, y.start - 8, (y.start + y.end) / 2)]
        _say(frame, f"{limit.label} →" if right else f"← {limit.label}", places, kind="halo lim")
        return
    across = x(limit.value)
    frame.canvas.path(f"M{number(across)} {number(y.end)}V{number(y.start)}", "lim")
    frame.labels.draw_over([(across, y.end), (across, y.start)])
    places = [(across + 5, y.end + 11, "start"), (across - 5, y.end + 11, "end")]
    places += [(across + 5, y.start - 8, "start"), (across - 5, y.start - 8, "end")]
    _say(frame, limit.label, places, kind="halo lim")


def _marks(frame: Frame, *, ring: bool) -> None:
    inside = [mark for mark in frame.plane.marks if frame.plane.holds(mark.x, mark.y)]
    for mark in inside:
        x, y = frame.at((mark.x, mark.y))
        frame.labels.taken.append(Area(x - 6, y - 6, x + 6, y + 6))
        if mark.look == "name":
            continue
        if mark.look == "hollow":
            frame.canvas.marker(x, y, mark.order, size=5.0, kind="pt o")
            continue
        if mark.look in ("ring", "struck"):
            _ring(frame, x, y, struck=mark.look == "struck")
            continue
        if ring:
            frame.canvas.marker(x, y, mark.order, size=6.5, kind="pt o")
        frame.canvas.marker(x, y, mark.order, size=4 if ring else 5.5)
    for mark in inside:
        _mark_label(frame, mark)


def _ring(frame: Frame, x: float, y: float, *, struck: bool) -> None:
    frame.canvas.marker(x, y, 0, size=_RING, kind="ring")
    if struck:
        low, high = -_RING * math.sqrt(0.5), _RING * math.sqrt(0.5)
        for rise, fall in ((low, high), (high, low)):
            frame.canvas.path(f"M{number(x + low)} {number(y + rise)}L{number(x + high)} {number(y + fall)}", "ring")


def _mark_label(frame: Frame, mark: Mark) -> None:
    x, y = frame.at((mark.x, mark.y))
    far: list[Place] = [(x, y - rise, "middle") for rise in (40, 58, 76)]
    place = _say(frame, mark.label, [*around(x, y, gap=10), *far], kind="halo b", bold=True)
    if place and place[2] == "middle" and y - place[1] > 30:
        frame.canvas.path(f"M{number(x)} {number(y - 8)}V{number(place[1] + 5)}", "ref")


def _say(frame: Frame, text: str, places: Sequence[Place], *, kind: str, bold: bool = False) -> Place | None:
    place = frame.labels.place(text, places, bold=bold) if text else None
    if place:
        frame.canvas.text(place[0], place[1], text, anchor=place[2], kind=kind)
    return place


def _name(frame: Frame, curve: Curve, paths: Sequence[list[Point]], *, rising: bool) -> bool:
    """Write a curve's name along it: near its right end first, or at half height where all curves end alike."""
    drawn = [point for path in paths for point in path]
    if not curve.name or not drawn:
        return True
    places: list[Place] = []
    for x, y in _at_heights(drawn) if rising else _at_shares(drawn):
        if rising:
            places += [(x + 8, y + 5, "start"), (x - 8, y + 1, "end")]
        else:
            places += [(x, y - 8, "middle"), (x, y + 17, "middle"), (x, y - 8, "end"), (x, y + 17, "end")]
            places += [(x + 7, y + 4, "start"), (x - 7, y - 3, "end"), (x + 4, y + 15, "start")]
    place = frame.labels.place(curve.name, places, owner=curve.name, crowded=False)
    if place:
        frame.canvas.text(place[0], place[1], curve.name, anchor=place[2], kind="halo i")
    return place is not None


def _at_shares(drawn: Sequence[Point]) -> list[Point]:
    """Points of a curve by their place along the x axis."""
    left, right = drawn[0][0], drawn[-1][0]
    wanted = [left + share * (right - left) for share in (0.97, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)]
    return [min(drawn, key=lambda point: abs(point[0] - x)) for x in wanted]


def _at_heights(drawn: Sequence[Point]) -> list[Point]:
    low, high = max(y for _, y in drawn), min(y for _, y in drawn)
    wanted = [low + share * (high - low) for share in (0.6, 0.45, 0.75, 0.3, 0.85, 0.15)]
    return [min(drawn, key=lambda point: abs(point[1] - y)) for y in wanted]

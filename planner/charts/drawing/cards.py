"""Small pictures for cards: bars with their figures, or a line with its range, and no axis."""

from __future__ import annotations

from planner.charts.drawing import gantt, heat
from planner.charts.drawing.canvas import Canvas, Point, hue, number, points
from planner.charts.drawing.lines import thinned
from planner.charts.drawing.type import shorten
from planner.charts.drawing.type import width as text_width
from planner.charts.ledger import Ledger, Piece, ledger_of
from planner.charts.plane import Plane, plane_of
from planner.charts.scale import Scale
from planner.core.chart import Chart
from planner.core.quantities import show

_MOST_BARS = 3
_BAR, _PITCH = 13.0, 21.0


def draw(chart: Chart, *, width: float) -> Canvas:
    if chart.form == "stacked":
        return _stack(ledger_of(chart), width=width)
    if chart.form == "bars":
        return _bars(ledger_of(chart), width=width)
    if chart.form == "heat":
        return heat.draw(chart, width=width)
    if chart.form == "gantt":
        return gantt.draw(chart, width=width)
    return _line(plane_of(chart), width=width)


def _bars(ledger: Ledger, *, width: float) -> Canvas:
    limit = next((limit for limit in ledger.limits if ledger.low <= limit.value <= ledger.high), None)
    top = 16.0 if limit else 2.0
    bars = _rows(ledger)
    canvas = Canvas(width, top + _PITCH * max(len(bars), 1))
    gutter = min(max((text_width(name) for name, _ in bars), default=0.0), width * 0.42)
    room = max((text_width(ledger.text(piece), bold=True) for _, pieces in bars for piece in pieces), default=0.0) + 8
    scale = Scale(ledger.low, ledger.high, gutter + 8, width - room, log=ledger.log)
    for index, (name, pieces) in enumerate(bars):
        y = top + _PITCH * index
        canvas.text(gutter, y + 10.5, shorten(name, gutter + 1), anchor="end")
        for piece in pieces:
            left, right = sorted((scale(max(piece.start, ledger.low)), scale(piece.end)))
            canvas.rect(left, y, right - left, _BAR, f"{'hl' if piece.idle else 'fl'} {hue(piece.order)}")
        last = max(pieces, key=lambda piece: piece.end)
        canvas.text(scale(max(last.start, last.end)) + 6, y + 10.5, ledger.text(last), kind="b")
    if limit:
        _limit(canvas, limit.label, scale(limit.value), top=top)
    return canvas


def _rows(ledger: Ledger) -> list[tuple[str, list[Piece]]]:
    """The first few bars; both sides of a tornado share a row."""
    by_category = [
        (category, [entry.pieces[index] for entry in ledger.traces if entry.pieces[index].present])
        for index, category in enumerate(ledger.categories)
    ]
    if ledger.floating:
        return [row for row in by_category if row[1]][:_MOST_BARS]
    return [(name, [piece]) for name, pieces in by_category for piece in pieces][:_MOST_BARS]


def _limit(canvas: Canvas, label: str, x: float, *, top: float) -> None:
    canvas.path(f"M{number(x)} {number(top - 4)}V{number(canvas.height)}", "lim")
    half = text_width(label) / 2
    canvas.text(min(max(x, half), canvas.width - half), top - 7, label, anchor="middle", kind="lim")


def _stack(ledger: Ledger, *, width: float) -> Canvas:
    canvas = Canvas(width, 56)
    if not ledger.categories:
        return canvas
    scale = Scale(ledger.low, ledger.high, 0, width)
    canvas.text(0, 12, ledger.categories[0] if len(ledger.categories) > 1 else "")
    canvas.text(width, 12, ledger.total(0), anchor="end", kind="b")
    reached = 0.0
    for entry in ledger.traces:
        piece = entry.pieces[0]
        if not piece.present:
            continue
        left, right = scale(piece.start), scale(piece.end)
        canvas.rect(left, 19, right - left - 1.5, 18, f"{'hl' if piece.idle else 'fl'} {hue(piece.order)}")
        words = text_width(entry.name, size=12)
        if left >= reached and left + words <= width and (right - left) > 24:
            canvas.text(left, 52, entry.name)
            reached = left + words + 10
    return canvas


def _line(plane: Plane, *, width: float) -> Canvas:
    canvas = Canvas(width, 70)
    x, y = Scale(*plane.x_range, 2, width - 2, log=plane.x_log), Scale(*plane.y_range, 54, 14, log=plane.y_log)
    canvas.path(f"M0 54H{number(width)}", "axis")
    for limit in plane.limits:
        if limit.axis == "y" and plane.y_range[0] <= limit.value <= plane.y_range[1]:
            canvas.path(f"M0 {number(y(limit.value))}H{number(width)}", "lim")
    for curve, runs in zip(plane.curves[:3], plane.runs, strict=False):
        for run in runs:
            path: list[Point] = [(x(px), y(py)) for px, py in run]
            if curve.as_points:
                for px, py in path:
                    canvas.marker(px, py, curve.order, size=2.5)
                continue
            if len(plane.curves) == 1 and len(path) > 1:
                canvas.path(
                    f"{points([(path[0][0], 54), *thinned(path), (path[-1][0], 54)])}Z", f"bd {hue(curve.order)}"
                )
            canvas.path(points(thinned(path)), f"ln {hue(curve.order)}")
    _ends(canvas, plane)
    named = plane.marks[:1] if not any(curve.as_points for curve in plane.curves[:1]) else ()
    for mark in named:
        if plane.holds(mark.x, mark.y):
            canvas.marker(x(mark.x), y(mark.y), mark.order, size=4)
            half = text_width(mark.label, bold=True, size=12) / 2
            canvas.text(
                min(max(x(mark.x), half), width - half), max(y(mark.y) - 8, 10), mark.label, anchor="middle", kind="b"
            )
    return canvas


def _ends(canvas: Canvas, plane: Plane) -> None:
    """The first and last figure of the x axis, and what it measures between them."""
    if plane.categories:
        first, last = plane.categories[0], plane.categories[-1]
    else:
        first, last = (show(float(f"{end:.3g}")) for end in plane.x_range)
    canvas.text(0, 67, first)
    canvas.text(canvas.width, 67, last, anchor="end")
    room = canvas.width - 2 * max(text_width(first), text_width(last)) - 16
    canvas.text(canvas.width / 2, 67, shorten(plane.x_title, room), anchor="middle")

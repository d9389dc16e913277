"""Horizontal bars: one or several a category, from a value to a value (a tornado), or stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.charts.drawing.canvas import Canvas, hue, number
from planner.charts.drawing.labels import Area, Labels, Place
from planner.charts.drawing.legend import draw_legend, legend_rows
from planner.charts.drawing.type import LINE, shorten, wrap
from planner.charts.drawing.type import width as text_width
from planner.charts.ledger import Ledger, Piece, ledger_of
from planner.charts.scale import Scale, tick_texts
from planner.core.chart import Chart, Limit

_GUTTER_SHARE = 0.36
_LEGEND_ROW = 18.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of bars: its name and the bars in it."""

    name: str
    pieces: tuple[Piece, ...]


def draw(chart: Chart, *, width: float) -> Canvas:
    ledger = ledger_of(chart)
    if chart.form == "stacked":
        return _one_stack(ledger, width=width) if len(ledger.categories) == 1 else _stacks(ledger, width=width)
    return _bars(ledger, width=width)


def _bars(ledger: Ledger, *, width: float) -> Canvas:
    rows, names = _rows(ledger)
    thick, gap = _rhythm(rows, limited=bool(ledger.limits), floating=ledger.floating)
    legend = legend_rows([name for name, _ in names], width)
    top = (22.0 if ledger.limits or ledger.floating else 2.0) + _LEGEND_ROW * len(legend)
    gutter = _gutter([row.name for row in rows], width)
    lanes = [1 if ledger.floating else len(row.pieces) for row in rows]
    heights = [
        max(thick * lane + gap, LINE * len(wrap(row.name, gutter)) + 4) for row, lane in zip(rows, lanes, strict=True)
    ]
    foot = 34.0 if ledger.floating else 4.0
    canvas = Canvas(width, top + sum(heights) + foot)
    draw_legend(canvas, names, legend)
    bottom = canvas.height - foot
    scale = _scale(ledger, rows, gutter=gutter, width=width)
    if ledger.floating:
        _ticks(canvas, ledger, scale, top=top, bottom=bottom)
    placed = _placed(ledger, rows, lanes, heights, top=top, thick=thick)
    edge = top
    for row, height in zip(rows, heights, strict=True):
        _row_name(canvas, row.name, gutter=gutter, middle=edge + height / 2)
        edge += height
    for piece, y, depth in placed:
        _bar(canvas, ledger, scale, piece, y=y, thick=depth)
    base = scale(ledger.base) if ledger.floating else scale(scale.low if ledger.log else 0.0)
    canvas.path(f"M{number(base)} {number(top - 3)}V{number(bottom)}", "axis")
    _limits(canvas, ledger.limits, scale, top=top, bottom=bottom, ledger=ledger)
    # Figures last: a limit that runs through one must not strike it out.
    for piece, y, depth in placed:
        _bar_text(canvas, ledger, scale, piece, middle=y + depth / 2)
    return canvas


def _placed(
    ledger: Ledger, rows: Sequence[Row], lanes: Sequence[int], heights: Sequence[float], *, top: float, thick: float
) -> list[tuple[Piece, float, float]]:
    """Every bar with its upper edge and its thickness."""
    found = []
    edge = top
    for row, lane, height in zip(rows, lanes, heights, strict=True):
        first = edge + (height - thick * lane) / 2
        for index, piece in enumerate(row.pieces):
            found.append((piece, first + (0 if ledger.floating else index * thick), thick - (2 if lane > 1 else 0)))
        edge += height
    return found


def _rows(ledger: Ledger) -> tuple[list[Row], list[tuple[str, int]]]:
    """Rows of a picture and the entries of its legend; one category alone gives its row to each trace."""
    traces = ledger.traces
    if len(ledger.categories) == 1 and len(traces) > 1 and not ledger.floating:
        return [Row(trace.name, (trace.pieces[0],)) for trace in traces], []
    rows = [
        Row(category, tuple(trace.pieces[index] for trace in traces if trace.pieces[index].present))
        for index, category in enumerate(ledger.categories)
    ]
    if ledger.floating:
        return rows, [(trace.name, trace.order) for trace in traces if len(traces) > 1]
    grouped = any(len(row.pieces) > 1 for row in rows)
    return rows, [(trace.name, trace.order) for trace in traces] if grouped else []


def _rhythm(rows: Sequence[Row], *, limited: bool, floating: bool) -> tuple[float, float]:
    """Thickness of a bar and the gap between rows."""
    if floating:
        return 18.0, 9.0
    if any(len(row.pieces) > 1 for row in rows):
        return (12.5, 10.0) if sum(len(row.pieces) for row in rows) > 15 else (15.0, 14.0)
    if len(rows) <= 3 and limited:
        return 26.0, 16.0
    return (20.0, 10.0) if len(rows) <= 8 else (17.0, 8.0)


def _gutter(names: Sequence[str], width: float) -> float:
    return min(max((text_width(name) for name in names), default=0.0), width * _GUTTER_SHARE) + 2


def _row_name(canvas: Canvas, name: str, *, gutter: float, middle: float) -> None:
    lines = wrap(name, gutter, lines=2)
    for index, line in enumerate(lines):
        canvas.text(gutter, middle + 4.5 + LINE * (index - (len(lines) - 1) / 2), line, anchor="end", kind="i")


def _scale(ledger: Ledger, rows: Sequence[Row], *, gutter: float, width: float) -> Scale:
    start, high = gutter + 9, ledger.high
    room = max((text_width(ledger.text(piece), bold=True) for row in rows for piece in row.pieces), default=0.0) + 8
    if ledger.floating or ledger.low < 0:
        return Scale(ledger.low, high, start + room, width - room, log=ledger.log)
    return Scale(ledger.low, high, start, width - room, log=ledger.log)


def _bar(canvas: Canvas, ledger: Ledger, scale: Scale, piece: Piece, *, y: float, thick: float) -> None:
    if not piece.present:
        return
    left, right = _ends(ledger, scale, piece)
    canvas.rect(left, y, right - left, thick, f"{'hl' if piece.idle else 'fl'} {hue(piece.order)}")
    if piece.low is not None and piece.high is not None:
        canvas.path(f"M{number(scale(piece.low))} {number(y + thick / 2)}H{number(scale(piece.high))}", "axis")


def _ends(ledger: Ledger, scale: Scale, piece: Piece) -> tuple[float, float]:
    start = scale(max(piece.start, scale.low) if ledger.log else piece.start)
    return min(start, scale(piece.end)), max(start, scale(piece.end))


def _bar_text(canvas: Canvas, ledger: Ledger, scale: Scale, piece: Piece, *, middle: float) -> None:
    y = middle + 4.5
    if not piece.present:
        canvas.text(scale.start + 6, y, "—", kind="b")
        return
    if ledger.floating and piece.start == piece.end:
        return
    left, right = _ends(ledger, scale, piece)
    if piece.low is not None and piece.high is not None:
        right = max(right, scale(piece.high))
    x, anchor = (left - 5, "end") if piece.end < piece.start else (right + 6, "start")
    canvas.text(x, y, ledger.text(piece), anchor=anchor, kind="i halo" if ledger.floating else "b halo")


def _ticks(canvas: Canvas, ledger: Ledger, scale: Scale, *, top: float, bottom: float) -> None:
    ticks = scale.ticks(4)
    for tick, text in zip(ticks, tick_texts(ticks, ledger.unit), strict=True):
        canvas.path(f"M{number(scale(tick))} {number(top)}V{number(bottom)}", "grid")
        canvas.text(scale(tick), bottom + 14, text, anchor="middle")
    canvas.text(canvas.width, bottom + 30, ledger.title, anchor="end")
    canvas.text(scale(ledger.base), top - 9, ledger.base_label, anchor="middle", kind="b")


def _limits(
    canvas: Canvas, limits: Sequence[Limit], scale: Scale, *, top: float, bottom: float, ledger: Ledger
) -> None:
    labels = Labels(border=Area(0, 0, canvas.width, bottom))
    for limit in limits:
        if not ledger.low <= limit.value <= ledger.high:
            continue
        x = scale(limit.value)
        canvas.path(f"M{number(x)} {number(top - 4)}V{number(bottom)}", "lim")
        places: list[Place] = [(x, top - 10, "middle"), (x + 4, top - 10, "end"), (x - 4, top - 10, "start")]
        place = labels.place(limit.label, places)
        if place:
            canvas.text(place[0], place[1], limit.label, anchor=place[2], kind="lim")


def _one_stack(ledger: Ledger, *, width: float) -> Canvas:
    """One bar that sums, its parts listed below with their figures."""
    columns = 2 if width > 400 else 1
    pieces = [(trace.name, trace.pieces[0]) for trace in ledger.traces]
    rows = -(-len(pieces) // columns)
    canvas = Canvas(width, 66.0 + 22 * rows)
    scale = Scale(ledger.low, ledger.high, 0.0, width)
    canvas.text(0, 13, tick_texts([ledger.low], ledger.unit)[0])
    total = ledger.total(0)
    canvas.text(width, 13, total, anchor="end", kind="i")
    for name, piece in pieces:
        if piece.present:
            _segment(canvas, ledger, scale, piece, name=name, y=22, thick=30)
    for limit in ledger.limits:
        _stack_limit(canvas, limit, scale, total=total)
    _key(canvas, ledger, pieces, columns=columns)
    return canvas


def _stack_limit(canvas: Canvas, limit: Limit, scale: Scale, *, total: str) -> None:
    x = scale(limit.value)
    canvas.path(f"M{number(x)} 17V57", "lim")
    room = canvas.width - text_width(total, bold=True) - 12
    half = text_width(limit.label) / 2
    if 20 + half <= x <= room - half:
        canvas.text(x, 13, limit.label, anchor="middle", kind="lim")
    elif x - 20 >= 2 * half and min(x, room) > 2 * half + 14:
        canvas.text(min(x, room), 13, limit.label, anchor="end", kind="lim")


def _segment(canvas: Canvas, ledger: Ledger, scale: Scale, piece: Piece, *, name: str, y: float, thick: float) -> None:
    left, right = scale(piece.start), scale(piece.end)
    kind = f"{'hl' if piece.idle else 'fl'} {hue(piece.order)}"
    canvas.rect(left, y, right - left - 1.5, thick, kind, title=f"{name} {ledger.text(piece)}")


def _key(canvas: Canvas, ledger: Ledger, pieces: Sequence[tuple[str, Piece]], *, columns: int) -> None:
    each = canvas.width / columns
    for index, (name, piece) in enumerate(pieces):
        column, row = (index % columns, index // columns)
        left, y = column * each, 63.0 + 22 * row
        edge = left + each - (24 if columns > 1 and column == 0 else 0)
        value = ledger.text(piece)
        canvas.rect(left, y, 12, 12, f"{'hl' if piece.idle else 'fl'} {hue(piece.order)}")
        canvas.text(left + 20, y + 11, shorten(name, edge - left - 28 - text_width(value, bold=True)), kind="i")
        canvas.text(edge, y + 11, value, anchor="end", kind="b")


def _stacks(ledger: Ledger, *, width: float) -> Canvas:
    """A bar for each category, its total at the end, the key of its parts above."""
    names = [(trace.name, trace.order) for trace in ledger.traces]
    legend = legend_rows([name for name, _ in names], width)
    top = _LEGEND_ROW * len(legend) + (22.0 if ledger.limits else 6.0)
    pitch = 34.0
    canvas = Canvas(width, top + pitch * len(ledger.categories) + 4)
    square_legend(canvas, [(trace.name, trace.order, trace.idle) for trace in ledger.traces], legend)
    gutter = _gutter(ledger.categories, width)
    totals = [ledger.total(index) for index in range(len(ledger.categories))]
    room = max((text_width(total, bold=True) for total in totals), default=0.0) + 8
    scale = Scale(ledger.low, ledger.high, gutter + 9, width - room)
    for index, category in enumerate(ledger.categories):
        y = top + pitch * index + 6
        _row_name(canvas, category, gutter=gutter, middle=y + 11)
        pieces = [(trace.name, trace.pieces[index]) for trace in ledger.traces if trace.pieces[index].present]
        for name, piece in pieces:
            _segment(canvas, ledger, scale, piece, name=name, y=y, thick=22)
        end = max((piece.end for _, piece in pieces), default=0.0)
        canvas.text(scale(end) + 6, y + 15.5, totals[index], kind="b halo")
    _limits(canvas, ledger.limits, scale, top=top, bottom=canvas.height, ledger=ledger)
    return canvas


def square_legend(canvas: Canvas, entries: Sequence[tuple[str, int, bool]], rows: Sequence[int]) -> None:
    """Squares with their names: (name, order, whether a tint), ``rows`` says how many stand in each line."""
    left = iter(entries)
    for row, count in enumerate(rows):
        x = 0.0
        for _ in range(count):
            name, order, idle = next(left)
            canvas.rect(x, 2 + row * _LEGEND_ROW, 12, 12, f"{'hl' if idle else 'fl'} {hue(order)}")
            canvas.text(x + 18, 12 + row * _LEGEND_ROW, name, kind="i")
            x += text_width(name) + 36

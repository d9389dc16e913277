"""Charts as Plotly figures without a colour: plotly-theme.js paints them from the tokens of the page.

A trace carries ``series`` (its order of use; -1 is neutral) instead of colours, ``band`` for an interval, ``idle`` for
a tint, ``front`` for the neutral stepped line. Shapes are limits; each annotation says in ``says`` what it labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.charts.ledger import Entry, Ledger, Piece, ledger_of
from planner.charts.plane import Curve, Plane, plane_of
from planner.charts.scale import Scale, tick_texts
from planner.core.chart import Chart, Limit, Mark
from planner.core.quantities import show

_MOST_POINTS = 2000
_HEIGHT = 300
_ROW_HEIGHT = {"bars": 26, "stacked": 34}
_LEGEND_ROW = 24


def adds_to(chart: Chart) -> bool:
    """Whether hovering tells more than the SVG already prints: not for bars that each carry their figure."""
    if chart.form not in ("bars", "stacked"):
        return True
    ledger = ledger_of(chart)
    return len(ledger.categories) > 1 if chart.form == "stacked" else _lanes(ledger) > 1 and not ledger.floating


def figure(chart: Chart) -> dict[str, Any]:
    """Return ``{"data": [...], "layout": {...}}`` as static/js/plotly-theme.js reads it: strict JSON, no colours."""
    return _of_ledger(ledger_of(chart)) if chart.form in ("bars", "stacked") else _of_plane(chart, plane_of(chart))


def _of_plane(chart: Chart, plane: Plane) -> dict[str, Any]:
    data = [trace for curve in plane.curves for trace in _traces(plane, curve)]
    data += _marks(plane)
    annotations = [_title(plane.y_title), *(_limit_label(limit, plane) for limit in plane.limits)]
    named = [curve for curve in plane.curves if curve.name and curve.order >= 0]
    layout = {
        "height": _HEIGHT,
        "xaxis": _x_axis(plane),
        "yaxis": {**_range(plane.y_range, log=plane.y_log), **_y_ticks(plane)},
        "shapes": [_line(limit) for limit in plane.limits if _in_sight(limit, plane)],
        "annotations": annotations,
        "margin": {"t": 26 + (_LEGEND_ROW if len(named) > 1 else 0)},
        "showlegend": len(named) > 1,
        "hovermode": "closest" if chart.form == "scatter" else "x unified",
    }
    return {"data": data, "layout": layout}


def _traces(plane: Plane, curve: Curve) -> list[dict[str, Any]]:
    bands = [
        {
            "type": "scatter",
            "series": curve.order,
            "band": True,
            "x": [_seen(x, plane) for x, _ in band],
            "y": [y for _, y in band],
            "showlegend": False,
            "hoverinfo": "skip",
        }
        for band in curve.bands(plane.y_range)
    ]
    xs, ys = _sampled(curve)
    trace: dict[str, Any] = {
        "type": "scatter",
        "series": curve.order,
        "name": plain(curve.name),
        "mode": "markers" if curve.as_points else "lines",
        "x": [_seen(x, plane) for x in xs],
        "y": ys,
        "customdata": [_figure(y, plane.y_unit) for y in ys],
        "hovertemplate": "%{customdata}",
    }
    if curve.as_points:
        trace["hollow"] = curve.hollow
        trace["hovertemplate"] = "%{x:,.4~g}, %{customdata}"
    if curve.stepped:
        trace["line"] = {"shape": "hv"}
    if curve.idle:
        trace["idle"] = True
    if curve.order < 0:
        trace |= {"front": True, "showlegend": False, "hoverinfo": "skip"}
        del trace["hovertemplate"], trace["customdata"]
    return [*bands, trace]


def _figure(value: float | None, unit: str) -> str:
    """The figure of a hover, in the unit of the axis."""
    return show(value, unit, shown=unit)


def _sampled(curve: Curve) -> tuple[list[float], list[float | None]]:
    """Every figure, or every n-th of a curve longer than a screen is wide; the last one stays."""
    stride = -(-len(curve.xs) // _MOST_POINTS)
    kept = [*range(0, len(curve.xs), max(stride, 1))]
    if kept and kept[-1] != len(curve.xs) - 1:
        kept.append(len(curve.xs) - 1)
    return [curve.xs[index] for index in kept], [curve.ys[index] for index in kept]


def _seen(x: float, plane: Plane) -> float | str:
    return plain(plane.categories[int(x)]) if plane.categories else x


def _marks(plane: Plane) -> list[dict[str, Any]]:
    """The designs themselves. Labels of several at one rate fan out: the highest up, the lowest down."""
    inside = sorted((mark for mark in plane.marks if plane.holds(mark.x, mark.y)), key=lambda mark: -mark.y)
    last = len(inside) - 1
    sides = [
        "top left" if not place else "bottom right" if place == last else "middle right" for place in range(len(inside))
    ]
    return [_mark(mark, side) for mark, side in zip(inside, sides, strict=True)]


def _mark(mark: Mark, side: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "series": mark.order,
        "mark": True,
        "mode": "markers+text",
        "x": [mark.x],
        "y": [mark.y],
        "text": [plain(mark.label)],
        "textposition": side,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _x_axis(plane: Plane) -> dict[str, Any]:
    unit = "" if plane.x_unit in ("", "%") else f" {plane.x_unit}"
    title = {"text": plain(f"%{{x:,.4~g}}{unit}")}
    axis: dict[str, Any] = {"title": {"text": plain(plane.x_title)}, "unifiedhovertitle": title}
    if plane.categories:
        return {"title": {"text": plain(plane.x_title)}, "type": "category"}
    ticks = plane.x_ticks(7)
    texts = tick_texts(ticks, plane.x_unit, log=plane.x_log)
    return axis | _range(plane.x_range, log=plane.x_log) | {"tickmode": "array", "tickvals": ticks, "ticktext": texts}


def _y_ticks(plane: Plane) -> dict[str, Any]:
    texts = tick_texts(plane.y_ticks, plane.y_unit, log=plane.y_log)
    return {"tickmode": "array", "tickvals": list(plane.y_ticks), "ticktext": texts}


def _range(ends: tuple[float, float], *, log: bool) -> dict[str, Any]:
    if not log:
        return {"range": list(ends)}
    scale = Scale(*ends, 0, 1, log=True)
    return {"type": "log", "range": [scale.exponent(end) for end in ends]}


def _in_sight(limit: Limit, plane: Plane) -> bool:
    low, high = plane.y_range if limit.axis == "y" else plane.x_range
    return low <= limit.value <= high


def _line(limit: Limit) -> dict[str, Any]:
    """A limit from edge to edge. Shapes on a log axis take the value itself, not its exponent."""
    if limit.axis == "y":
        return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": limit.value, "y1": limit.value}
    return _upright(limit.value)


def _upright(value: float) -> dict[str, Any]:
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "xref": "x", "x0": value, "x1": value}


def _title(text: str) -> dict[str, Any]:
    """The name of the y axis, upright above it."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": -32, "yref": "paper", "y": 1, "yanchor": "bottom"}
    return {"text": plain(text), "showarrow": False, "says": "axis", "yshift": 6} | place


def _limit_label(limit: Limit, plane: Plane) -> dict[str, Any]:
    """Annotations on a log axis take the exponent, unlike shapes."""
    log = plane.y_log if limit.axis == "y" else plane.x_log
    low, high = plane.y_range if limit.axis == "y" else plane.x_range
    value = min(max(limit.value, low), high)
    at = Scale(low, high, 0, 1, log=True).exponent(value) if log else value
    text = limit.label if _in_sight(limit, plane) else f"{'↑' if limit.value > high else '↓'} {limit.label}"
    shared = {"text": plain(text), "showarrow": False, "says": "limit"}
    if limit.axis == "y":
        shift = 9 if value < high else -9
        return shared | {"xref": "paper", "x": 0.01, "xanchor": "left", "yref": "y", "y": at, "yshift": shift}
    rightmost = Scale(low, high, 0, 1, log=log)(value) > 0.6
    side = {"xshift": -4, "xanchor": "right"} if rightmost else {"xshift": 4, "xanchor": "left"}
    return shared | {"yref": "paper", "y": 1, "yanchor": "top", "xref": "x", "x": at} | side


def plain(text: str) -> str:
    """Plotly reads a little HTML in texts; ours are words."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _of_ledger(ledger: Ledger) -> dict[str, Any]:
    stacked = ledger.chart.form == "stacked"
    names = [plain(name) for name in ledger.categories]
    rows = len(names) * (1 if stacked or ledger.floating else max(_lanes(ledger), 1) * 0.7 + 0.3)
    data = [_bar_trace(ledger, entry) for entry in ledger.traces]
    ticks = Scale(ledger.low, ledger.high, 0, 1, log=ledger.log).ticks(5)
    value_axis: dict[str, Any] = {
        "title": {"text": plain(ledger.title)},
        **_range(_roomy(ledger), log=ledger.log),
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": tick_texts(ticks, ledger.unit, log=ledger.log),
        "showgrid": True,
        "visible": ledger.floating or ledger.log,
    }
    inside = [limit for limit in ledger.limits if ledger.low <= limit.value <= ledger.high]
    legend = stacked or (_lanes(ledger) > 1 and not ledger.floating)
    order = {"autorange": "reversed", "categoryorder": "array", "categoryarray": names}
    layout = {
        "height": round(30 + rows * _ROW_HEIGHT[ledger.chart.form] + (_LEGEND_ROW if legend else 0)),
        "margin": {"t": 8 + (18 if inside else 0) + (_LEGEND_ROW if legend else 0), "b": 8},
        "barmode": "stack" if stacked else ("overlay" if ledger.floating or _lanes(ledger) < 2 else "group"),
        "xaxis": value_axis,
        "yaxis": {"type": "category", **order, "showgrid": False},
        "shapes": [_upright(limit.value) for limit in inside],
        "annotations": [*(_bar_limit(limit, ledger) for limit in inside), *(_totals(ledger) if stacked else [])],
        "showlegend": legend,
        "hovermode": "closest",
    }
    return {"data": data, "layout": layout}


def _totals(ledger: Ledger) -> list[dict[str, Any]]:
    shared = {"showarrow": False, "says": "value", "xanchor": "left", "xshift": 4, "xref": "x", "yref": "y"}
    return [
        {
            **shared,
            "x": max(entry.pieces[index].end for entry in ledger.traces),
            "y": plain(name),
            "text": ledger.total(index),
        }
        for index, name in enumerate(ledger.categories)
    ]


def _roomy(ledger: Ledger) -> tuple[float, float]:
    """The range of the bars with room for the figures written at their ends."""
    if ledger.log:
        return ledger.low, ledger.high * 2
    span = ledger.high - ledger.low
    return ledger.low - (0.14 * span if ledger.floating or ledger.low < 0 else 0), ledger.high + 0.14 * span


def _lanes(ledger: Ledger) -> int:
    """How many bars the fullest category holds."""
    present = [[entry.pieces[index].present for entry in ledger.traces] for index in range(len(ledger.categories))]
    return max((sum(row) for row in present), default=0)


def _bar_limit(limit: Limit, ledger: Ledger) -> dict[str, Any]:
    at = Scale(ledger.low, ledger.high, 0, 1, log=True).exponent(limit.value) if ledger.log else limit.value
    place = {"xref": "x", "x": at, "yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center"}
    return {"text": plain(limit.label), "showarrow": False, "says": "limit"} | place


def _bar_trace(ledger: Ledger, entry: Entry) -> dict[str, Any]:
    kept: Sequence[tuple[str, Piece]] = [
        (name, piece) for name, piece in zip(ledger.categories, entry.pieces, strict=True) if piece.present
    ]
    stacked = ledger.chart.form == "stacked"
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "series": entry.order,
        "name": plain(entry.name),
        "y": [plain(name) for name, _ in kept],
        "x": [piece.end - piece.start for _, piece in kept],
        "customdata": [ledger.text(piece) for _, piece in kept],
        "hovertemplate": f"{'%{fullData.name}: ' if stacked else ''}%{{customdata}}<extra></extra>",
    }
    if ledger.floating:
        trace["base"] = [piece.start for _, piece in kept]
    if not stacked:
        texts = ["" if piece.start == piece.end and ledger.floating else ledger.text(piece) for _, piece in kept]
        trace |= {"text": texts, "textposition": "outside", "cliponaxis": False}
    if stacked:
        trace["segment"] = True
    spans = [(piece.low, piece.high, piece.end) for _, piece in kept]
    if any(low is not None and high is not None for low, high, _ in spans):
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [(high - end) if high is not None else 0 for _, high, end in spans],
            "arrayminus": [(end - low) if low is not None else 0 for low, _, end in spans],
        }
    if entry.idle:
        trace["idle"] = True
    return trace

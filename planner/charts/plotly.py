"""Charts as Plotly figures without a colour: plotly-theme.js paints them from the tokens of the page.

A trace carries ``series`` (its order of use; -1 is neutral) instead of colours, ``band`` for an interval, ``idle`` for
a tint, ``front`` for the neutral stepped line. Shapes are limits; each annotation says in ``says`` what it labels.
"""

from __future__ import annotations

from typing import Any

from planner.charts import plotly_gantt, plotly_heat
from planner.charts.ledger import ledger_of
from planner.charts.plane import ON_A_PLANE, Curve, Plane, plane_of
from planner.charts.plotly_bars import figure_of
from planner.charts.plotly_parts import LEGEND_ROW_PX, axis_range, place_on, plain, upright
from planner.charts.scale import Scale, tick_texts
from planner.core.chart import Chart, Limit, Mark
from planner.core.quantities import show

_MOST_POINTS = 2000
_HEIGHT = 300
_NEAR_RIGHT = 0.8
"""Share of the width beyond which a label stands to the left of its mark; as near the left edge, to its right."""
_LABEL_WIDE, _LABEL_HIGH = 0.4, 0.35
"""Share of the plane about a label of a level limit: where a line comes into it, it stands at the other end."""
_ARROWS = {"x": "←→", "y": "↓↑"}
"""Where a limit out of sight lies: below the range, above it."""
_ROWS = {"heat": plotly_heat.figure_of, "gantt": plotly_gantt.figure_of}


def adds_to(chart: Chart) -> bool:
    """Whether hovering tells more than the SVG already prints: not for bars that each carry their figure."""
    if chart.form == "stacked":
        return len(ledger_of(chart).categories) > 1
    return chart.form != "bars"


def figure(chart: Chart, *, plane: Plane | None = None) -> dict[str, Any]:
    """Return ``{"data": [...], "layout": {...}}`` as static/js/plotly-theme.js reads it: strict JSON, no colours.

    ``plane`` is the chart's `plane_of` where the caller has it.
    """
    if chart.form in ON_A_PLANE:
        return _of_plane(chart, plane or plane_of(chart))
    made = _ROWS.get(chart.form)
    return made(chart) if made else figure_of(ledger_of(chart))


def _of_plane(chart: Chart, plane: Plane) -> dict[str, Any]:
    data = [trace for curve in plane.curves for trace in _traces(plane, curve)]
    marks, labels = _marks(plane)
    data += marks
    annotations = [_title(plane.y_title), *(_limit_label(limit, plane) for limit in plane.limits), *labels]
    named = [curve for curve in plane.curves if curve.name and (curve.order >= 0 or curve.labels)]
    layout = {
        "height": _HEIGHT,
        "xaxis": _x_axis(plane),
        "yaxis": {**axis_range(plane.y_range, log=plane.y_log), **_y_ticks(plane)},
        "shapes": [shape for limit in plane.limits if _in_sight(limit, plane) for shape in _shapes(limit, plane)],
        "annotations": annotations,
        "margin": {"t": 26 + (LEGEND_ROW_PX if len(named) > 1 else 0)},
        "showlegend": len(named) > 1,
        "hovermode": "closest" if chart.form == "scatter" else "x unified",
    }
    return {"data": data, "layout": layout} | ({"opens": chart.opens} if chart.opens else {})


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
    kept = _kept(curve)
    xs, ys = [curve.xs[index] for index in kept], [curve.ys[index] for index in kept]
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
        # A point at the edge of the plane is drawn whole.
        trace |= {"hollow": curve.hollow, "cliponaxis": False}
        trace["hovertemplate"] = "%{x:,.4~g}, %{customdata}"
    if curve.labels:
        trace["text"] = [plain(curve.labels[index]) for index in kept]
        trace["hovertemplate"] = "%{text}<br>%{x:,.4~g} → %{customdata}"
    if curve.crowded:
        trace["marker"] = {"size": 5, "opacity": 0.55, "line": {"width": 0}}
    if curve.stepped:
        trace["line"] = {"shape": "hv"}
    if curve.idle:
        trace["idle"] = True
    if curve.places:
        trace["places"] = [curve.places[index] for index in kept]
    if not curve.name:
        trace["showlegend"] = False
    if curve.order < 0 and not curve.labels:
        trace |= {"front": not curve.guide, "showlegend": False, "hoverinfo": "skip"}
        del trace["hovertemplate"], trace["customdata"]
    return [*bands, trace]


def _figure(value: float | None, unit: str) -> str:
    """The figure of a hover, in the unit of the axis."""
    return show(value, unit, shown=unit)


def _kept(curve: Curve) -> list[int]:
    """Places of the figures drawn: all, or every n-th of a curve longer than a screen is wide; the last one stays."""
    stride = -(-len(curve.xs) // _MOST_POINTS)
    kept = [*range(0, len(curve.xs), max(stride, 1))]
    if kept and kept[-1] != len(curve.xs) - 1:
        kept.append(len(curve.xs) - 1)
    return kept


def _seen(x: float, plane: Plane) -> float | str:
    return plain(plane.categories[int(x)]) if plane.categories else x


def _marks(plane: Plane) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The designs themselves and their labels. Several at one rate fan out: the highest up, the lowest down."""
    inside = sorted((mark for mark in plane.marks if plane.holds(mark.x, mark.y)), key=lambda mark: -mark.y)
    named = [mark for mark in inside if mark.label]
    last = len(named) - 1
    places = [0 if index == 0 else 2 if index == last else 1 for index in range(len(named))]
    drawn = [_mark(mark) for mark in inside if mark.look != "name"]
    return drawn, [_mark_label(m, plane, at) for m, at in zip(named, places, strict=True)]


def _mark(mark: Mark) -> dict[str, Any]:
    shown: dict[str, Any] = {"mode": "markers", "hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    if mark.look != "dot":
        shown["hollow" if mark.look == "hollow" else "ring"] = True
        shown |= {"struck": True} if mark.look == "struck" else {}
    return {"type": "scatter", "series": mark.order, "mark": True, "x": [mark.x], "y": [mark.y], **shown}


def _mark_label(mark: Mark, plane: Plane, place: int) -> dict[str, Any]:
    sides: tuple[dict[str, Any], ...] = (
        {"xanchor": "right", "xshift": -3, "yanchor": "bottom", "yshift": 5},
        {"xanchor": "left", "xshift": 9, "yanchor": "middle", "yshift": 0},
        {"xanchor": "left", "xshift": 3, "yanchor": "top", "yshift": -5},
    )
    side = sides[place]
    x = place_on(mark.x, plane.x_range, log=plane.x_log)
    y = place_on(mark.y, plane.y_range, log=plane.y_log)
    start, end = (place_on(edge, plane.x_range, log=plane.x_log) for edge in plane.x_range)
    share = (x - start) / (end - start) if end > start else 0.0
    if place == 0 and share < 1 - _NEAR_RIGHT:
        side |= {"xanchor": "left", "xshift": 9}
    elif place == 0 and _falls(mark, plane):
        # Below a falling line there is room, and none of those it crosses.
        side = {"xanchor": "right", "xshift": -3, "yanchor": "top", "yshift": -5}
    elif place and mark.look in ("ring", "struck"):
        # Clear of the ring and of the front that runs through it.
        near = share > _NEAR_RIGHT
        side = {"xanchor": "right" if near else "center", "xshift": -3 if near else 0, "yanchor": "top", "yshift": -10}
    elif place and share > _NEAR_RIGHT:
        side |= {"xanchor": "right", "xshift": -side["xshift"]}
    return {"text": plain(mark.label), "says": "mark", "showarrow": False, "x": x, "y": y, **side}


def _falls(mark: Mark, plane: Plane) -> bool:
    """Whether the line of a mark goes down where it stands."""
    curve = next((each for each in plane.curves if each.order == mark.order and not each.as_points), None)
    if curve is None:
        return False
    near = sorted(zip(curve.xs, curve.ys, strict=True), key=lambda point: abs(point[0] - mark.x))[:3]
    ordered = [y for _x, y in sorted(near, key=lambda point: point[0]) if y is not None]
    return len(ordered) > 1 and ordered[0] > ordered[-1]


def _x_axis(plane: Plane) -> dict[str, Any]:
    unit = "" if plane.x_unit in ("", "%") else f" {plane.x_unit}"
    title = {"text": plain(f"%{{x:,.4~g}}{unit}")}
    axis: dict[str, Any] = {"title": {"text": plain(plane.x_title)}, "unifiedhovertitle": title}
    if plane.categories:
        return {"title": {"text": plain(plane.x_title)}, "type": "category"}
    ticks = plane.x_ticks(7)
    texts = tick_texts(ticks, plane.x_unit, log=plane.x_log)
    return (
        axis | axis_range(plane.x_range, log=plane.x_log) | {"tickmode": "array", "tickvals": ticks, "ticktext": texts}
    )


def _y_ticks(plane: Plane) -> dict[str, Any]:
    texts = tick_texts(plane.y_ticks, plane.y_unit, log=plane.y_log)
    return {"tickmode": "array", "tickvals": list(plane.y_ticks), "ticktext": texts}


def _in_sight(limit: Limit, plane: Plane) -> bool:
    low, high = plane.y_range if limit.axis == "y" else plane.x_range
    return low <= limit.value <= high


def _shapes(limit: Limit, plane: Plane) -> list[dict[str, Any]]:
    """The line, and the side that misses it, to the edge of the picture."""
    line = _line(limit)
    if not limit.closed:
        return [line]
    ends = plane.x_range if limit.axis == "x" else plane.y_range
    edge = ends[1] if limit.closed == "above" else ends[0]
    return [{**line, "type": "rect", "missed": True, "layer": "below", f"{limit.axis}1": edge}, line]


def _line(limit: Limit) -> dict[str, Any]:
    """A limit from edge to edge. Shapes on a log axis take the value itself, not its exponent."""
    if limit.axis == "y":
        return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": limit.value, "y1": limit.value}
    return upright(limit.value)


def _title(text: str) -> dict[str, Any]:
    """The name of the y axis, upright above it."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": -32, "yref": "paper", "y": 1, "yanchor": "bottom"}
    return {"text": plain(text), "showarrow": False, "says": "axis", "yshift": 6} | place


def _met(limit: Limit, plane: Plane, *, left: bool) -> bool:
    """Whether a line runs where the label of a level limit would stand, at that end of it."""
    across = Scale(*plane.x_range, 0, 1, log=plane.x_log)
    up = Scale(*plane.y_range, 0, 1, log=plane.y_log)
    above = up(min(max(limit.value, plane.y_range[0]), plane.y_range[1]))
    return any(
        y is not None
        and 0 <= up(y) - above <= _LABEL_HIGH
        and (across(x) < _LABEL_WIDE if left else across(x) > 1 - _LABEL_WIDE)
        for curve in plane.curves
        for x, y in zip(curve.xs, curve.ys, strict=True)
        if y is not None and plane.holds(x, y)
    )


def _limit_label(limit: Limit, plane: Plane) -> dict[str, Any]:
    """Annotations on a log axis take the exponent, unlike shapes."""
    log = plane.y_log if limit.axis == "y" else plane.x_log
    low, high = plane.y_range if limit.axis == "y" else plane.x_range
    value = min(max(limit.value, low), high)
    at = place_on(value, (low, high), log=log)
    text = limit.label if _in_sight(limit, plane) else f"{_ARROWS[limit.axis][limit.value > high]} {limit.label}"
    shared = {"text": plain(text), "showarrow": False, "says": "limit"}
    if limit.axis == "y":
        shift = 9 if value < high else -9
        right = _met(limit, plane, left=True) and not _met(limit, plane, left=False)
        side = {"x": 0.99, "xanchor": "right"} if right else {"x": 0.01, "xanchor": "left"}
        return shared | {"xref": "paper", "yref": "y", "y": at, "yshift": shift} | side
    rightmost = Scale(low, high, 0, 1, log=log)(value) > 0.6
    side = {"xshift": -4, "xanchor": "right"} if rightmost else {"xshift": 4, "xanchor": "left"}
    return shared | {"yref": "paper", "y": 1, "yanchor": "top", "xref": "x", "x": at} | side

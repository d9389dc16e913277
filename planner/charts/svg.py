"""Inline SVG in the classes of components.css: what a page shows before, or without, JavaScript.

Nothing here writes a ``style`` attribute, a script or an id, and every text is escaped.
"""

from __future__ import annotations

from planner.charts.drawing import bars, cards, flow, gantt, heat, lines, strip
from planner.charts.drawing.canvas import Canvas
from planner.charts.plane import ON_A_PLANE, Plane
from planner.core.chart import Chart
from planner.core.diagram import Diagram
from planner.core.result import Metric

WIDE = 470
NARROW = 336
MINI = 380
_NARROW_BELOW = 400
_ROWS = {"heat": heat.draw, "gantt": gantt.draw}
"""Forms of rows that are not bars of a length."""


def draw(chart: Chart, *, width: float = WIDE, plane: Plane | None = None) -> str:
    """Draw a chart; below 400 units it is laid out for a phone and carries the class ``narrow``.

    ``plane`` is the chart's `plane_of` where the caller has it.
    """
    if chart.form in ON_A_PLANE:
        canvas = lines.draw(chart, width=width, plane=plane)
    else:
        canvas = _ROWS.get(chart.form, bars.draw)(chart, width=width)
    role = "group" if chart.opens else "img"  # what is one image has no links in it
    return canvas.svg(label=chart.summary or chart.title, kind="narrow" if width < _NARROW_BELOW else "wide", role=role)


def mini(chart: Chart) -> str:
    """Draw a small picture for a card: no axis, the figure that matters; hidden from readers of the text."""
    return cards.draw(chart, width=MINI).svg(label="", kind="mini")


def range_strip(
    value: float | None,
    *,
    low: float | None,
    high: float | None,
    unit: str,
    shown: str = "",
    middle: float | None = None,
    label: str = "",
    band_label: str = "",
    summary: str = "",
) -> str:
    """Draw a figure against an interval: the line is ``value``, the band ``low..high``, the ring its ``middle``."""
    canvas = strip.draw(
        value, low=low, high=high, unit=unit, shown=shown, middle=middle, label=label, band_label=band_label
    )
    return canvas.svg(label=summary or strip.summary(value, low=low, high=high, unit=unit, label=label), kind="strip")


def range_strip_of(metric: Metric, *, band_label: str = "80 %") -> str:
    """Draw the strip of a metric that has a range; "" when it has none."""
    if metric.value is None or metric.low is None or metric.high is None:
        return ""
    unit = metric.definition.unit
    return range_strip(metric.value, low=metric.low, high=metric.high, unit=unit, label="", band_label=band_label)


def diagram(diagram: Diagram, *, vertical: bool = False, width: float | None = None) -> str:
    """Draw boxes, stores and flows along their ranks; ``vertical`` for a phone."""
    canvas = flow.draw(diagram, width=width or (NARROW if vertical else flow.WIDE), vertical=vertical)
    return canvas.svg(label=diagram.summary or diagram.title, kind="narrow" if vertical else "wide")


def key(order: int, *, size: float = 14) -> str:
    """Draw the marker of a series alone, for a legend or a table head."""
    canvas = Canvas(size, size)
    canvas.marker(size / 2, size / 2, order, size=size * 0.34, kind="fl")
    return canvas.svg(label="", kind="mark").replace("<svg ", f'<svg width="{size:g}" height="{size:g}" ', 1)

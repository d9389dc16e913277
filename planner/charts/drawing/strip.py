"""The range strip of the answer card: one figure on a short axis, with its interval."""

from __future__ import annotations

from planner.charts.drawing.canvas import Canvas, number
from planner.charts.drawing.type import width as text_width
from planner.charts.scale import Scale, in_unit, outward, tick_texts, unit_of
from planner.core.chart import Axis
from planner.core.quantities import NOTHING, show

_WIDTH, _HEIGHT = 248.0, 64.0
_AXIS_Y, _BAND_Y = 44.0, 30.0


def draw(
    value: float | None,
    *,
    low: float | None,
    high: float | None,
    unit: str,
    shown: str,
    middle: float | None,
    label: str,
    band_label: str,
) -> Canvas:
    axis = Axis("", unit, shown)
    known = [figure for figure in (value, low, high, middle) if figure is not None]
    canvas = Canvas(_WIDTH, _HEIGHT)
    if not known:
        canvas.text(_WIDTH / 2, _BAND_Y, NOTHING, anchor="middle")
        return canvas
    drawn_unit = unit_of(axis, known)
    figures = [in_unit(figure, axis, drawn_unit) for figure in (value, low, high, middle)]
    at, left, right, ring = figures
    scale = _scale([figure for figure in figures if figure is not None])
    _axis(canvas, scale, drawn_unit)
    if left is not None and right is not None:
        _band(canvas, scale, left, right, ring)
        _band_label(canvas, scale, left, right, band_label)
    if at is not None:
        canvas.path(f"M{number(scale(at))} 20v22", "", paint='stroke="var(--chart-ink)" stroke-width="2"')
        _value_label(canvas, scale(at), f"{show(value, unit, shown=shown).split('/')[0]} {label}".strip())
    return canvas


def summary(value: float | None, *, low: float | None, high: float | None, unit: str, label: str) -> str:
    said = f"{show(value, unit)} {label}".strip()
    return said if low is None or high is None else f"{said}; between {show(low, unit)} and {show(high, unit)}"


def _scale(figures: list[float]) -> Scale:
    least, most = min(figures), max(figures)
    room = (most - least) * 0.6 or abs(most) * 0.5 or 1.0
    low, high = outward(max(0.0, least - room) if least >= 0 else least - room, most + room, count=4)
    return Scale(low, high, 16.0, _WIDTH - 16.0)


def _axis(canvas: Canvas, scale: Scale, unit: str) -> None:
    canvas.path(f"M16 {number(_AXIS_Y)}H{number(_WIDTH - 16)}", "axis")
    ticks = scale.ticks(4)
    for tick, text in zip(ticks, tick_texts(ticks, unit), strict=True):
        x = scale(tick)
        canvas.path(f"M{number(x)} {number(_AXIS_Y)}v4", "axis")
        half = text_width(text) / 2
        canvas.text(min(max(x, half), _WIDTH - half), 60, text, anchor="middle")


def _band(canvas: Canvas, scale: Scale, low: float, high: float, middle: float | None) -> None:
    canvas.rect(scale(low), 24, scale(high) - scale(low), 12, "bd c1")
    canvas.path(f"M{number(scale(low))} {number(_BAND_Y)}H{number(scale(high))}", "ln c1")
    if middle is not None:
        canvas.marker(scale(middle), _BAND_Y, 0, size=4.5, kind="pt o")


def _band_label(canvas: Canvas, scale: Scale, low: float, high: float, text: str) -> None:
    """On the side of the band that has room."""
    if not text:
        return
    if scale(high) + 6 + text_width(text) <= canvas.width:
        canvas.text(scale(high) + 6, _BAND_Y + 4, text)
    elif scale(low) - 6 - text_width(text) >= 0:
        canvas.text(scale(low) - 6, _BAND_Y + 4, text, anchor="end")


def _value_label(canvas: Canvas, x: float, text: str) -> None:
    half = text_width(text, bold=True) / 2
    canvas.text(min(max(x, half), canvas.width - half), 13, text, anchor="middle", kind="b")

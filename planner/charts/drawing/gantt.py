"""Gantt charts: a row for each who, a bar for each stretch of what they do."""

from __future__ import annotations

from planner.charts.drawing.bars import square_legend
from planner.charts.drawing.canvas import Canvas, hue, number
from planner.charts.drawing.legend import legend_rows
from planner.charts.drawing.type import shorten
from planner.charts.drawing.type import width as text_width
from planner.charts.scale import Scale, tick_texts
from planner.charts.schedule import Activity, Schedule, schedule_of
from planner.core.chart import Chart

_GUTTER_SHARE = 0.34
_LEGEND_ROW = 18.0
_FOOT = 36.0
_TICK_EVERY = 72


def draw(chart: Chart, *, width: float) -> Canvas:
    schedule = schedule_of(chart)
    tall = 24.0 if len(schedule.rows) <= 8 else 15.0
    legend = legend_rows([activity.name for activity in schedule.activities], width)
    top = _LEGEND_ROW * len(legend) + (22.0 if schedule.limits else 6.0)
    canvas = Canvas(width, top + tall * len(schedule.rows) + _FOOT)
    square_legend(canvas, [(each.name, each.order, each.idle) for each in schedule.activities], legend)
    gutter = min(max((text_width(name) for name in schedule.rows), default=0.0), width * _GUTTER_SHARE)
    scale = Scale(schedule.low, schedule.high, gutter + 9, width - 4)
    bottom = top + tall * len(schedule.rows)
    _ticks(canvas, schedule, scale, top=top, bottom=bottom)
    for index, name in enumerate(schedule.rows):
        canvas.text(gutter, top + tall * (index + 0.5) + 4.5, shorten(name, gutter + 1), anchor="end", kind="i")
    for activity in schedule.activities:
        _activity(canvas, schedule, activity, scale, top=top, tall=tall)
    _limits(canvas, schedule, scale, top=top, bottom=bottom)
    return canvas


def _activity(canvas: Canvas, schedule: Schedule, activity: Activity, scale: Scale, *, top: float, tall: float) -> None:
    kind = f"{'hl' if activity.idle else 'fl'} {hue(activity.order)}"
    for span in activity.spans:
        left, right = scale(span.start), scale(span.end)
        y = top + tall * span.row + 2
        canvas.rect(left, y, right - left, tall - 4, kind, title=schedule.told(activity, span))


def _ticks(canvas: Canvas, schedule: Schedule, scale: Scale, *, top: float, bottom: float) -> None:
    ticks = scale.ticks(max(int((scale.end - scale.start) // _TICK_EVERY), 2))
    for tick, text in zip(ticks, tick_texts(ticks, schedule.unit), strict=True):
        x = scale(tick)
        canvas.path(f"M{number(x)} {number(top)}V{number(bottom + 4)}", "grid")
        half = text_width(text) / 2
        canvas.text(min(x, canvas.width - half), bottom + 16, text, anchor="middle")
    canvas.path(f"M{number(scale.start)} {number(bottom)}H{number(scale.end)}", "axis")
    canvas.text(canvas.width, bottom + 31, shorten(schedule.title, canvas.width), anchor="end")


def _limits(canvas: Canvas, schedule: Schedule, scale: Scale, *, top: float, bottom: float) -> None:
    for limit in schedule.limits:
        x, half = scale(limit.value), text_width(limit.label) / 2
        canvas.path(f"M{number(x)} {number(top - 4)}V{number(bottom)}", "lim")
        middle = min(max(x, half), canvas.width - half)
        canvas.text(middle, top - 8, limit.label, anchor="middle", kind="lim")

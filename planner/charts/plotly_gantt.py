"""Gantt charts as Plotly figures, for what a stretch is under the pointer."""

from __future__ import annotations

from typing import Any

from planner.charts.plotly_parts import LEGEND_ROW_PX, plain, upright
from planner.charts.scale import Scale, tick_texts
from planner.charts.schedule import Activity, Schedule, schedule_of
from planner.core.chart import Chart, Limit


def figure_of(chart: Chart) -> dict[str, Any]:
    schedule = schedule_of(chart)
    names = [plain(name) for name in schedule.rows]
    ticks = Scale(schedule.low, schedule.high, 0, 1).ticks(6)
    layout = {
        "height": round(76 + LEGEND_ROW_PX + len(names) * (24 if len(names) <= 8 else 16)),
        "margin": {"t": 8 + LEGEND_ROW_PX + (18 if schedule.limits else 0)},
        "barmode": "overlay",
        "xaxis": {
            "title": {"text": plain(schedule.title)},
            "range": [schedule.low, schedule.high],
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": tick_texts(ticks, schedule.unit),
            "showgrid": True,
        },
        "yaxis": {
            "type": "category",
            "autorange": "reversed",
            "categoryorder": "array",
            "categoryarray": names,
            "dtick": 1,
            "showgrid": False,
        },
        "shapes": [upright(limit.value) for limit in schedule.limits],
        "annotations": [_limit(limit) for limit in schedule.limits],
        "showlegend": True,
        "hovermode": "closest",
    }
    return {"data": [_bars(schedule, activity) for activity in schedule.activities], "layout": layout}


def _bars(schedule: Schedule, activity: Activity) -> dict[str, Any]:
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "series": activity.order,
        "name": plain(activity.name),
        "y": [plain(schedule.rows[span.row]) for span in activity.spans],
        "base": [span.start for span in activity.spans],
        "x": [span.end - span.start for span in activity.spans],
        "width": 0.8,
        "customdata": [plain(schedule.told(activity, span)) for span in activity.spans],
        "hovertemplate": "%{y}: %{customdata}<extra></extra>",
    }
    return bars | ({"idle": True} if activity.idle else {})


def _limit(limit: Limit) -> dict[str, Any]:
    place = {"xref": "x", "x": limit.value, "yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center"}
    return {"text": plain(limit.label), "showarrow": False, "says": "limit"} | place

"""Stretches of roles, estimated or simulated, as the traces of a Gantt chart."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from planner.core.chart import Trace
from planner.core.result import Series
from planner.core.table import numbers


def traces_of(
    series: Series, *, activities: Sequence[str], colours: Mapping[str, int], idle: Container[str]
) -> tuple[Trace, ...]:
    """A trace for each activity that occurs, from the columns ``role``, ``activity``, ``start_s`` and ``end_s``."""
    rows = list(
        zip(
            series.column("role").values,
            series.column("activity").values,
            numbers(series, "start_s"),
            numbers(series, "end_s"),
            strict=True,
        )
    )
    by_activity = {activity: [row for row in rows if row[1] == activity] for activity in activities}
    return tuple(
        Trace(
            activity,
            x=[row[0] for row in mine],
            y=[None] * len(mine),
            low=[row[2] for row in mine],
            high=[row[3] for row in mine],
            order=colours.get(activity, 5),
            idle=activity in idle,
        )
        for activity, mine in by_activity.items()
        if mine
    )

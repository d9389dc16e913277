"""Gantt charts: rows, stretches and units are the same in every drawing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from planner.charts import plotly, svg, table
from planner.charts.schedule import schedule_of
from planner.core.chart import Axis, Trace
from tests.charts import samples


def test_rows_stand_in_the_order_of_their_first_stretch() -> None:
    assert schedule_of(samples.GANTT).rows == ("instance 1", "instance 2", "trainer")


def test_lengths_of_bars_follow_the_time() -> None:
    found = re.findall(
        r'<rect class="([fh]l) c\d" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"[^>]*><title>', svg.draw(samples.GANTT)
    )
    widths = [float(width) for _, _, _, width in found]
    assert [kind for kind, *_ in found] == ["fl", "fl", "hl", "hl", "fl"]
    assert widths[1] / widths[0] == pytest.approx(180 / 290, abs=0.01)
    assert widths[4] / widths[0] == pytest.approx(300 / 290, abs=0.01)
    assert len({y for _, _, y, _ in found}) == 3


def test_plotly_starts_each_bar_where_the_stretch_starts() -> None:
    data = plotly.figure(samples.GANTT)["data"]
    assert [trace["base"] for trace in data] == [[0.0, 0.0], [180.0, 0.0], [290.0]]
    assert [trace["x"] for trace in data] == [[290.0, 180.0], [110.0, 290.0], [300.0]]
    assert data[1]["idle"]


def test_the_table_tells_who_does_what_from_when_to_when() -> None:
    header, rows = table.rows(samples.GANTT)
    assert header == ["who", "what", "from, s", "to, s"]
    assert ["instance 2", "idle", "180", "290"] in rows
    assert [row[0] for row in rows] == ["instance 1", "instance 2", "instance 2", "trainer", "trainer"]


def test_hours_are_drawn_as_hours() -> None:
    chart = replace(
        samples.GANTT, x=Axis("time", "s", "h"), limits=(), traces=(Trace("train", ["a"], [None], [3600.0], [7200.0]),)
    )
    span = schedule_of(chart).activities[0].spans[0]
    assert (span.start, span.end) == (1.0, 2.0)


def test_a_stretch_without_an_end_is_left_out_and_nothing_at_all_is_an_empty_picture() -> None:
    chart = replace(
        samples.GANTT, limits=(), traces=(Trace("train", ["a", "b"], [None, None], [1.0, 5.0], [None, 4.0]),)
    )
    assert schedule_of(chart).activities[0].spans == ()
    assert "<svg" in svg.draw(chart)
    assert "<svg" in svg.mini(replace(chart, traces=()))
    assert plotly.figure(replace(chart, traces=()))["data"] == []

"""Time lines under one another: each moment says what the samples say, whatever run they are of."""

from __future__ import annotations

import re

from planner.charts.board import board, clock
from planner.core.result import Column, Series


def line(time_s, **columns):
    values = [Column(name, name, unit, list(figures)) for name, (unit, figures) in columns.items()]
    return Series("timeline", "", (Column("time_s", "time", "s", list(time_s)), *values))


def test_a_clock_counts_hours_and_seconds_of_long_runs_only():
    assert (clock(760), clock(3600), clock(90061)) == ("00:12:40", "01:00:00", "25:01:01")
    assert clock(12.5, of_s=3600) == "00:00:12"
    assert clock(12.5) == "12.5\u00a0s"


def test_each_moment_reads_as_its_sample():
    found = board({"": line([10, 20, 40], running=("requests", [1, None, 4000]))})
    (strip,) = found.strips
    assert strip.texts == (("1\u00a0request", "—", "4,000\u00a0requests"),)
    assert found.time_s == (10, 20, 40)
    assert found.xs == (250.0, 500.0, 1000.0)
    assert found.end == "40\u00a0s"


def test_a_path_is_broken_where_there_is_no_figure_and_stays_in_the_picture():
    found = board({"": line([1, 2, 3, 4], wait=("s", [0.25, 0.5, None, 1.5]))})
    (path,) = found.strips[0].paths
    assert path.count("M") == 2
    heights = [float(y) for y in re.findall(r" ([\d.]+)", path)]
    assert all(0 <= y <= 40 for y in heights)
    assert heights == sorted(heights, reverse=True), "more is higher"


def test_what_counts_something_is_drawn_in_steps():
    found = board({"": line([1, 2, 3], units_up=("units", [3, 2, 3]), share=("ratio", [0.5, 0.25, 0.75]))})
    up, share = (strip.paths[0] for strip in found.strips)
    assert "H" in up
    assert "L" in share


def test_runs_with_other_moments_or_columns_are_read_at_the_moments_of_the_longest():
    short = line([0, 2, 4], queued=("requests", [5, 6, 7]))
    long = line([1, 2, 3, 4, 5, 6], queued=("requests", [0, 0, 0, 9, 9, 9]), units_up=("units", [2] * 6))
    found = board({"A": short, "B": long})
    assert found.runs == ("A", "B")
    queued, up = found.strips
    assert [text.split("\u00a0")[0] for text in queued.texts[0]] == ["5", "6", "6", "7", "—", "—"]
    assert up.texts[0] == ()
    assert len(up.texts[1]) == 6


def test_long_lines_are_thinned_and_keep_their_end():
    found = board({"": line(range(1, 1002), queued=("requests", range(1001)))})
    assert len(found.time_s) <= 240
    assert found.time_s[-1] == 1001


def test_events_stand_where_they_happened_once():
    found = board({"": line([0, 100], queued=("requests", [0, 1]))}, events=[(75, "back"), (25, "lost"), (25, "lost")])
    assert [(moment.what, moment.x, moment.clock) for moment in found.moments] == [
        ("lost", 250.0, "00:00:25"),
        ("back", 750.0, "00:01:15"),
    ]


def test_a_table_that_is_no_line_over_time_is_not_drawn():
    gantt = Series("timeline", "", (Column("who", "who", "", ["a", "b"]), Column("to_s", "to", "s", [1, 2])))
    assert board({"": gantt}) is None
    assert board({"": line([5], queued=("requests", [1]))}) is None


def test_a_run_under_way_stops_before_the_edge():
    found = board({"": line([10, 20], queued=("requests", [0, 1]))}, end_s=80)
    assert found.xs == (125.0, 250.0)
    assert found.end == "20\u00a0s"


def test_moments_may_be_named_either_way():
    levels = Series("levels", "", (Column("at_s", "at", "s", [1, 2]), Column("running", "running", "", [3, 4])))
    assert board({"": levels}).time_s == (1, 2)

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from planner.charts import table
from planner.core.chart import Axis, Chart, Trace
from tests.charts import samples

IDS = [chart.name for chart in samples.EVERY_FORM]


def parsed(chart: Chart) -> list[list[str]]:
    return list(csv.reader(io.StringIO(table.csv(chart))))


@pytest.mark.parametrize(
    "chart", [chart for chart in samples.EVERY_FORM if not chart.twin], ids=lambda chart: chart.name
)
def test_the_twin_holds_every_figure_of_the_chart(chart: Chart) -> None:
    _, *body = parsed(chart)
    named = 2 if chart.form == "gantt" else int(isinstance(chart.traces[0].x[0], str))
    written = [float(cell) for row in body for cell in row[named:] if cell]
    scale = {
        "ttft": 1,
        "nodes": 1,
        "failure": 100,
        "memory": 1e-9,
        "front": 1,
        "ttft_cdf": 100,
        "tornado": 1,
        "agreement": 1,
        "skew": 1,
        "turns": 1,
    }[chart.name]
    for trace in (each for each in chart.traces if not each.guide):
        for column in (trace.y, trace.low or (), trace.high or ()):
            for value in column:
                assert value is None or any(cell == pytest.approx(value * scale) for cell in written), (
                    trace.name,
                    value,
                )


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=IDS)
def test_table_and_csv_have_the_same_rows(chart: Chart) -> None:
    header, rows = table.rows(chart)
    head, *body = parsed(chart)
    assert header == head
    assert len(rows) == len(body)
    assert all(len(row) == len(header) for row in rows)


def test_traces_with_other_abscissae_are_joined_in_order() -> None:
    header, rows = table.rows(samples.LINE)
    assert header == ["request rate, req/s", "estimate, s", "estimate, low, s", "estimate, high, s", "simulated, s"]
    assert [row[0] for row in rows][:2] == ["100", "110"]
    assert next(row for row in rows if row[0] == "200")[4] != "—"
    assert rows[0][4] == "—"


def test_parts_of_one_bar_are_rows() -> None:
    header, rows = table.rows(samples.STACKED)
    assert header == ["part", "memory, GB"]
    assert rows[0] == ["weights", "24.4"]


def test_bars_coloured_apart_are_one_column() -> None:
    header, rows = table.rows(samples.BARS)
    assert header == ["case", "of need, %"]
    assert rows == [
        ["all units up", "133\u00a0%"],
        ["one unit lost", "66.7\u00a0%"],
        ["3 units, one lost", "133\u00a0%"],
    ]


def test_the_csv_has_full_values_and_empty_fields() -> None:
    chart = Chart("c", "C", "", "bars", Axis("case"), Axis("share", "ratio"), (Trace("s", ["a", "b"], [1 / 3, None]),))
    assert parsed(chart) == [["case", "s, %"], ["a", "33.3333333333333"], ["b", ""]]


def test_a_spreadsheet_takes_no_text_for_a_formula() -> None:
    chart = replace(samples.BARS, traces=(Trace("s", ["=1+1", "+x", "@y", "-z", "fine"], [1.0, 2.0, 3.0, 4.0, 5.0]),))
    assert [row[0] for row in parsed(chart)[1:]] == ["'=1+1", "'+x", "'@y", "'-z", "fine"]


def test_a_table_of_its_own_stands_in_for_the_joined_traces() -> None:
    header, body = table.rows(samples.FRONT)
    assert header == ["TPOT, ms", "unit, GPUs"]
    assert body == [["26", "144"], ["47", "144"]]

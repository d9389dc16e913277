from __future__ import annotations

from dataclasses import replace

import pytest

from planner.charts import overlay, table
from planner.core.chart import Chart, Trace
from tests.charts import samples


def scaled(chart: Chart, factor: float) -> Chart:
    traces = tuple(replace(trace, y=[None if y is None else y * factor for y in trace.y]) for trace in chart.traces)
    return replace(chart, traces=traces)


def test_designs_take_hues_in_their_order() -> None:
    merged = overlay(
        {"A Reference": samples.LINE, "B N+1": scaled(samples.LINE, 0.8), "C EP72": scaled(samples.LINE, 1.2)}
    )
    assert [(trace.name, trace.order) for trace in merged.traces] == [("A Reference", 0), ("B N+1", 1), ("C EP72", 2)]
    assert [mark.label for mark in merged.marks] == ["A 1.86\u00a0s", "B 1.86\u00a0s", "C 1.86\u00a0s"]


def test_an_objective_shared_by_all_is_drawn_once() -> None:
    assert len(overlay({"A": samples.LINE, "B": samples.LINE}).limits) == 1


def test_three_intervals_would_hide_each_other() -> None:
    merged = overlay({"A": samples.LINE, "B": samples.LINE, "C": samples.LINE})
    assert [trace.low is not None for trace in merged.traces] == [True, False, False]


def test_bars_stand_side_by_side_with_the_same_figures() -> None:
    merged = overlay({"A Reference": samples.BARS, "B N+1": scaled(samples.BARS, 0.5)})
    header, rows = table.rows(merged)
    assert header == ["case", "A Reference, %", "B N+1, %"]
    assert rows[1] == ["one unit lost", "66.7\u00a0%", "33.3\u00a0%"]


def test_stacks_become_one_bar_a_design() -> None:
    other = replace(samples.STACKED, traces=(*samples.STACKED.traces[:2], Trace("adapters", ["GPU"], [3e9], order=3)))
    merged = overlay({"A Reference": samples.STACKED, "B N+1": other})
    assert merged.traces[0].x == ["A", "B"]
    assert next(trace for trace in merged.traces if trace.name == "adapters").y == [None, 3e9]
    assert next(trace for trace in merged.traces if trace.name == "KV to spare").idle


def test_nothing_cannot_be_laid_over_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        overlay({})

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from planner.charts import codec
from planner.core.chart import Chart, Trace
from tests.charts import samples


def as_lists(chart: Chart) -> object:
    return json.loads(json.dumps(asdict(chart)))


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=[chart.name for chart in samples.EVERY_FORM])
def test_a_chart_comes_back_as_it_went(chart: Chart) -> None:
    stored = json.loads(json.dumps(codec.to_dict(chart), allow_nan=False))
    again = codec.from_dict(stored)
    assert isinstance(again, Chart)
    assert as_lists(again) == as_lists(chart)


def test_a_diagram_comes_back_as_it_went() -> None:
    assert codec.from_dict(json.loads(json.dumps(codec.to_dict(samples.DIAGRAM)))) == samples.DIAGRAM


def test_arrays_become_lists_and_what_is_not_finite_becomes_null() -> None:
    chart = replace(samples.LINE, traces=(Trace("t", np.array([1, 2, 3]), np.array([1.5, math.nan, math.inf])),))
    trace = codec.to_dict(chart)["traces"][0]
    assert trace["x"] == [1, 2, 3]
    assert trace["y"] == [1.5, None, None]


def test_keys_of_a_later_version_are_left_out() -> None:
    stored = codec.to_dict(samples.BARS) | {"sparkle": True}
    assert as_lists(codec.chart_from_dict(stored)) == as_lists(samples.BARS)


@pytest.mark.parametrize("stored", [{}, {"traces": []}, {"x": 1, "y": 2, "traces": [], "name": "n"}])
def test_what_is_no_chart_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a chart"):
        codec.from_dict(stored)

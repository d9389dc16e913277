from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

from planner.charts import overlay, plotly
from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from tests.charts import samples

OURS = ("series", "band", "idle", "front", "hollow", "mark", "segment", "ring", "struck", "places")
OVERLAYS = [overlay({"A Reference": chart, "B N+1": chart}) for chart in samples.EVERY_FORM if chart.compare]
CHARTS = [*samples.EVERY_FORM, *OVERLAYS]


def without_ours(figure: dict[str, Any]) -> dict[str, Any]:
    """What is left for Plotly once plotly-theme.js has taken the keys it paints by."""
    data = [{key: value for key, value in trace.items() if key not in OURS} for trace in figure["data"]]
    notes = [{key: value for key, value in note.items() if key != "says"} for note in figure["layout"]["annotations"]]
    shapes = [{key: value for key, value in shape.items() if key != "missed"} for shape in figure["layout"]["shapes"]]
    return {"data": data, "layout": {**figure["layout"], "annotations": notes, "shapes": shapes}}


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: f"{chart.form}-{len(chart.traces)}")
def test_every_form_is_a_valid_figure_and_strict_json(chart: Chart) -> None:
    figure = plotly.figure(chart)
    json.dumps(figure, allow_nan=False)
    go.Figure(**without_ours(figure))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: f"{chart.form}-{len(chart.traces)}")
def test_a_figure_names_no_colour(chart: Chart) -> None:
    written = json.dumps(plotly.figure(chart))
    assert "color" not in written
    assert "rgb" not in written
    assert "#" not in written


def test_an_interval_is_a_closed_outline_that_does_not_hover() -> None:
    band, line = plotly.figure(samples.LINE)["data"][:2]
    assert band["band"] is True
    assert band["hoverinfo"] == "skip"
    assert band["x"][0] == band["x"][-1] == 100
    assert line["series"] == band["series"] == 0


def test_figures_are_in_the_unit_of_the_axis() -> None:
    figure = plotly.figure(samples.SCATTER)
    assert figure["data"][0]["x"][0] == 26
    assert figure["layout"]["shapes"][0]["x0"] == 50
    assert figure["layout"]["xaxis"]["title"]["text"] == "TPOT, ms"


def test_a_point_says_what_it_opens_and_a_verified_one_has_a_ring() -> None:
    figure = plotly.figure(samples.FRONT)
    strong, pale, front, *marks = figure["data"]
    assert figure["opens"] == "/designs/d/sweep/j/points/"
    assert (strong["places"], pale["places"], pale["idle"]) == ([0, 7], [1, 8], True)
    assert front["front"] is True
    assert sorted(key for mark in marks for key in ("ring", "hollow") if mark.get(key)) == ["hollow", "ring"]


def test_the_side_that_misses_a_limit_is_shaded_to_the_edge() -> None:
    figure = plotly.figure(samples.FRONT)
    side, line = figure["layout"]["shapes"]
    assert (side["missed"], side["x0"], side["x1"]) == (True, 50, figure["layout"]["xaxis"]["range"][1])
    assert line["x0"] == line["x1"] == 50


def test_bars_lie_and_carry_their_figures() -> None:
    first = plotly.figure(samples.BARS)["data"][0]
    assert (first["type"], first["orientation"], first["y"]) == ("bar", "h", ["all units up"])
    assert first["text"] == ["133\u00a0%"]


def test_parts_of_a_stack_sum_to_its_total() -> None:
    figure = plotly.figure(samples.STACKED)
    assert figure["layout"]["barmode"] == "stack"
    assert sum(trace["x"][0] for trace in figure["data"]) == pytest.approx(85.0)
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["85\u00a0GB"]


def test_a_tornado_starts_at_the_answer() -> None:
    low, high = plotly.figure(samples.TORNADO)["data"]
    assert low["base"] == [0.756] * 3
    assert low["x"][0] == pytest.approx(0.567 - 0.756)
    assert high["x"][0] == pytest.approx(1.13 - 0.756)


def test_steps_hold_until_the_next_abscissa() -> None:
    assert plotly.figure(samples.STEP)["data"][0]["line"] == {"shape": "hv"}


def test_the_front_of_a_scatter_is_a_neutral_stepped_line() -> None:
    front = plotly.figure(samples.SCATTER)["data"][3]
    assert (front["front"], front["mode"], front["line"]["shape"]) == (True, "lines", "hv")


def test_a_guide_is_straight_and_silent_and_points_say_what_they_are() -> None:
    figure = plotly.figure(samples.CLOUD)
    band, guide, crowd, few, others = figure["data"]
    assert band["band"] is True
    assert (guide["mode"], guide["series"], guide["front"], guide["hoverinfo"]) == ("lines", -1, False, "skip")
    assert "line" not in guide
    assert (crowd["text"][0], len(crowd["text"]), crowd["marker"]["size"]) == ("row 0", 90, 5)
    assert crowd["hovertemplate"].startswith("%{text}")
    assert (few["text"], few["marker"]["size"]) == (["a", "b &lt;i&gt;"], 5)
    assert (others["series"], others["name"], others["text"]) == (-1, "others", ["c"])
    assert "showlegend" not in others
    assert figure["layout"]["showlegend"] is True


def test_a_limit_on_a_log_axis_stands_at_its_value_and_its_label_at_the_exponent() -> None:
    chart = Chart(
        "log",
        "Log",
        "",
        "line",
        Axis("n"),
        Axis("rate", log=True),
        (Trace("", [1, 2], [10.0, 1000.0]),),
        limits=(Limit(100, "need"),),
    )
    layout = plotly.figure(chart)["layout"]
    assert layout["shapes"][0]["y0"] == 100
    assert next(note for note in layout["annotations"] if note["text"] == "need")["y"] == pytest.approx(2)
    assert layout["yaxis"]["range"] == pytest.approx([1, 3])


def test_marks_fan_out_and_stand_at_exponents_on_a_log_axis() -> None:
    chart = replace(
        samples.LINE, marks=tuple(Mark(500, y, f"{y}") for y in (0.5, 2.0, 1.0)), y=Axis("TTFT", "s", "s", log=True)
    )
    labels = [note for note in plotly.figure(chart)["layout"]["annotations"] if note["says"] == "mark"]
    assert [note["text"] for note in labels] == ["2.0", "1.0", "0.5"]
    assert [note["yanchor"] for note in labels] == ["bottom", "middle", "top"]
    assert labels[1]["y"] == pytest.approx(0)


def test_texts_are_words_not_markup() -> None:
    hostile = "<a href='javascript:alert(1)'>x</a>"
    chart = replace(samples.BARS, traces=(Trace(hostile, [hostile, "b"], [1.0, 2.0]),), limits=(Limit(1.0, hostile),))
    figure = plotly.figure(chart)
    assert "<a" not in json.dumps(figure)
    assert figure["data"][0]["y"][0] == figure["layout"]["yaxis"]["categoryarray"][0]


PRINTED = (samples.BARS, samples.STACKED, samples.TORNADO, OVERLAYS[2])


@pytest.mark.parametrize("chart", [*samples.EVERY_FORM, OVERLAYS[2], OVERLAYS[3]])
def test_plotly_is_fetched_only_where_hovering_tells_more(chart: Chart) -> None:
    assert plotly.adds_to(chart) is (chart not in PRINTED)


def test_labels_stand_clear_of_the_line_they_belong_to() -> None:
    falling = Trace("a", [0.0, 1.0, 2.0, 3.0, 4.0], [8.0, 6.0, 4.0, 2.0, 1.0])
    chart = Chart("c", "c", "", "line", Axis("x"), Axis("y"), (falling,), marks=(Mark(2.0, 4.0, "here"),))
    (label,) = [note for note in plotly.figure(chart)["layout"]["annotations"] if note.get("says") == "mark"]
    assert (label["xanchor"], label["yanchor"]) == ("right", "top")
    limited = replace(chart, limits=(Limit(5.0, "limit"),), marks=())
    (label,) = [note for note in plotly.figure(limited)["layout"]["annotations"] if note.get("says") == "limit"]
    assert label["xanchor"] == "right"
    rising = replace(limited, traces=(replace(falling, y=[1.0, 2.0, 4.0, 6.0, 8.0]),))
    (label,) = [note for note in plotly.figure(rising)["layout"]["annotations"] if note.get("says") == "limit"]
    assert label["xanchor"] == "left"

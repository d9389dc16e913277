from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from planner.charts import overlay, plotly, svg, table
from planner.charts.drawing.labels import Area, area
from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.result import Metric, MetricDef
from tests.charts import samples

HOSTILE = '"><script>alert(1)</script>&\'<b style="x">'
IDS = [chart.name for chart in samples.EVERY_FORM]


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 - our own SVG


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in parsed(picture).iter("text")]


@pytest.mark.parametrize("width", [svg.WIDE, svg.NARROW, 640])
@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=IDS)
def test_every_form_draws_well_formed_svg_inside_its_box(chart: Chart, width: float) -> None:
    root = parsed(svg.draw(chart, width=width))
    left, top, wide, high = (float(part) for part in root.attrib["viewBox"].split())
    assert (left, top, wide) == (0, 0, width)
    assert root.attrib["aria-label"] == chart.summary
    for element in root.iter():
        for name, bound in (("x", wide), ("y", high), ("cx", wide), ("cy", high)):
            if name in element.attrib:
                assert -0.1 <= float(element.attrib[name]) <= bound + 0.1, element.attrib


@pytest.mark.parametrize("width", [svg.WIDE, svg.NARROW])
@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=IDS)
def test_no_text_covers_another_or_leaves_the_picture(chart: Chart, width: float) -> None:
    root = parsed(svg.draw(chart, width=width))
    places = [
        (
            e.text or "",
            (float(e.attrib["x"]), float(e.attrib["y"]), e.attrib["text-anchor"]),
            "b" in e.get("class", "").split(),
        )
        for e in root.iter("text")
    ]
    padded = [(text, area(text, place, bold=bold)) for text, place, bold in places]
    areas = [(text, Area(a.left + 2, a.top + 1, a.right - 2, a.bottom - 1)) for text, a in padded]
    for index, (text, here) in enumerate(areas):
        assert here.left >= -1, text
        assert here.right <= width + 1, text
        for other, there in areas[index + 1 :]:
            assert not here.overlaps(there), f"{text!r} covers {other!r}"


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=IDS)
def test_a_picture_carries_nothing_the_csp_would_block(chart: Chart) -> None:
    for picture in (svg.draw(chart), svg.mini(chart), svg.diagram(samples.DIAGRAM)):
        assert not re.search(r"\sstyle=|\son\w+=|<script|\sid=", picture)


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=IDS)
def test_every_text_is_escaped(chart: Chart) -> None:
    traces = tuple(
        replace(trace, name=HOSTILE, x=[f"{x}{HOSTILE}" if isinstance(x, str) else x for x in trace.x])
        for trace in chart.traces
    )
    hostile = replace(
        chart,
        title=HOSTILE,
        summary=HOSTILE,
        traces=traces,
        x=replace(chart.x, label=HOSTILE),
        y=replace(chart.y, label=HOSTILE),
        limits=tuple(replace(limit, label=HOSTILE) for limit in chart.limits),
        marks=tuple(replace(mark, label=HOSTILE) for mark in chart.marks),
    )
    for picture in (svg.draw(hostile), svg.mini(hostile)):
        assert not {element.tag for element in parsed(picture).iter()} & {"script", "b"}
        assert "<script" not in picture


def test_a_diagram_escapes_too_and_ignores_flows_to_nowhere() -> None:
    boxes = (Box("a", HOSTILE, (HOSTILE,)), Box("b", "b", rank=1, form="store"))
    hostile = Diagram(HOSTILE, boxes, (Flow("a", "b", HOSTILE), Flow("a", "gone", "lost"), Flow("a", "a", "self")))
    for vertical in (False, True):
        picture = svg.diagram(hostile, vertical=vertical)
        parsed(picture)
        assert "<script" not in picture
        assert "lost" not in picture


@pytest.mark.parametrize("vertical", [False, True])
def test_a_diagram_names_every_box_and_every_flow_once(vertical: bool) -> None:
    said = " ".join(texts(svg.diagram(samples.DIAGRAM, vertical=vertical)))
    for box in samples.DIAGRAM.boxes:
        assert box.title in said
    for flow in samples.DIAGRAM.flows:
        assert flow.label.split()[0] in said


@pytest.mark.parametrize("vertical", [False, True])
def test_boxes_of_a_diagram_stand_apart(vertical: bool) -> None:
    root = parsed(svg.diagram(samples.DIAGRAM, vertical=vertical))
    boxes = [[float(e.attrib[name]) for name in ("x", "y", "width", "height")] for e in root.iter("rect")]
    assert len(boxes) == 4  # the store is a drum, drawn as a path
    for index, (x, y, wide, high) in enumerate(boxes):
        for x1, y1, wide1, high1 in boxes[index + 1 :]:
            assert x + wide <= x1 or x1 + wide1 <= x or y + high <= y1 or y1 + high1 <= y


def test_bars_keep_the_ratio_of_their_figures() -> None:
    root = parsed(svg.draw(samples.BARS))
    full, failed, _variant = (float(rect.attrib["width"]) for rect in root.iter("rect"))
    assert failed / full == pytest.approx(0.5, abs=0.002)
    assert texts(svg.draw(samples.BARS))[:3] == ["all units up", "one unit lost", "3 units, one lost"]
    assert "133\u00a0%" in texts(svg.draw(samples.BARS))


def test_parts_of_a_bar_fill_it_and_say_their_sum() -> None:
    root = parsed(svg.draw(samples.STACKED))
    parts = [rect for rect in root.iter("rect") if rect.attrib["height"] == "30"]
    assert sum(float(rect.attrib["width"]) + 1.5 for rect in parts) == pytest.approx(470, abs=1)
    assert "85\u00a0GB" in texts(svg.draw(samples.STACKED))


def test_bought_but_idle_is_a_tint() -> None:
    assert svg.draw(samples.BARS).count('class="hl c1"') == 1


def test_a_limit_beyond_the_picture_is_named_with_an_arrow() -> None:
    chart = replace(samples.STEP, limits=(Limit(5000, "budget"),), marks=())
    assert "↑ budget" in texts(svg.draw(chart))


def test_a_curve_that_leaves_its_limit_behind_is_cut_off() -> None:
    steep = replace(
        samples.LINE, traces=(Trace("", [1, 2, 3], [1.0, 1.5, 4000.0]),), marks=(), limits=(Limit(2.0, "2 s"),)
    )
    assert "4" in texts(svg.draw(steep))
    assert "4,000" not in texts(svg.draw(steep))


@pytest.mark.parametrize(
    "traces",
    [
        (),
        (Trace("nothing", [], []),),
        (Trace("unknown", [1, 2], [None, None]),),
        (Trace("not finite", [1, 2], [math.nan, math.inf]),),
        (Trace("one point", [3], [5.0]),),
        (Trace("flat", [1, 2], [0.0, 0.0]),),
        (Trace("negative", [1, 2], [-3.0, 4.0]),),
    ],
    ids=["none", "empty", "unknown", "not finite", "one", "flat", "negative"],
)
@pytest.mark.parametrize("form", ["line", "step", "bars", "stacked", "scatter", "cdf"])
def test_sparse_data_draws_without_fail(form: str, traces: tuple[Trace, ...]) -> None:
    chart = Chart("sparse", "Sparse", "", form, Axis("x"), Axis("y"), traces)  # type: ignore[arg-type]
    for picture in (svg.draw(chart), svg.mini(chart)):
        parsed(picture)
        assert "nan" not in picture
        assert "inf" not in picture
    json.dumps([plotly.figure(chart), table.rows(chart)], allow_nan=False)


def test_points_are_links_with_names_and_the_picture_is_no_single_image() -> None:
    root = parsed(svg.draw(samples.FRONT))
    links = {link.attrib["href"]: link.attrib["aria-label"] for link in root.iter("a")}
    assert root.attrib["role"] == "group"
    assert links == {
        "/designs/d/sweep/j/points/0/": "batch 24",
        "/designs/d/sweep/j/points/7/": "batch 56",
        "/designs/d/sweep/j/points/1/": "batch 30",
        "/designs/d/sweep/j/points/8/": "batch 64",
    }
    assert parsed(svg.draw(samples.SCATTER)).attrib["role"] == "img"


def test_a_verified_point_is_ringed_and_what_misses_a_limit_is_shaded() -> None:
    kinds = [element.get("class", "") for element in parsed(svg.draw(samples.FRONT)).iter()]
    assert sum(kind.startswith("ring") for kind in kinds) == 1
    struck = replace(samples.FRONT, marks=tuple(replace(mark, look="struck") for mark in samples.FRONT.marks[:1]))
    assert [element.tag for element in parsed(svg.draw(struck)).iter() if "ring" in element.get("class", "")] == [
        "circle",
        "path",
        "path",
    ]
    assert kinds.count("no") == 1
    assert "no" not in [element.get("class", "") for element in parsed(svg.draw(samples.SCATTER)).iter()]


def test_many_pale_points_become_dots_and_the_front_stays_large() -> None:
    cloud = [0.03 + place * 2e-4 for place in range(100)]
    pale = Trace("", cloud, [1.4] * 100, idle=True, places=list(range(100)))
    root = parsed(svg.draw(replace(samples.FRONT, traces=(*samples.FRONT.traces, pale))))
    assert sum(element.get("class", "").startswith("dots") for element in root.iter()) == 2
    assert len([*root.iter("a")]) == 2


def test_log_axes_say_so_and_leave_out_what_has_no_place() -> None:
    chart = Chart(
        "log",
        "Log",
        "",
        "line",
        Axis("n", log=True),
        Axis("rate", "tok/s", log=True),
        (Trace("", [0, 1, 10, 100], [0, 1e2, 1e4, 1e6]),),
    )
    said = texts(svg.draw(chart))
    assert "rate, tok/s, log scale" in said
    assert "10\u00a0k" in said
    assert "1\u00a0M" in said


def test_a_long_curve_is_thinned_to_what_a_screen_shows() -> None:
    xs = [index / 50 for index in range(50_000)]
    chart = replace(samples.LINE, traces=(Trace("", xs, [math.sin(x) + 2 for x in xs]),), marks=(), limits=())
    assert len(svg.draw(chart)) < 60_000


def test_many_points_are_a_path_of_dots_a_series_and_few_are_markers() -> None:
    picture = svg.draw(samples.CLOUD)
    dots = [e.get("d", "").count("h0") for e in parsed(picture).iter("path") if "dots" in e.get("class", "").split()]
    assert dots == [90, 2, 1]
    few = replace(samples.CLOUD, traces=samples.CLOUD.traces[2:])
    markers = [e for e in parsed(svg.draw(few)).iter() if "pt" in e.get("class", "").split()]
    in_picture, in_legend = 3, 2
    assert len(markers) == in_picture + in_legend


def test_a_guide_is_a_straight_line_with_its_band_and_no_entry_of_legend_or_table() -> None:
    picture = svg.draw(samples.CLOUD)
    (line,) = [e for e in parsed(picture).iter("path") if e.get("class") == "ln c0"]
    assert line.get("d", "").count("L") == 1
    assert [e for e in parsed(picture).iter("path") if e.get("class") == "bd c0"]
    assert "equal" not in texts(picture)
    assert table.rows(samples.CLOUD)[0] == ["measured, ms", "vLLM, ms", "SGLang, ms", "others, ms"]


def test_overlays_draw_each_design_in_its_own_hue_and_dash() -> None:
    picture = svg.draw(overlay({"A Reference": samples.CDF, "B N+1": samples.CDF}))
    assert 'class="ln c1"' in picture
    assert 'class="ln c2" stroke-dasharray="7 4"' in picture


def test_categories_on_a_line_stand_under_it() -> None:
    hours = [f"{hour:02d}:00" for hour in range(24)]
    chart = Chart(
        "day",
        "Day",
        "",
        "line",
        Axis("hour"),
        Axis("rate", "req/s"),
        (Trace("", hours, [float(h) for h in range(24)]),),
    )
    assert "00:00" in texts(svg.draw(chart))


def test_the_strip_shows_the_figure_its_range_and_its_middle() -> None:
    picture = svg.range_strip(
        0.756, low=0.661, high=0.858, unit="USD/M tokens", middle=0.742, label="assumed", band_label="derived, 80 %"
    )
    assert "$0.756 assumed" in texts(picture)
    assert "derived, 80 %" in texts(picture)
    assert "<circle" in picture
    assert "between $0.661/M tokens and $0.858/M tokens" in picture


def test_a_metric_without_a_range_has_no_strip() -> None:
    definition = MetricDef("nodes", "Nodes", "nodes")
    assert svg.range_strip_of(Metric(definition, 68)) == ""
    assert svg.range_strip_of(Metric(definition, 68, low=60, high=80)).startswith("<svg")


def test_a_strip_of_nothing_is_a_dash() -> None:
    assert texts(svg.range_strip(None, low=None, high=None, unit="s")) == ["—"]


@pytest.mark.parametrize("order", range(6))
def test_each_design_has_its_own_marker(order: int) -> None:
    assert f"c{order + 1}" in svg.key(order)
    assert len({svg.key(each).replace(f"c{each + 1}", "") for each in range(6)}) == 6


def test_a_mark_stands_where_its_figures_say() -> None:
    chart = Chart(
        "m",
        "M",
        "",
        "line",
        Axis("x"),
        Axis("y"),
        (Trace("", [0, 100], [0.0, 10.0]),),
        marks=(Mark(50, 5, "half way"),),
    )
    root = parsed(svg.draw(chart))
    circle = next(root.iter("circle"))
    line = next(e for e in root.iter("path") if e.attrib["class"] == "ln c1").attrib["d"]
    (x0, y0), (x1, y1) = ((float(a), float(b)) for a, b in re.findall(r"([\d.]+) ([\d.]+)", line))
    assert float(circle.attrib["cx"]) == pytest.approx((x0 + x1) / 2, abs=0.2)
    assert float(circle.attrib["cy"]) == pytest.approx((y0 + y1) / 2, abs=0.2)


def test_shades_of_a_heat_map_follow_the_figures_on_a_log_axis_too() -> None:
    traces = (Trace("a", [1, 2, 3], [1.0, 10.0, 100.0]), Trace("b", [1, 2, 3], [1.0, None, 0.0]))
    plain = replace(samples.HEAT, traces=traces)
    shades = {
        log: re.findall(r'fill-opacity="([\d.]+)"', svg.draw(replace(plain, y=replace(plain.y, log=log))))[12:]
        for log in (False, True)
    }
    assert shades[False] == ["0.08", "0.17", "1.00", "0.08", "0.08"]
    assert shades[True] == ["0.08", "0.58", "1.00", "0.08", "0.08"]


def test_a_long_label_between_two_lanes_stands_free_of_both_boxes() -> None:
    label = "3.44/s swaps, 12.3 ms each"
    boxes = (
        Box("a", "Above", rank=1),
        Box("b", "Below", rank=1, lane=1),
        *(Box(f"{n}", f"{n}", rank=n) for n in (0, 2, 3)),
    )
    root = parsed(svg.diagram(Diagram("t", boxes, (Flow("b", "a", label),))))
    texts = [(element.text or "", float(element.attrib["y"])) for element in root.iter("text")]
    words = [y for text, y in texts if text and text in label]
    rects = sorted(
        (float(r.attrib["y"]), float(r.attrib["height"]))
        for r in root.iter("rect")
        if r.attrib["x"] == _x_of(root, "Above")
    )
    (above, height), (below, _) = rects
    assert len(words) > 1
    assert above + height < min(words) - 9
    assert max(words) < below


def _x_of(root: ElementTree.Element, title: str) -> str:
    """The left edge of the box with this title."""
    middle = next(float(text.attrib["x"]) for text in root.iter("text") if text.text == title)
    inside = [
        r for r in root.iter("rect") if float(r.attrib["x"]) < middle < float(r.attrib["x"]) + float(r.attrib["width"])
    ]
    return inside[0].attrib["x"]

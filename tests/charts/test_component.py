from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.template import engines

from planner.charts import codec
from planner.core.chart import Axis, Chart, Trace
from tests.charts import samples


def render(source: str, **context: Any) -> str:
    return str(engines["django"].from_string("{% load charts %}" + source).render(context))


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=[chart.name for chart in samples.EVERY_FORM])
def test_a_stored_chart_and_a_fresh_one_look_alike(chart: Chart) -> None:
    fresh = render("{% chart c %}", c=chart)
    assert render('{% include "components/chart.html" with chart=c %}', c=codec.to_dict(chart)) == fresh
    assert 'class="wide"' in fresh
    assert 'class="narrow"' in fresh
    assert fresh.count("<tr>") > 1
    assert chart.title in fresh


def test_the_data_block_is_strict_json_that_cannot_end_its_script() -> None:
    hostile = "</script><script>alert(1)</script>"
    chart = replace(samples.LINE, title=hostile, traces=(Trace(hostile, [1, 2], [1.0, 2.0]),))
    page = render("{% chart c %}", c=chart)
    assert "alert(1)</script>" not in page.replace("&lt;/script&gt;", "")
    block = re.search(r'<script id="plot-ttft" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    assert json.loads(block[1])["data"]


def test_a_page_needs_no_inline_style_handler_or_script() -> None:
    page = render("{% chart c %}{% diagram d %}{% mini c %}", c=samples.SCATTER, d=samples.DIAGRAM)
    assert not re.search(r'\sstyle=|\son\w+="', page)
    assert re.findall(r"<script(?![^>]*application/json)", page) == []


def test_bars_that_carry_their_figures_load_no_plotly() -> None:
    assert "data-plot" not in render("{% chart c %}", c=samples.BARS)
    assert "data-plot" in render("{% chart c %}", c=samples.LINE)


def test_two_charts_of_one_name_keep_their_own_data() -> None:
    page = render("{% chart c key='a' %}{% chart c key='b' %}", c=samples.LINE)
    assert 'id="plot-a-ttft"' in page
    assert 'data-plot="plot-b-ttft"' in page


def test_a_cell_shows_three_digits_and_holds_them_all() -> None:
    chart = Chart("c", "C", "", "bars", Axis("case"), Axis("share", "ratio"), (Trace("s", ["a"], [1 / 3]),))
    assert '<td title="33.3333333333333" data-full="33.3333333333333">33.3\u00a0%</td>' in render(
        "{% chart c %}", c=chart
    )


def test_no_cell_of_the_table_can_open_a_tag() -> None:
    hostile = '<img src=x onerror=alert(1)> & "more"'
    chart = replace(samples.BARS, traces=(Trace("s", [hostile], [1.0]),), limits=())
    page = render("{% chart c %}", c=chart)
    assert "<img" not in page
    assert '<th scope="row">&lt;img src=x onerror=alert(1)&gt; &amp; &quot;more&quot;</th>' in page


def test_a_long_table_is_thinned_on_the_page_and_says_so() -> None:
    chart = replace(samples.LINE, traces=(Trace("t", list(range(1000)), [1.0] * 1000),), marks=())
    page = render("{% chart c %}", c=chart)
    assert page.count("<tr>") < 130
    assert "of 1000 rows" in page


def test_a_csv_address_becomes_a_link() -> None:
    assert '<a href="/d/ttft.csv" download>CSV</a>' in render("{% chart c csv_url='/d/ttft.csv' %}", c=samples.LINE)


def test_a_diagram_is_told_as_a_list_too() -> None:
    page = render("{% diagram d %}", d=codec.to_dict(samples.DIAGRAM))
    assert "<li>Requests → Gateway: 500 req/s</li>" in page


def test_a_row_without_a_range_has_no_strip() -> None:
    row = {"value": 0.756, "low": 0.661, "high": 0.858, "unit": "USD/M tokens"}
    assert "<svg" in render("{% range_strip row %}", row=row)
    assert render("{% range_strip row %}", row={"value": 68, "unit": "nodes"}) == ""

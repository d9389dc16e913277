from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from planner.charts import paper
from planner.core.chart import Chart
from tests.charts import samples


@pytest.mark.parametrize("chart", samples.EVERY_FORM, ids=[chart.name for chart in samples.EVERY_FORM])
def test_a_printed_chart_stands_alone(chart: Chart) -> None:
    """No class and no variable is left for a sheet to fill in, and every shape has its paint."""
    picture = paper.draw(chart).decode()
    root = ElementTree.fromstring(picture)  # noqa: S314 - our own SVG
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"class=|var\(", picture)
    for element in root.iter():
        if element.tag.split("}")[1] in ("path", "rect", "circle", "text"):
            assert {"fill", "stroke"} & set(element.attrib), element.attrib


def test_a_printed_diagram_stands_alone() -> None:
    picture = paper.diagram(samples.DIAGRAM).decode()
    assert not re.search(r"class=|var\(", picture)


def test_what_a_text_says_is_not_taken_for_a_class() -> None:
    chart = samples.BARS
    hostile = Chart(
        chart.name, 'x class="fl c1"', "", chart.form, chart.x, chart.y, chart.traces, summary=' class="lim" '
    )
    assert "&quot;lim&quot;" in paper.draw(hostile).decode()

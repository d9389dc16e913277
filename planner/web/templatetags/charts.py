"""Charts and diagrams on a page: server SVG first, Plotly over it, and the table twin below."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from planner.charts import codec, plotly, svg, table
from planner.charts.plane import ON_A_PLANE, plane_of
from planner.core.chart import Chart
from planner.core.diagram import Diagram

register = template.Library()

MOST_ROWS = 120


@register.inclusion_tag("components/chart.html", name="chart")
def chart_tag(chart: Chart | Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """`{% chart c %}`: the component; options as `figure_of`, and ``csv_url``, ``bare`` (no panel) and ``level``."""
    return {"chart": chart, **options}


@register.inclusion_tag("components/diagram.html", name="diagram")
def diagram_tag(diagram: Diagram | Mapping[str, Any]) -> dict[str, Any]:
    """`{% diagram d %}`: the component."""
    return {"diagram": diagram}


@register.simple_tag
def figure_of(chart: Chart | Mapping[str, Any], width: int = 0, key: str | int = "") -> dict[str, Any]:
    """All parts of a chart: pictures, data block and table. ``key`` tells charts of one name apart on a page."""
    found = chart if isinstance(chart, Chart) else codec.chart_from_dict(chart)
    name = "-".join(part for part in ("plot", str(key), found.name) if part)
    twin = table.cells(found, at_most=MOST_ROWS)
    plane = plane_of(found) if found.form in ON_A_PLANE else None
    return {
        "chart": found,
        "id": name,
        "wide": _trusted(svg.draw(found, width=width or svg.WIDE, plane=plane)),
        "narrow": _trusted(svg.draw(found, width=svg.NARROW, plane=plane)),
        "plot": _data_block(plotly.figure(found, plane=plane), name) if plotly.adds_to(found) else "",
        "header": twin.header,
        "rows": _rows(twin.body),
        "skipped": twin.total if twin.stride > 1 else 0,
        "stride": twin.stride,
        "summary": found.summary or found.title,
    }


@register.simple_tag
def picture_of(diagram: Diagram | Mapping[str, Any]) -> dict[str, Any]:
    """Both pictures of a diagram, and its flows as a list for those who do not see it."""
    found = diagram if isinstance(diagram, Diagram) else codec.diagram_from_dict(diagram)
    titles = {box.name: box.title for box in found.boxes}
    flows = [
        {
            "source": titles.get(flow.source, flow.source),
            "target": titles.get(flow.target, flow.target),
            "label": flow.label,
        }
        for flow in found.flows
    ]
    return {
        "diagram": found,
        "wide": _trusted(svg.diagram(found)),
        "narrow": _trusted(svg.diagram(found, vertical=True)),
        "flows": flows,
    }


@register.simple_tag
def mini(chart: Chart | Mapping[str, Any]) -> SafeString:
    """`{% mini c %}`: the picture of a card."""
    return _trusted(svg.mini(chart if isinstance(chart, Chart) else codec.chart_from_dict(chart)))


@register.simple_tag
def range_strip(row: Mapping[str, Any], band_label: str = "80 %") -> SafeString:
    """`{% range_strip view.answer.figure %}`: a metric row against its range; nothing where it has none."""
    value, low, high = (row.get(name) for name in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return SafeString("")
    return _trusted(svg.range_strip(value, low=low, high=high, unit=row["unit"], band_label=band_label))


@register.simple_tag
def chart_key(order: int, size: int = 14) -> SafeString:
    """`{% chart_key 0 %}`: the marker of a design, the same as in the charts."""
    return _trusted(svg.key(order, size=size))


def _data_block(figure: Mapping[str, Any], name: str) -> SafeString:
    return json_script(figure, name, encoder=_Strict)


def _trusted(picture: str) -> SafeString:
    """Markup of `planner.charts.svg` and of this file, which escape every text they are given."""
    return mark_safe(picture)  # noqa: S308


class _Strict(json.JSONEncoder):
    """What is not strict JSON must fail here, not in the browser."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_nan": False, "separators": (",", ":")})


def _rows(body: Sequence[Sequence[tuple[str, str]]]) -> SafeString:
    """Rows of the table twin, in one go: there are hundreds of cells on a page, too many for a template each."""
    written = []
    for first, *rest in body:
        written += ["<tr>", _cell(*first, opening='<th scope="row"', closing="</th>")]
        written += [_cell(*cell) for cell in rest]
        written.append("</tr>")
    return _trusted("".join(written))


def _cell(shown: str, full: str, *, opening: str = "<td", closing: str = "</td>") -> str:
    """The figure as read, and in full on hover and in the CSV."""
    if full == shown:
        return f"{opening}>{escape(shown)}{closing}"
    written = escape(full)
    return f'{opening} title="{written}" data-full="{written}">{escape(shown)}{closing}'

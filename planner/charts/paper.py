"""Charts for paper: the SVG of the page with its light colours written out, for renderers without our sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner.charts import svg
from planner.core.chart import Chart
from planner.core.diagram import Diagram

HALF = 372.0
FULL = 660.0
DIAGRAM = 790.0
FAMILY = "Source Sans 3, Noto Sans SC, Noto Sans CJK SC"

_HUES = {
    "c0": "#808b87",
    "c1": "#1952af",
    "c2": "#d95a0e",
    "c3": "#138f5a",
    "c4": "#70155f",
    "c5": "#5f480a",
    "c6": "#65696c",
}
_INK = {
    "--chart-ink": "#16201f",
    "--chart-muted": "#5a6663",
    "--chart-axis": "#808b87",
    "--chart-grid": "#e3e7e5",
    "--chart-limit": "#ae2219",
    "--chart-ground": "#ffffff",
}
_LINES = {
    "grid": f'stroke="{_INK["--chart-grid"]}"',
    "axis": f'stroke="{_INK["--chart-axis"]}"',
    "ref": f'stroke="{_INK["--chart-ink"]}" stroke-dasharray="1 3" fill="none"',
    "ring": f'stroke="{_INK["--chart-ink"]}" stroke-width="1.3" fill="none"',
    "no": f'fill="{_INK["--chart-limit"]}" opacity="0.06"',
    "hit": 'fill="none"',
    "lim": f'stroke="{_INK["--chart-limit"]}" stroke-width="1.5" stroke-dasharray="2 3" fill="none"',
}
_CLASS = re.compile(r'<(\w+)((?:(?! class=)[^>])*) class="([^"]*)"')


def draw(chart: Chart, *, width: float = HALF) -> bytes:
    """Draw a chart as an SVG file of its own."""
    return _standalone(svg.draw(chart, width=width))


def diagram(diagram: Diagram, *, width: float = DIAGRAM) -> bytes:
    """Draw a diagram as an SVG file of its own."""
    return _standalone(svg.diagram(diagram, width=width))


def key(order: int) -> bytes:
    """Draw the marker of a design as an SVG file of its own."""
    return _standalone(svg.key(order))


def _standalone(picture: str) -> bytes:
    painted = _CLASS.sub(lambda match: f"<{match[1]}{match[2]} {_look(match[1], match[3].split())}", picture)
    painted = re.sub(r"<text (?![^>]*fill=)", f'<text fill="{_INK["--chart-muted"]}" ', painted)
    for name, colour in _INK.items():
        painted = painted.replace(f"var({name})", colour)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FAMILY}" font-size="12.5" '
    return painted.replace("<svg ", head, 1).encode()


def _look(element: str, kinds: Sequence[str]) -> str:
    if element == "text":
        return _text(kinds)
    colour = next((_HUES[kind] for kind in kinds if kind in _HUES), _HUES["c0"])
    if "ln" in kinds:
        return f'fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"'
    if "dots" in kinds:
        return f'fill="none" stroke="{colour}" stroke-width="4" stroke-linecap="round" opacity="0.55"'
    if "fl" in kinds:
        return f'fill="{colour}"'
    if "bd" in kinds:
        return f'fill="{colour}" opacity="0.16"'
    if "hl" in kinds:
        return f'fill="{colour}" opacity="0.42"'
    if "pt" in kinds:
        ground = _INK["--chart-ground"]
        inside, edge, width = (ground, colour, "2") if "o" in kinds else (colour, ground, "1.5")
        return f'fill="{inside}" stroke="{edge}" stroke-width="{width}"'
    return next((_LINES[kind] for kind in kinds if kind in _LINES), "")


def _text(kinds: Sequence[str]) -> str:
    strong = _INK["--chart-limit"] if "lim" in kinds else _INK["--chart-ink"]
    fill = strong if {"lim", "b", "i"} & set(kinds) else _INK["--chart-muted"]
    weight = ' font-weight="600"' if "b" in kinds else ""
    ground = _INK["--chart-ground"]
    edge = f'stroke="{ground}" stroke-width="4" stroke-linejoin="round"'
    halo = f' paint-order="stroke" {edge}' if "halo" in kinds else ""
    return f'fill="{fill}"{weight}{halo}'

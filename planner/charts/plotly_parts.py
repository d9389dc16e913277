"""What every Plotly figure of ours is made with: plain texts, ranges and limits."""

from __future__ import annotations

from typing import Any

from planner.charts.scale import Scale

LEGEND_ROW_PX = 24


def plain(text: str) -> str:
    """Plotly reads a little HTML in texts; ours are words."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis_range(ends: tuple[float, float], *, log: bool) -> dict[str, Any]:
    if not log:
        return {"range": list(ends)}
    scale = Scale(*ends, 0, 1, log=True)
    return {"type": "log", "range": [scale.exponent(end) for end in ends]}


def upright(value: float) -> dict[str, Any]:
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "xref": "x", "x0": value, "x1": value}


def place_on(value: float, ends: tuple[float, float], *, log: bool) -> float:
    """Where an annotation stands: on a log axis it takes the exponent, unlike a shape, which takes the value."""
    return Scale(*ends, 0, 1, log=True).exponent(value) if log else value

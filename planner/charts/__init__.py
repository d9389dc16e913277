"""Neutral figures drawn: `plotly` and `svg` for the page, `paper` for the report, `table` for the twin."""

from __future__ import annotations

from planner.charts.overlay import overlay

__all__ = ["overlay"]

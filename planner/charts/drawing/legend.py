"""The row of markers and names above a picture."""

from __future__ import annotations

from collections.abc import Sequence

from planner.charts.drawing.canvas import Canvas
from planner.charts.drawing.type import width as text_width

LEGEND_ROW = 18.0


def legend_rows(names: Sequence[str], width: float) -> list[int]:
    """How many entries fit on each row of a legend."""
    rows: list[int] = []
    used = width + 1
    for name in names:
        need = text_width(name) + 36
        if used + need > width + 18:
            rows.append(0)
            used = 0.0
        rows[-1] += 1
        used += need
    return rows


def draw_legend(canvas: Canvas, entries: Sequence[tuple[str, int]], rows: Sequence[int], *, y: float = 8.0) -> None:
    left = iter(entries)
    for row, count in enumerate(rows):
        x = 6.0
        for _ in range(count):
            name, order = next(left)
            canvas.marker(x, y + row * LEGEND_ROW - 0.5, order, size=4.5)
            canvas.text(x + 11, y + row * LEGEND_ROW + 4, name, kind="i")
            x += text_width(name) + 36

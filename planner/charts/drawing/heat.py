"""Heat maps: a row of cells for each trace, stronger where its figure is larger; the largest of a row is written."""

from __future__ import annotations

from planner.charts.drawing.canvas import Canvas, number
from planner.charts.drawing.type import shorten
from planner.charts.drawing.type import width as text_width
from planner.charts.grid import Grid, grid_of, runs
from planner.core.chart import Chart

LEVELS = 12
_MOST_ROWS, _MOST_COLUMNS = 24, 64
_GUTTER_SHARE = 0.34
_TICK_EVERY = 64
_TOP, _FOOT = 24.0, 36.0


def draw(chart: Chart, *, width: float) -> Canvas:
    grid = grid_of(chart, most_rows=_MOST_ROWS, most_columns=_MOST_COLUMNS)
    tall = 22.0 if len(grid.rows) <= 8 else 14.0
    canvas = Canvas(width, _TOP + tall * len(grid.rows) + _FOOT)
    names = max((text_width(row.name) for row in grid.rows), default=0.0)
    left = min(names, width * _GUTTER_SHARE) + 8
    right = width - max((text_width(grid.figure(row.largest), bold=True) for row in grid.rows), default=0.0) - 8
    cell = (right - left) / max(len(grid.columns), 1)
    _scale(canvas, grid)
    for index, row in enumerate(grid.rows):
        y = _TOP + tall * index
        canvas.text(left - 8, y + tall / 2 + 4.5, shorten(row.name, left - 8), anchor="end", kind="i")
        canvas.rect(left, y + 1, right - left, tall - 2, "c0", paint='fill="none" stroke="var(--chart-grid)"')
        for first, count, shade in runs(row, grid, levels=LEVELS):
            paint = f'fill-opacity="{shade / LEVELS:.2f}"'
            canvas.rect(left + cell * first, y + 1, cell * count, tall - 2, "fl c1", paint=paint)
        canvas.text(right + 6, y + tall / 2 + 4.5, grid.figure(row.largest), kind="b")
    _ticks(canvas, grid, left=left, cell=cell, bottom=_TOP + tall * len(grid.rows))
    return canvas


def _scale(canvas: Canvas, grid: Grid) -> None:
    """What the shades mean, above the map."""
    low, high = grid.figure(grid.low), f"{grid.figure(grid.high)}  {grid.title}"
    x = text_width(low) + 6
    canvas.text(0, 13, low)
    for level in range(1, LEVELS + 1):
        canvas.rect(x, 3, 9, 12, "fl c1", paint=f'fill-opacity="{level / LEVELS:.2f}"')
        x += 9
    canvas.text(x + 6, 13, shorten(high, canvas.width - x - 6))


def _ticks(canvas: Canvas, grid: Grid, *, left: float, cell: float, bottom: float) -> None:
    widest = max((text_width(name) for name in grid.columns), default=0.0) + 12
    stride = max(1, int(max(widest, _TICK_EVERY) // max(cell, 0.1)) if cell < widest else 1)
    for index in range(0, len(grid.columns), stride):
        x = left + cell * (index + 0.5)
        name = grid.columns[index]
        if x + text_width(name) / 2 > canvas.width:
            break
        canvas.path(f"M{number(x)} {number(bottom)}v4", "axis")
        canvas.text(x, bottom + 16, name, anchor="middle")
    canvas.text(left, bottom + 31, shorten(grid.x_title, canvas.width - left))

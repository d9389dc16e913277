"""Heat maps as Plotly figures, for their figures under the pointer."""

from __future__ import annotations

from typing import Any

from planner.charts.grid import Grid, grid_of
from planner.charts.plotly_parts import plain
from planner.core.chart import Chart

_MOST_ROWS, _MOST_COLUMNS = 200, 240


def figure_of(chart: Chart) -> dict[str, Any]:
    grid = grid_of(chart, most_rows=_MOST_ROWS, most_columns=_MOST_COLUMNS)
    cells: dict[str, Any] = {
        "type": "heatmap",
        "series": 0,
        "x": [plain(name) for name in grid.columns],
        "y": [plain(row.name) for row in grid.rows],
        "z": [[None if value is None else grid.share(value) for value in row.values] for row in grid.rows],
        "zmin": 0,
        "zmax": 1,
        "customdata": [[grid.figure(value) for value in row.values] for row in grid.rows],
        "hovertemplate": "%{y}, %{x}: %{customdata}<extra></extra>",
        "showscale": False,
    }
    category = {"type": "category", "showgrid": False}
    layout = {
        "height": round(70 + len(grid.rows) * (22 if len(grid.rows) <= 8 else 14)),
        "xaxis": {"title": {"text": plain(grid.x_title)}, **category, "nticks": 8},
        "yaxis": {**category, "autorange": "reversed"},
        "shapes": [],
        "annotations": [_key(grid)],
        "margin": {"t": 26},
        "showlegend": False,
        "hovermode": "closest",
    }
    return {"data": [cells], "layout": layout}


def _key(grid: Grid) -> dict[str, Any]:
    """What the shades mean, above the map."""
    text = f"{grid.title}: {grid.figure(grid.low)} pale, {grid.figure(grid.high)} strong"
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 4}
    return {"text": plain(text), "showarrow": False, "says": "axis"} | place

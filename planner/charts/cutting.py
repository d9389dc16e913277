"""Paths of a plane: stairs between points, and what of a path lies in the picture."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Point = tuple[float, float]
Range = tuple[float, float]


def stairs(path: Sequence[Point]) -> list[Point]:
    """Level until the next abscissa, then up or down."""
    corners = list(path[:1])
    for (_, y0), (x1, y1) in itertools.pairwise(path):
        corners += [(x1, y0), (x1, y1)]
    return corners


def cut(path: Sequence[Point], y_range: Range) -> list[list[Point]]:
    """Cut a path where it crosses the upper or lower edge of the picture."""
    if all(y_range[0] <= y <= y_range[1] for _, y in path):
        return [list(path)]
    runs: list[list[Point]] = [[]]
    for index, point in enumerate(path):
        inside = y_range[0] <= point[1] <= y_range[1]
        if index:
            crossings = _crossings(path[index - 1], point, y_range)
            before_inside = y_range[0] <= path[index - 1][1] <= y_range[1]
            for crossing in crossings:
                runs[-1].append(crossing)
                if before_inside:
                    runs.append([])
                before_inside = not before_inside
        if inside:
            runs[-1].append(point)
    return [run for run in runs if run]


def _crossings(a: Point, b: Point, y_range: Range) -> list[Point]:
    found = []
    for edge in y_range:
        if (a[1] - edge) * (b[1] - edge) < 0:
            share = (edge - a[1]) / (b[1] - a[1])
            found.append((share, (a[0] + share * (b[0] - a[0]), edge)))
    return [point for _, point in sorted(found)]

"""A heat map in the units it is drawn in: rows of cells whose colour is their figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from planner.charts.scale import Scale, in_unit, title_of, unit_of
from planner.core.chart import Chart, Trace, Value
from planner.core.quantities import show, show_parts

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Row:
    """One trace: a figure a column, None where there is none."""

    name: str
    values: tuple[float | None, ...]

    @property
    def largest(self) -> float | None:
        return max((value for value in self.values if value is not None), default=None)


@dataclass(frozen=True, slots=True)
class Grid:
    """All cells in drawn units; colours run from ``low`` to ``high``."""

    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    low: float
    high: float
    unit: str
    title: str
    x_title: str
    log: bool = False

    def share(self, value: float) -> float:
        """Where a figure lies between the palest and the strongest colour, 0 … 1."""
        if self.high <= self.low:
            return 1.0
        return Scale(self.low, self.high, 0.0, 1.0, log=self.log)(max(value, self.low))

    def figure(self, value: float | None) -> str:
        return show(value, self.unit, shown=self.unit)


def grid_of(chart: Chart, *, most_rows: int = 0, most_columns: int = 0) -> Grid:
    """Lay out a chart of the form ``heat``; of more rows or columns than asked for, neighbours share their largest."""
    abscissae = list(dict.fromkeys(value for trace in chart.traces for value in trace.x))
    unit = unit_of(chart.y, [value for trace in chart.traces for value in trace.y if value is not None])
    rows = [Row(trace.name, _values(chart, trace, abscissae, unit)) for trace in chart.traces]
    names = _names(chart, abscissae)
    rows, names = _fewer(rows, names, most_rows=most_rows, most_columns=most_columns)
    seen = [value for row in rows for value in row.values if value is not None]
    if chart.y.log:
        seen = [value for value in seen if value > 0]
    low, high = min(seen, default=1.0 if chart.y.log else 0.0), max(seen, default=1.0)
    return Grid(
        rows=tuple(rows),
        columns=tuple(names),
        low=min(low, 0.0) if chart.y.start_at_zero and not chart.y.log else low,
        high=high,
        unit=unit,
        title=chart.y.label,
        x_title=_x_title(chart, abscissae),
        log=chart.y.log,
    )


def _values(chart: Chart, trace: Trace, abscissae: Sequence[Value], unit: str) -> tuple[float | None, ...]:
    at = dict(zip(trace.x, trace.y, strict=True))
    return tuple(in_unit(at.get(x), chart.y, unit) for x in abscissae)


def _x_unit(chart: Chart, abscissae: Sequence[Value]) -> str:
    numbers = [value for value in abscissae if isinstance(value, (int, float))]
    return unit_of(chart.x, numbers) if numbers else ""


def _x_title(chart: Chart, abscissae: Sequence[Value]) -> str:
    return title_of(chart.x, _x_unit(chart, abscissae))


def _names(chart: Chart, abscissae: Sequence[Value]) -> list[str]:
    """The columns by name; numbers with three significant digits, as everywhere."""
    if any(isinstance(value, str) for value in abscissae):
        return [str(value) for value in abscissae]
    unit = _x_unit(chart, abscissae)
    drawn = [in_unit(float(value), chart.x, unit) or 0.0 for value in abscissae if value is not None]
    return [show_parts(value, unit, shown=unit)[0] for value in drawn]


def _fewer(
    rows: Sequence[Row], names: Sequence[str], *, most_rows: int, most_columns: int
) -> tuple[list[Row], list[str]]:
    across = -(-len(names) // most_columns) if most_columns else 1
    down = -(-len(rows) // most_rows) if most_rows else 1
    thin = [Row(row.name, tuple(_largest(group) for group in _in_groups(row.values, max(across, 1)))) for row in rows]
    kept = [_merged(group) for group in _in_groups(thin, max(down, 1))]
    return kept, list(names[:: max(across, 1)])


def _in_groups(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[begin : begin + size] for begin in range(0, len(items), size))


def _merged(rows: Sequence[Row]) -> Row:
    return Row(rows[0].name, tuple(_largest(column) for column in zip(*(row.values for row in rows), strict=True)))


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def runs(row: Row, grid: Grid, *, levels: int) -> Iterator[tuple[int, int, int]]:
    """Neighbouring cells of one shade: first column, how many, and the shade (1 … ``levels``)."""
    start, shade = 0, 0
    for index, value in enumerate((*row.values, None)):
        mine = 0 if value is None else 1 + min(int(grid.share(value) * levels), levels - 1)
        if mine != shade or index == len(row.values):
            if shade:
                yield start, index - start, shade
            start, shade = index, mine

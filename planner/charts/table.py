"""The twin of every chart: the same figures as a table, and as CSV with every digit."""

from __future__ import annotations

import csv as writer
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planner.charts.ledger import by_length
from planner.charts.scale import in_unit, unit_of
from planner.charts.schedule import Schedule, schedule_of
from planner.core.chart import Axis, Chart, Trace, Value
from planner.core.quantities import NOTHING, full, show_parts
from planner.core.result import Column as SeriesColumn

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the unit of its axis; ``values`` are texts, figures, or None where there is none."""

    title: str
    unit: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """A table as a page writes it: each cell as read and in full; every ``stride``-th row of ``total``."""

    header: list[str]
    body: list[list[tuple[str, str]]]
    stride: int
    total: int


def rows(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """Return header and rows as a page shows them: three significant digits, the unit in the header."""
    found = cells(chart)
    return found.header, [[shown for shown, _ in row] for row in found.body]


def cells(chart: Chart, *, at_most: int = 0) -> Cells:
    """Return header and rows like `rows`, each figure also in full; of more rows than ``at_most`` every n-th."""
    found = columns(chart)
    every = _rows(found)
    stride = max(-(-len(every) // at_most), 1) if at_most else 1
    body = [
        [(_shown(value, column.unit), _written(value)) for column, value in zip(found, row, strict=True)]
        for row in every[::stride]
    ]
    return Cells(_header(found), body, stride=stride, total=len(every))


def csv(chart: Chart) -> str:
    """Return the table as CSV: full values without separators, an empty field where there is none."""
    found = columns(chart)
    out = io.StringIO()
    sheet = writer.writer(out, lineterminator="\r\n")
    sheet.writerow([inert(title) for title in _header(found)])
    sheet.writerows([[_written(value) for value in row] for row in _rows(found)])
    return out.getvalue()


def inert(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def columns(chart: Chart) -> list[Column]:
    """Join the traces over their abscissae; parts of one bar, and bars that no two traces share, become rows."""
    if chart.twin:
        return [_twin(column) for column in chart.twin.columns]
    chart = by_length(replace(chart, traces=tuple(trace for trace in chart.traces if not trace.guide)))
    y_unit = unit_of(chart.y, _figures(chart))
    categories = [str(value) for trace in chart.traces for value in trace.x]
    if chart.form == "stacked" and len(set(categories)) == 1:
        parts = tuple(trace.name for trace in chart.traces)
        return [Column("part", "", parts), _column(chart, y_unit, [trace.y[0] for trace in chart.traces])]
    if chart.form == "gantt":
        return _stretches(schedule_of(chart))
    apart = chart.form == "bars" and len(chart.traces) > 1 and len(set(categories)) == len(categories)
    if apart and not any(trace.low for trace in chart.traces):
        lengths = [value for trace in chart.traces for value in trace.y]
        return [Column(chart.x.label, "", tuple(categories)), _column(chart, y_unit, lengths)]
    return _joined(chart, y_unit)


def _twin(column: SeriesColumn) -> Column:
    unit = unit_of(Axis("", column.unit), [value for value in column.values if isinstance(value, (int, float))])
    values = (in_unit(v, Axis("", column.unit), unit) if isinstance(v, (int, float)) else v for v in column.values)
    return Column(column.label, unit, tuple(values))


def _stretches(schedule: Schedule) -> list[Column]:
    """Who does what, from when to when: a row a stretch, who by who in the order of time."""
    found = [(span.row, span.start, span.end, each.name) for each in schedule.activities for span in each.spans]
    found.sort()
    return [
        Column("who", "", tuple(schedule.rows[row] for row, *_ in found)),
        Column("what", "", tuple(name for *_, name in found)),
        Column("from", schedule.unit, tuple(start for _, start, _, _ in found)),
        Column("to", schedule.unit, tuple(end for _, _, end, _ in found)),
    ]


def _joined(chart: Chart, y_unit: str) -> list[Column]:
    abscissae = _abscissae(chart)
    x_unit = unit_of(chart.x, [value for value in abscissae if isinstance(value, (int, float))])
    first = [in_unit(value, chart.x, x_unit) if isinstance(value, (int, float)) else value for value in abscissae]
    found = [Column(chart.x.label, x_unit, tuple(first))]
    for trace in chart.traces:
        for name, figures in _named(chart, trace):
            at = dict(zip(trace.x, figures, strict=True))
            values = tuple(in_unit(at.get(x), chart.y, y_unit) for x in abscissae)
            found.append(Column(name, y_unit, values))
    return found


def _abscissae(chart: Chart) -> list[Value]:
    """Every x once: numbers in their order, categories as they come."""
    found = list(dict.fromkeys(value for trace in chart.traces for value in trace.x))
    numbers = [value for value in found if isinstance(value, (int, float))]
    return [*sorted(numbers)] if len(numbers) == len(found) else found


def _named(chart: Chart, trace: Trace) -> Iterable[tuple[str, Sequence[float | None]]]:
    """The columns of one trace: its figures, and its interval where it has one."""
    name = trace.name or chart.y.label
    if any(value is not None for value in trace.y):
        yield name, trace.y
    for words, column in (("low", trace.low), ("high", trace.high)):
        if column is not None:
            yield f"{name}, {words}", column


def _figures(chart: Chart) -> list[float]:
    every = [column for trace in chart.traces for column in (trace.y, trace.low, trace.high) if column is not None]
    return [value for column in every for value in column if value is not None]


def _column(chart: Chart, unit: str, values: Sequence[float | None]) -> Column:
    return Column(chart.y.label, unit, tuple(in_unit(value, chart.y, unit) for value in values))


def _rows(found: Sequence[Column]) -> list[tuple[Value, ...]]:
    return list(zip(*(column.values for column in found), strict=True))


def _header(found: Sequence[Column]) -> list[str]:
    return [", ".join(part for part in (column.title, column.unit) if part) for column in found]


def _shown(value: Value, unit: str) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    number, words = show_parts(value, unit, shown=unit)
    return f"{number}\u00a0%" if words == "%" else number.replace("$", "")


def _written(value: Value) -> str:
    if value is None:
        return ""
    return inert(value) if isinstance(value, str) else full(value)

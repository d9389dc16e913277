"""Results as tables: rows for CSV, and replies that are files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from planner.charts.table import inert
from planner.core.sweep_result import points_table
from planner.designs.sensitivity_tables import of_uncertainty

Table = list[Sequence[Any]]


def of_result(result: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of a result as JSON: its metrics, then each series under its name."""
    series = {name: list(_series(content)) for name, content in result["series"].items()}
    return {"metrics": list(_metrics(result["metrics"])), **series}


def of_job(result: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of what a job found, whatever it was for."""
    if "points" in result:
        return of_sweep(result)
    return of_uncertainty(result) if "quantiles" in result else of_result(result)


def of_sweep(result: Mapping[str, Any]) -> dict[str, Table]:
    """The one table of a sweep: its points."""
    return {"points": list(points_table(result))}


def _metrics(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    columns = ("value", "unit", "low", "high", "objective", "basis", "label")
    yield ("metric", *columns)
    for name, metric in metrics.items():
        yield (name, *(metric.get(column) for column in columns))


def _series(series: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    columns = series["columns"]
    yield [f"{column['name']} [{column['unit']}]" if column["unit"] else column["name"] for column in columns]
    yield from zip_longest(*(column["values"] for column in columns))


def csv_text(table: Table) -> str:
    """RFC 4180 text; null is an empty cell, and no text is a formula to a spreadsheet."""
    file = io.StringIO()
    rows = ([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in table)
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return file.getvalue()


def attachment(content: str | bytes, *, name: str, media_type: str = "text/csv; charset=utf-8") -> HttpResponse:
    """A reply that a browser saves under ``name``."""
    disposition = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return HttpResponse(content, content_type=media_type, headers={"Content-Disposition": disposition})

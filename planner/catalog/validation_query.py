"""Questions to the stored rows of validation: which of them, in which order, and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from planner.catalog.validation import Stored
from planner.charts.table import inert
from planner.core.quantities import full
from planner.core.validation import VERDICT, Row, Summary, summary
from planner.core.validation_targets import Check, Quantity, checks_of, quantity_of

FILTERS = ("group", "gpu", "engine", "family", "llm", "status")
SORTS = ("-error", "error", "id")


@dataclass(frozen=True, slots=True)
class Line:
    """A quantity under one condition of test: its errors, and what they were to be."""

    quantity: Quantity
    group: str
    summary: Summary
    checks: tuple[Check, ...]
    is_verdict: bool = False

    @property
    def met(self) -> bool | None:
        """Whether every limit is met; None where there is none, or nothing to hold against it."""
        return all(check.met for check in self.checks) if self.checks else None


@lru_cache(maxsize=4)
def overview(stored: Stored) -> tuple[Line, ...]:
    """A line for each quantity and condition."""
    return tuple(
        line_of(name, group, [row for row in rows if row.group == group])
        for name, rows in stored.rows.items()
        for group in dict.fromkeys(row.group for row in rows)
    )


def line_of(name: str, group: str, rows: Sequence[Row]) -> Line:
    made = checks_of(name, group, rows)
    return Line(quantity_of(name), group, summary(rows), tuple(made), any(row.unit == VERDICT for row in rows))


def select(rows: Iterable[Row], filters: Mapping[str, str]) -> list[Row]:
    """The rows that have these values; an empty value asks for nothing."""
    wanted = [(name, value) for name, value in filters.items() if value]
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted)]


def ordered(rows: Iterable[Row], sort: str) -> list[Row]:
    """By error, the largest or the smallest first and those that have none last; or by id."""
    found = list(rows)
    if sort == "id":
        return sorted(found, key=lambda row: (row.id, row.group))
    sign = -1 if sort == "-error" else 1
    keyed = [(error is None, sign * (error or 0.0), row.id, row.group, row) for row in found for error in (row.error,)]
    return [entry[-1] for entry in sorted(keyed, key=lambda entry: entry[:-1])]


def choices(rows: Iterable[Row]) -> dict[str, list[str]]:
    """The values of each filter that occur."""
    found = list(rows)
    return {name: sorted({getattr(row, name) for row in found} - {""}, key=str.lower) for name in FILTERS}


def as_csv(rows: Iterable[Row]) -> str:
    """Rows as a file: every column, and the error [%]."""
    names = [field.name for field in fields(Row)]
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerow([*names, "error_percent"])
    for row in rows:
        sheet.writerow([*(_cell(getattr(row, name)) for name in names), _cell(row.error)])
    return out.getvalue()


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return inert(value)
    return "" if value is None else full(float(f"{value:.6g}") if value != int(value) else value)

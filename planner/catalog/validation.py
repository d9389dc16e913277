"""The stored rows of validation: what `make validate` found, for the pages and the API.

One CSV a quantity under ``data/validation/``, and ``stamp.toml`` that says when each was computed, on which catalog.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from planner.catalog import files
from planner.core.validation import STATUSES, Row
from planner.core.validation_targets import QUANTITIES

FOLDER = files.DATA / files.VALIDATION
STAMP = "stamp.toml"
NUMBERS = ("predicted", "measured", "low", "high")
COLUMNS = tuple(field.name for field in fields(Row) if field.name != "quantity")
DIGITS = 5
_LARGEST_WHOLE = 1e15


class StoredRowError(ValueError):
    """A stored row that cannot be read; names file and line."""


@dataclass(frozen=True, eq=False)
class Stored:
    """Rows by quantity, in the order they are shown in, and the stamp of each."""

    rows: Mapping[str, tuple[Row, ...]]
    stamp: Mapping[str, Mapping[str, Any]]

    @cached_property
    def date(self) -> str:
        """When the newest quantity was computed; "" when nothing is stored."""
        return max((str(entry.get("date", "")) for entry in self.stamp.values()), default="")


@lru_cache(maxsize=1)
def stored() -> Stored:
    """The rows that ship with the product, read once a process."""
    return read(FOLDER)


def read(folder: Path) -> Stored:
    """Read all rows of a folder; raises `StoredRowError`."""
    stamp_file = folder / STAMP
    stamp = tomllib.loads(stamp_file.read_text(encoding="utf-8")) if stamp_file.exists() else {}
    found = {path.stem: _rows_of(path) for path in folder.glob("*.csv")} if folder.is_dir() else {}
    order = {quantity.name: place for place, quantity in enumerate(QUANTITIES)}
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return Stored({name: found[name] for name in names}, stamp)


def _rows_of(path: Path) -> tuple[Row, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise StoredRowError(f"{path.name}: the columns must be {', '.join(COLUMNS)}")
        return tuple(_row(path, number, line) for number, line in enumerate(lines, start=2))


def _row(path: Path, number: int, line: Mapping[str, str]) -> Row:
    try:
        figures = {name: float(line[name]) if line[name] else None for name in NUMBERS}
    except (ValueError, TypeError):
        raise StoredRowError(f"{path.name}, line {number}: {', '.join(NUMBERS)} must be numbers") from None
    if not all(value is None or math.isfinite(value) for value in figures.values()):
        raise StoredRowError(f"{path.name}, line {number}: a figure must be finite")
    if line["status"] not in STATUSES:
        raise StoredRowError(f"{path.name}, line {number}: status must be one of {', '.join(STATUSES)}")
    return Row(quantity=path.stem, **{**line, **figures})  # type: ignore[arg-type]


def text_of(rows: Iterable[Row]) -> str:
    """Rows of one quantity as the CSV that is stored: in a fixed order, five digits, whole numbers whole."""
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow(COLUMNS)
    for row in sorted(rows, key=lambda row: (row.group, row.gpu, row.engine, row.llm, row.id)):
        sheet.writerow([_written(row, name) for name in COLUMNS])
    return out.getvalue()


def _written(row: Row, name: str) -> str:
    value = getattr(row, name)
    if name not in NUMBERS:
        return " ".join(str(value).split())
    if value is None:
        return ""
    if not math.isfinite(value):
        raise StoredRowError(f"{row.quantity}: {name} of {row.id} must be finite")
    if value == int(value) and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return f"{value:.{DIGITS}g}"

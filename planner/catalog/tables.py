"""Measured rows beside a calibration: ``calibrations/<name>.csv``, every line with the columns of the first."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from planner.core.catalog import Table

DIGEST = "rows_sha256"
"""Where a calibration with rows keeps their digest, so that the catalog's digest covers them."""


class TableError(ValueError):
    """A file whose lines do not match its header."""


def read(path: Path, *, meta: Mapping[str, Any]) -> Table:
    """Columns of the file; raises `TableError` naming the line."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, None)
        if not header:
            raise TableError("the file is empty: its first line names the columns")
        rows = list(reader)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise TableError(f"line {number} has {len(row)} values, not {len(header)}")
    columns = {name: tuple(row[place] for row in rows) for place, name in enumerate(header)}
    return Table(columns=MappingProxyType(columns), meta=MappingProxyType(dict(meta)))


def digest(path: Path) -> str:
    """SHA-256 of the file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""Writes the rows that the pages read, and says how they differ from those of the last run."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.catalog.validation import COLUMNS, STAMP, read, text_of
from tests.validation.rows import Row

KEY = ("group", "id")


def written(folder: Path, found: Mapping[str, Sequence[Row]], *, date: str, digest: str, whole: bool) -> None:
    """Write the rows. A file whose rows are the same stays as it is, with its stamp; ``whole`` removes the rest."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp: dict[str, Mapping[str, Any]] = dict(read(folder).stamp)
    if whole:
        for path in folder.glob("*.csv"):
            if path.stem not in found:
                path.unlink()
                stamp.pop(path.stem, None)
    for quantity, rows in found.items():
        path, text = folder / f"{quantity}.csv", text_of(rows)
        if not path.exists() or path.read_text(encoding="utf-8") != text or quantity not in stamp:
            path.write_text(text, encoding="utf-8")
            stamp[quantity] = {"date": date, "catalog": digest, "rows": len(rows)}
    (folder / STAMP).write_text(_stamp_text(stamp), encoding="utf-8")


def _stamp_text(stamp: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["# When the rows beside this file last changed, and on which catalog. Written by make validate."]
    for quantity in sorted(stamp):
        entry = stamp[quantity]
        lines += [
            "",
            f"[{quantity}]",
            f'date = "{entry["date"]}"',
            f'catalog = "{entry["catalog"]}"',
            f"rows = {entry['rows']}",
        ]
    return "\n".join(lines) + "\n"


def changes(folder: Path, found: Mapping[str, Sequence[Row]], *, whole: bool) -> list[str]:
    """A sentence for each quantity whose stored rows are not those found; [] when they are the same."""
    stored = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.csv")}
    lines = []
    for quantity in sorted({*found, *(stored if whole else ())}):
        before, now = _lines(stored.get(quantity, "")), _lines(text_of(found.get(quantity, ())))
        if before != now:
            lines.append(f"{quantity}: {_difference(before, now)}")
    return lines


def _lines(text: str) -> dict[tuple[str, ...], dict[str, str]]:
    return {tuple(line[name] for name in KEY): line for line in csv.DictReader(io.StringIO(text))}


def _difference(before: Mapping[Any, Mapping[str, str]], now: Mapping[Any, Mapping[str, str]]) -> str:
    parts = []
    if new := now.keys() - before.keys():
        parts.append(f"{len(new)} new")
    if gone := before.keys() - now.keys():
        parts.append(f"{len(gone)} gone")
    changed = sorted(key for key in now.keys() & before.keys() if now[key] != before[key])
    if changed:
        first = changed[0]
        columns = [name for name in COLUMNS if now[first][name] != before[first][name]]
        shown = ", ".join(f"{name} {before[first][name] or '—'} → {now[first][name] or '—'}" for name in columns)
        parts.append(f"{len(changed)} changed, the first {' / '.join(part for part in first if part)}: {shown}")
    return "; ".join(parts)

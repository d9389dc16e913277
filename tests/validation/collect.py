"""Runs the sources and sorts what they give by quantity."""

from __future__ import annotations

from collections.abc import Sequence

from tests.validation.rows import Row, Source, quantities_of


class BadRowsError(ValueError):
    """Rows that cannot be stored: two of one name, or one that says less than it must."""


def collected(sources: Sequence[Source], *, only: Sequence[str] = ()) -> dict[str, list[Row]]:
    """The rows of each quantity; with ``only``, of these quantities, and no other source is run."""
    found: dict[str, list[Row]] = {}
    for source in sources:
        given = quantities_of(source)
        if only and given and not set(given) & set(only):
            continue
        for row in source():
            if not only or row.quantity in only:
                found.setdefault(row.quantity, []).append(row)
    for rows in found.values():
        _refuse_bad(rows)
    return found


def _refuse_bad(rows: Sequence[Row]) -> None:
    seen = set()
    for row in rows:
        where = f"{row.quantity}, {row.group or 'no group'}, {row.id}"
        if (row.group, row.id) in seen:
            raise BadRowsError(f"{where}: there are two rows of this name")
        seen.add((row.group, row.id))
        if not row.source:
            raise BadRowsError(f"{where}: a row names its source")
        if row.status == "compared" and (row.predicted is None or row.measured is None):
            raise BadRowsError(f"{where}: a compared row has both figures")
        if row.status != "compared" and not row.reason:
            raise BadRowsError(f"{where}: a row that is not compared says why")

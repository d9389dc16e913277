"""What `make validate` prints and leaves in build/validation.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.validation import Row, Summary, slices, summary
from planner.core.validation_targets import checks_of

DIGITS = 4
HEADER = ("quantity", "slice", "n", "median %", "P90 %", "80 % held", "answered", "set aside", "not expr.", "target")
WIDTHS = (30, 30, 6, 9, 9, 10, 9, 10, 10, 0)


def as_json(rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, dict[str, Any]]]:
    """``{quantity: {slice: {n, median, p90, coverage}}}``, errors and coverage in per cent."""
    return {
        quantity: {name: _figures(summary(part)) for name, part in slices(found)} for quantity, found in rows.items()
    }


def _figures(found: Summary) -> dict[str, Any]:
    return {
        "n": found.n,
        "median": _rounded(found.median),
        "p90": _rounded(found.p90),
        "coverage": _rounded(found.coverage),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def lines(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The table: each quantity, and each condition it was tested under."""
    yield _line(HEADER)
    for quantity, found in rows.items():
        for name, part in slices(found):
            if name == "all" or name.startswith("group:"):
                yield _line((quantity, name, *_cells(summary(part)), _verdict(quantity, name, part)))


def _cells(found: Summary) -> tuple[str, ...]:
    return (
        str(found.n),
        *(_text(value) for value in (found.median, found.p90, found.coverage, found.answered)),
        str(found.set_aside),
        str(found.not_expressible),
    )


def _text(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _verdict(quantity: str, name: str, rows: Sequence[Row]) -> str:
    group = rows[0].group if name.startswith("group:") else ""
    made = checks_of(quantity, group, rows)
    missed = [check.measure for check in made if not check.met]
    if not made:
        return ""
    return f"missed: {', '.join(missed)}" if missed else "met"


def _line(cells: Sequence[str]) -> str:
    placed = [
        cell.ljust(width) if place < 2 or not width else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    return " ".join(placed).rstrip()

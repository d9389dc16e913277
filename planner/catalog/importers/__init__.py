"""Readers of what users bring: traces, and the ``config.json`` of an LLM."""

from __future__ import annotations

from typing import Any


class ImportProblem(ValueError):
    """A file or form that cannot be taken; nothing of it was kept.

    ``line`` counts from 1 and is None where there are no lines; ``field`` is the column, key or input at fault.
    Where many rows are wrong, ``rows`` are the first of them, this one included, and ``bad_rows`` says how many.
    """

    def __init__(
        self, line: int | None, field: str, message: str, *, rows: tuple[ImportProblem, ...] = (), bad_rows: int = 0
    ) -> None:
        place = f"line {line}, {field}" if line is not None else field
        super().__init__(f"{place}: {message}" if place else message)
        self.line, self.field, self.message = line, field, message
        self.rows, self.bad_rows = rows, bad_rows


def excerpt(value: Any, *, at_most: int = 40) -> str:
    """The start of a value, fit for a message: printable, and short however long or nested the value is."""
    try:
        text = value if isinstance(value, str) else str(value)
    except RecursionError:
        return "…"
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text[:at_most])

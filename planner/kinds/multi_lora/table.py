"""A small table on its way to a series: name, label and columns of name, label, unit and values."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.result import Column, Series

Values = Sequence[float | str | None]


def table(name: str, label: str, *columns: tuple[str, str, str, Values]) -> Series:
    """A series from plain columns."""
    return Series(name, label, tuple(Column(*column) for column in columns))


def numbers(series: Series, name: str) -> list[float | None]:
    """A column as figures."""
    return [value if isinstance(value, int | float) else None for value in series.column(name).values]

"""A small table on its way to a series and from it to a picture."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.result import Column, Result, Series

Values = Sequence[float | str | None]


def table(name: str, label: str, *columns: tuple[str, str, str, Values]) -> Series:
    """A series from plain columns: name, label, unit and values of each."""
    return Series(name, label, tuple(Column(*column) for column in columns))


def numbers(series: Series, name: str) -> list[float | None]:
    """A column as figures."""
    return [value if isinstance(value, int | float) else None for value in series.column(name).values]


def filled(result: Result, name: str) -> Series | None:
    """A series of a result; None where there is none, or none of its rows."""
    series = result.series.get(name)
    return series if series is not None and len(series.columns[0].values) else None

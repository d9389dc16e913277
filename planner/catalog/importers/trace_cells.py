"""Cells of a trace as numbers: whole columns at once where they are plain, cell by cell where they are not."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem, excerpt

LONGEST_TOKENS = 100_000_000
LONGEST_S = 1e13

Problems = dict[int, ImportProblem]
"""What is wrong, by the row's place in its batch; of one row the first thing."""


def token_column(cells: list[Any], *, lines: Sequence[int], field: str, problems: Problems) -> NDArray[np.int64]:
    """Numbers of tokens; what is none is put into ``problems`` and 0."""
    try:
        if set(map(type, cells)) <= {str} or set(map(type, cells)) <= {int}:
            numbers = np.fromiter(map(int, cells), np.int64, len(cells))
            if not len(numbers) or (numbers.min() >= 0 and numbers.max() <= LONGEST_TOKENS):
                return numbers
    except (ValueError, OverflowError):
        pass
    one_by_one = _each(cells, lines=lines, problems=problems, read=lambda cell, line: _tokens(cell, line, field))
    return np.asarray([0 if number is None else number for number in one_by_one], np.int64)


def moment_column(
    cells: list[Any], *, lines: Sequence[int], field: str, seconds_per_unit: float, problems: Problems
) -> NDArray[np.float64]:
    """Arrivals in seconds, from numbers or dates; what is neither is put into ``problems`` and 0."""
    try:
        if bool not in set(map(type, cells)):
            seconds = np.fromiter(map(float, cells), np.float64, len(cells)) * seconds_per_unit
            if np.isfinite(seconds).all() and not (np.abs(seconds) > LONGEST_S).any():
                return seconds
    except (TypeError, ValueError, OverflowError):
        pass
    one_by_one = _each(
        cells, lines=lines, problems=problems, read=lambda cell, line: _seconds(cell, line, field, seconds_per_unit)
    )
    return np.asarray([0.0 if moment is None else moment for moment in one_by_one], np.float64)


def hash_column(cells: list[Any], *, lines: Sequence[int], problems: Problems) -> list[Sequence[Any]]:
    """Block hashes of each prompt; what is no list of them is put into ``problems`` and is empty."""
    return [each or [] for each in _each(cells, lines=lines, problems=problems, read=_hashes)]


def adapter_column(cells: list[Any], *, lines: Sequence[int], field: str, problems: Problems) -> list[str]:
    """What tells an adapter from others; an empty cell is the base LLM."""
    names = _each(cells, lines=lines, problems=problems, read=lambda cell, line: _adapter(cell, line, field))
    return [name or "" for name in names]


def _each(cells: list[Any], *, lines: Sequence[int], problems: Problems, read: Callable[[Any, int], Any]) -> list[Any]:
    found = []
    for place, (cell, line) in enumerate(zip(cells, lines, strict=True)):
        try:
            found.append(read(cell, line))
        except ImportProblem as problem:
            problems.setdefault(place, problem)
            found.append(None)
    return found


def _seconds(value: Any, line: int, field: str, seconds_per_unit: float) -> float:
    """An arrival in seconds: a number in the column's unit, or a date and time (UTC unless it says otherwise)."""
    try:
        seconds = float(value) * seconds_per_unit
    except OverflowError:  # a whole number that no float can hold
        seconds = math.inf
    except (TypeError, ValueError):
        seconds = _moment(value, line, field)
    if isinstance(value, bool) or not math.isfinite(seconds) or abs(seconds) > LONGEST_S:
        raise ImportProblem(line, field, f"“{excerpt(value)}” is not a time")
    return seconds


def _moment(value: Any, line: int, field: str) -> float:
    try:
        moment = dt.datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise ImportProblem(line, field, f"“{excerpt(value)}” is neither a number nor a date and time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def _tokens(value: Any, line: int, field: str) -> int:
    try:
        number = int(value) if type(value) is str and value.isdecimal() else float(value)
    except OverflowError:
        raise ImportProblem(line, field, f"{excerpt(value)} is not between 0 and {LONGEST_TOKENS:,}") from None
    except (TypeError, ValueError):
        raise ImportProblem(line, field, f"“{excerpt(value)}” is not a number of tokens") from None
    is_whole = isinstance(number, int) or (math.isfinite(number) and number == int(number))
    if isinstance(value, bool) or not is_whole:
        raise ImportProblem(line, field, f"“{excerpt(value)}” is not a whole number of tokens")
    if not 0 <= number <= LONGEST_TOKENS:
        raise ImportProblem(line, field, f"{excerpt(value)} is not between 0 and {LONGEST_TOKENS:,}")
    return int(number)


def _hashes(value: Any, line: int) -> Sequence[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list) or not all(isinstance(each, int | str) for each in value):
        raise ImportProblem(line, "hash_ids", "is not a list of block hashes (numbers or texts)")
    return value


def _adapter(value: Any, line: int, field: str) -> str:
    """What tells an adapter from others; an empty cell is the base LLM."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ImportProblem(line, field, f"“{excerpt(value)}” is not a name or a number of an adapter")
    return str(value).strip()

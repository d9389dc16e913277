"""Reads a request trace into columns: arrivals, lengths and, where the file tells, the prefix found in a cache.

Only times, lengths and block hashes are looked at, and of hashes only which are equal is kept: prompt text in other
columns is never read.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.prefix_blocks import numbered
from planner.catalog.importers.trace_file import Columns, rows_of, text_of
from planner.core.simulation import Blocks

LONGEST_TOKENS = 100_000_000
LONGEST_S = 1e13


@dataclass(frozen=True, slots=True)
class Trace:
    """Columns of a trace, sorted by arrival from 0, and what was noticed while reading."""

    arrival_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    cached_tokens: NDArray[np.int64] | None
    notices: dict[str, Any]
    blocks: Blocks | None = None
    adapters: NDArray[np.int64] | None = None


@dataclass(slots=True)
class _Rows:
    """Rows as they stand in the file."""

    lines: list[int]
    arrivals: list[float]
    inputs: list[int]
    outputs: list[int]
    cached: list[int]
    hashes: list[Sequence[Any]]
    adapters: list[str]
    zero_input: int = 0
    zero_output: int = 0


def read_trace(data: bytes, *, max_bytes: int, max_unpacked_bytes: int, max_rows: int) -> Trace:
    """Read a CSV or JSONL trace, plain or gzip; raises `ImportProblem` naming line and field.

    Understood are the columns of Azure (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake (timestamp in ms,
    input_length, output_length, hash_ids), BurstGPT (Timestamp, Request tokens, Response tokens) and plain names.
    A request without input or without output (BurstGPT's failures) is left out and counted.
    """
    columns, records = rows_of(text_of(data, max_bytes=max_bytes, max_unpacked_bytes=max_unpacked_bytes))
    rows = _Rows([], [], [], [], [], [], [])
    count = 0
    for line, values in records:
        count += 1
        if count > max_rows:
            raise ImportProblem(line, "file", f"has more than {max_rows:,} rows")
        _take(rows, line, values, columns)
    if not rows.arrivals:
        raise ImportProblem(2, "file", "has no request with input and output")
    return _trace(rows, columns=columns, count=count)


def _take(rows: _Rows, line: int, values: list[Any], columns: Columns) -> None:
    arrival, inputs, outputs, hashes, cached, adapter = values
    arrival_s = _seconds(arrival, line, columns)
    input_tokens = _tokens(inputs, line, columns.called("input_tokens"))
    output_tokens = _tokens(outputs, line, columns.called("output_tokens"))
    if "hash_ids" in columns.names:
        hashes = _hashes(hashes, line)
    cached_tokens = _tokens(cached, line, "cached_tokens") if "cached_tokens" in columns.names else 0
    if cached_tokens > input_tokens:
        raise ImportProblem(line, "cached_tokens", f"{cached_tokens} is above the input of {input_tokens} tokens")
    rows.zero_input += input_tokens == 0
    rows.zero_output += output_tokens == 0
    if not (input_tokens and output_tokens):
        return
    rows.lines.append(line)
    rows.arrivals.append(arrival_s)
    rows.inputs.append(input_tokens)
    rows.outputs.append(output_tokens)
    rows.cached.append(cached_tokens)
    if "hash_ids" in columns.names:
        rows.hashes.append(hashes)
    if "adapter" in columns.names:
        rows.adapters.append(_adapter(adapter, line, columns.called("adapter")))


def _seconds(value: Any, line: int, columns: Columns) -> float:
    """An arrival in seconds: a number in the column's unit, or a date and time (UTC unless it says otherwise)."""
    field = columns.called("arrival")
    try:
        seconds = float(value) * columns.seconds_per_unit
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


def _numbers(names: Sequence[str]) -> NDArray[np.int64]:
    """Adapters by number as they first occur, -1 for none: which are equal is kept, the names are not."""
    known: dict[str, int] = {}
    return np.asarray([known.setdefault(name, len(known)) if name else -1 for name in names], dtype=np.int64)


def _trace(rows: _Rows, *, columns: Columns, count: int) -> Trace:
    arrivals = np.asarray(rows.arrivals, dtype=np.float64)
    late = int(np.count_nonzero(arrivals < np.maximum.accumulate(arrivals)))
    order = np.argsort(arrivals, kind="stable")
    inputs = np.asarray(rows.inputs, dtype=np.int64)[order]
    cached: NDArray[np.int64] | None = None
    blocks: Blocks | None = None
    notices: dict[str, Any] = {
        "rows": count,
        "zero_input_rows": rows.zero_input,
        "zero_output_rows": rows.zero_output,
        "out_of_order_rows": late,
        "ignored_columns": list(columns.ignored),
    }
    if rows.hashes:
        hashes = [rows.hashes[index] for index in order]
        blocks, cached = numbered(hashes, input_tokens=inputs, lines=[rows.lines[index] for index in order])
        notices |= {"block_tokens": blocks.tokens, "block_lookups": len(blocks.ids), "distinct_blocks": blocks.distinct}
    elif "cached_tokens" in columns.names:
        cached = np.asarray(rows.cached, dtype=np.int64)[order]
    adapters = _numbers([rows.adapters[index] for index in order]) if rows.adapters else None
    if adapters is not None:
        notices["adapters"] = int(adapters.max()) + 1
    arrivals = arrivals[order]
    return Trace(
        arrival_s=arrivals - arrivals[0],
        input_tokens=inputs,
        output_tokens=np.asarray(rows.outputs, dtype=np.int64)[order],
        cached_tokens=cached,
        notices=notices,
        blocks=blocks,
        adapters=adapters,
    )

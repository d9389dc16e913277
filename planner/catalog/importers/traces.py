"""Reads a request trace into columns: arrivals, lengths and, where the file tells, the prefix found in a cache.

Only times, lengths and block hashes are looked at, and of hashes only which are equal is kept: prompt text in other
columns is never read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.bad_rows import BadRows
from planner.catalog.importers.prefix_blocks import Chains, block_size, numbered
from planner.catalog.importers.trace_cells import (
    Problems,
    adapter_column,
    hash_column,
    moment_column,
    token_column,
)
from planner.catalog.importers.trace_columns import Columns
from planner.catalog.importers.trace_file import Batch, Limits, rows_of
from planner.core.simulation import Blocks

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trace:
    """Columns of a trace, sorted by arrival from 0, and what was noticed while reading."""

    arrival_s: NDArray[np.float64]
    input_tokens: Integers
    output_tokens: Integers
    cached_tokens: Integers | None
    notices: dict[str, Any]
    blocks: Blocks | None = None
    adapters: Integers | None = None


NUMBERS = {"line": np.int64, "arrival": np.float64, "input_tokens": np.int32, "output_tokens": np.int32}
"""Columns that are kept of each row as it stands in the file; further ones where the file has them."""


@dataclass(slots=True)
class _Rows:
    """Rows as they stand in the file, by batch; blocks and adapters by number."""

    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    hashes: dict[Any, int] = field(default_factory=dict)
    chains: array[int] = field(default_factory=lambda: array("i"))
    adapters: dict[str, int] = field(default_factory=dict)
    count: int = 0
    zero_input: int = 0
    zero_output: int = 0

    def keep(self, **columns: NDArray[Any]) -> None:
        for name, values in columns.items():
            self.columns.setdefault(name, []).append(values)

    def column(self, name: str) -> NDArray[Any]:
        """The whole column; its parts are given up for it."""
        return np.concatenate(self.columns.pop(name))


def read_trace(
    data: bytes, *, max_bytes: int, max_unpacked_bytes: int, max_rows: int, skip_bad_rows: bool = False
) -> Trace:
    """Read a CSV or JSONL trace, plain or gzip; raises `ImportProblem` naming line and field.

    Understood are the columns of Azure (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake (timestamp in ms,
    input_length, output_length, hash_ids), BurstGPT (Timestamp, Request tokens, Response tokens) and plain names.
    A request without input or without output (BurstGPT's failures) is left out and counted. Rows that cannot be read
    are told together, or left out and counted with ``skip_bad_rows``.
    """
    bad, rows = BadRows(skip_bad_rows), _Rows()
    columns, batches = rows_of(data, limits=Limits(max_bytes, max_unpacked_bytes, max_rows), bad=bad)
    for batch in batches:
        _take(rows, batch, columns=columns, bad=bad)
    bad.refuse()
    if not sum(map(len, rows.columns.get("line", []))):
        raise ImportProblem(2, "file", "has no request with input and output")
    return _trace(rows, columns=columns, bad=bad)


def _take(rows: _Rows, batch: Batch, *, columns: Columns, bad: BadRows) -> None:
    """Take the good rows of a batch; the columns that are needed are looked at first."""
    problems: Problems = {}
    lines, cells = batch.lines, batch.cells
    arrivals = moment_column(
        cells["arrival"],
        lines=lines,
        field=columns.called("arrival"),
        seconds_per_unit=columns.seconds_per_unit,
        problems=problems,
    )
    tokens = {
        role: token_column(cells[role], lines=lines, field=columns.called(role), problems=problems)
        for role in ("input_tokens", "output_tokens", "cached_tokens")
        if role in cells
    }
    _check_cached(tokens, lines=lines, problems=problems)
    hashes = hash_column(cells["hash_ids"], lines=lines, problems=problems) if "hash_ids" in cells else None
    adapters = None
    if "adapter" in cells:
        field_name = columns.called("adapter")
        adapters = adapter_column(cells["adapter"], lines=lines, field=field_name, problems=problems)
    bad.add(problems[place] for place in sorted(problems))
    good = np.ones(len(lines), np.bool_)
    good[list(problems)] = False
    rows.count += int(good.sum())
    rows.zero_input += int(np.count_nonzero(good & (tokens["input_tokens"] == 0)))
    rows.zero_output += int(np.count_nonzero(good & (tokens["output_tokens"] == 0)))
    kept = np.flatnonzero(good & (tokens["input_tokens"] > 0) & (tokens["output_tokens"] > 0))
    rows.keep(line=np.asarray(lines, np.int64)[kept], arrival=arrivals[kept])
    rows.keep(**{role: values[kept].astype(np.int32) for role, values in tokens.items()})
    if hashes is not None:
        _keep_chains(rows, [hashes[place] for place in kept])
    if adapters is not None:
        known = rows.adapters
        numbers = [known.setdefault(adapters[place], len(known)) if adapters[place] else -1 for place in kept]
        rows.keep(adapter=np.asarray(numbers, np.int32))


def _check_cached(tokens: dict[str, Integers], *, lines: Sequence[int], problems: Problems) -> None:
    if "cached_tokens" not in tokens:
        return
    for place in np.flatnonzero(tokens["cached_tokens"] > tokens["input_tokens"]).tolist():
        cached, prompt = tokens["cached_tokens"][place], tokens["input_tokens"][place]
        message = f"{cached} is above the input of {prompt} tokens"
        problems.setdefault(place, ImportProblem(lines[place], "cached_tokens", message))


def _keep_chains(rows: _Rows, chains: list[Sequence[Any]]) -> None:
    known = rows.hashes
    for chain in chains:
        rows.chains.extend([known.setdefault(each, len(known)) for each in chain])
    rows.keep(blocks=np.asarray([len(chain) for chain in chains], np.int64))


def _trace(rows: _Rows, *, columns: Columns, bad: BadRows) -> Trace:
    lines, arrivals = rows.column("line"), rows.column("arrival")
    inputs, outputs = rows.column("input_tokens"), rows.column("output_tokens")
    chains = None
    kept = np.ones(len(lines), np.bool_)
    if "blocks" in rows.columns:
        chains = Chains(np.frombuffer(rows.chains, np.int32), counts=rows.column("blocks"))
        size, kept = block_size(chains.counts, input_tokens=inputs, lines=lines, bad=bad)
        bad.refuse()
    late = int(np.count_nonzero(arrivals[kept] < np.maximum.accumulate(arrivals[kept])))
    order = np.flatnonzero(kept)[np.argsort(arrivals[kept], kind="stable")]
    if not len(order):
        raise ImportProblem(2, "file", "has no request whose hashes cover its input")
    inputs = inputs[order].astype(np.int64)
    notices: dict[str, Any] = {
        "rows": rows.count - int(np.count_nonzero(~kept)),
        "zero_input_rows": rows.zero_input,
        "zero_output_rows": rows.zero_output,
        "out_of_order_rows": late,
        "ignored_columns": list(columns.ignored),
        **bad.notices(),
    }
    cached, blocks, adapters = None, None, None
    if chains is not None:
        blocks, cached = numbered(chains, order=order, tokens=size, input_tokens=inputs)
        notices |= {"block_tokens": blocks.tokens, "block_lookups": len(blocks.ids), "distinct_blocks": blocks.distinct}
    elif "cached_tokens" in rows.columns:
        cached = rows.column("cached_tokens")[order].astype(np.int64)
    if "adapter" in rows.columns:
        adapters = _renumbered(rows.column("adapter")[order])
        notices["adapters"] = int(adapters.max()) + 1
    arrivals = arrivals[order]
    return Trace(
        arrival_s=arrivals - arrivals[0],
        input_tokens=inputs,
        output_tokens=outputs[order].astype(np.int64),
        cached_tokens=cached,
        notices=notices,
        blocks=blocks,
        adapters=adapters,
    )


def _renumbered(adapters: NDArray[Any]) -> Integers:
    """Adapters by number as they first occur, -1 for none: which are equal is kept, the names are not."""
    known: dict[int, int] = {}
    return np.asarray(
        [known.setdefault(each, len(known)) if each >= 0 else -1 for each in adapters.tolist()], dtype=np.int64
    )

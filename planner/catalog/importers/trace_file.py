"""Opens an uploaded trace and reads its rows by column, in batches, whichever dialect it is in.

A packed file is unpacked as it is read, so that no more than a batch of it is in memory as text.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.bad_rows import BadRows
from planner.catalog.importers.trace_columns import Columns, columns_of

LONGEST_LINE = 4 * 2**20
BATCH_ROWS = 20_000
PIECE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a file, packed and unpacked, and of its rows."""

    max_bytes: int
    max_unpacked_bytes: int
    max_rows: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: their line numbers, and the cells of each role; a role that the file lacks is not there."""

    lines: Sequence[int]
    cells: Mapping[str, list[Any]]


def rows_of(data: bytes, *, limits: Limits, bad: BadRows) -> tuple[Columns, Iterator[Batch]]:
    """The columns of a trace and its rows; raises `ImportProblem`, and puts rows that cannot be cut up into ``bad``."""
    lines = itertools.chain.from_iterable(_lines(data, limits=limits))
    for above, line in enumerate(lines):
        if line.strip():
            read = _json_rows if line.lstrip()[:1] in "{[" else _csv_rows
            return read(itertools.chain([line], lines), above=above, limits=limits, bad=bad)
    raise ImportProblem(1, "file", "is empty")


def _lines(data: bytes, *, limits: Limits) -> Iterator[Iterator[str]]:
    """Lines as text, a piece of the file at a time; raises `ImportProblem`."""
    carried, number = b"", 1
    for piece in _pieces(data, limits=limits):
        whole, newline, carried = (carried + piece).rpartition(b"\n")
        if len(carried) > LONGEST_LINE:
            line = number + whole.count(b"\n") + len(newline)
            raise ImportProblem(line, "line", f"is longer than {LONGEST_LINE // 2**20} MiB")
        yield io.StringIO(_text(whole + newline, number=number), newline="\n")
        number += whole.count(b"\n") + len(newline)
    yield io.StringIO(_text(carried, number=number), newline="\n")


def _pieces(data: bytes, *, limits: Limits) -> Iterator[bytes]:
    """The file unpacked, within its limits."""
    if len(data) > limits.max_bytes:
        raise ImportProblem(None, "file", f"is larger than {limits.max_bytes // 2**20} MiB")
    if data[:4] == b"PK\x03\x04":
        raise ImportProblem(None, "file", "is a ZIP archive; give the CSV or JSONL file itself, or that file as .gz")
    packed = data[:2] == b"\x1f\x8b"
    source: Any = gzip.GzipFile(fileobj=io.BytesIO(data)) if packed else io.BytesIO(data)
    left = limits.max_unpacked_bytes if packed else len(data)
    try:
        while piece := source.read(PIECE_BYTES):
            left -= len(piece)
            if left < 0:
                raise ImportProblem(None, "file", f"unpacks to more than {limits.max_unpacked_bytes // 2**20} MiB")
            yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise ImportProblem(None, "file", f"cannot be unpacked: {error}") from None


def _text(piece: bytes, *, number: int) -> str:
    """Whole lines from line ``number`` on; raises `ImportProblem`."""
    try:
        text = piece.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ImportProblem(number + piece.count(b"\n", 0, error.start), "file", "is not UTF-8 text") from None
    if "\0" in text:
        line = number + text.count("\n", 0, text.index("\0"))
        raise ImportProblem(line, "file", "holds a zero byte; this is not text")
    return text


def _csv_rows(lines: Iterator[str], *, above: int, limits: Limits, bad: BadRows) -> tuple[Columns, Iterator[Batch]]:
    reader = csv.reader(lines)
    header = [name.strip() for name in _header_row(reader, above=above)]
    columns = columns_of(header)
    places = {role: header.index(name) for role, name in columns.names.items()}
    longest = max(places.values())

    def batches() -> Iterator[Batch]:
        left, line = limits.max_rows, above + reader.line_num
        while rows := _some(reader, above=above, count=BATCH_ROWS):
            numbers: Sequence[int] = _line_numbers(rows, before=line, after=above + reader.line_num)
            line = above + reader.line_num
            if min(map(len, rows)) <= 1:
                numbers, rows = _without_blank(numbers, rows)
            _check_count(numbers, left=left, limits=limits)
            left -= len(rows)
            if rows and min(map(len, rows)) <= longest:
                numbers, rows = _long_enough(numbers, rows, places=places, columns=columns, bad=bad)
            yield Batch(numbers, {role: [row[place] for row in rows] for role, place in places.items()})

    return columns, batches()


def _line_numbers(rows: list[list[str]], *, before: int, after: int) -> Sequence[int]:
    """Of each row its last line: the next one, unless it has line breaks in its cells."""
    if after - before == len(rows):
        return range(before + 1, after + 1)
    counts = [1 + sum(cell.count("\n") for cell in row) for row in rows]
    return [before + count for count in itertools.accumulate(counts)]


def _check_count(numbers: Sequence[int], *, left: int, limits: Limits) -> None:
    if len(numbers) > left:
        raise ImportProblem(numbers[left], "file", f"has more than {limits.max_rows:,} rows")


def _without_blank(numbers: Sequence[int], rows: list[list[str]]) -> tuple[list[int], list[list[str]]]:
    kept = [place for place, row in enumerate(rows) if row and (len(row) > 1 or row[0].strip())]
    return [numbers[place] for place in kept], [rows[place] for place in kept]


def _long_enough(
    numbers: Sequence[int], rows: list[list[str]], *, places: Mapping[str, int], columns: Columns, bad: BadRows
) -> tuple[list[int], list[list[str]]]:
    """The rows that have all the cells that are wanted."""
    longest = max(places.values())
    for number, row in zip(numbers, rows, strict=True):
        if len(row) <= longest:
            missing = next(role for role, place in places.items() if place >= len(row))
            bad.add([ImportProblem(number, columns.called(missing), "is missing in this row")])
    kept = [(number, row) for number, row in zip(numbers, rows, strict=True) if len(row) > longest]
    return [number for number, _ in kept], [row for _, row in kept]


def _header_row(reader: Any, *, above: int) -> list[str]:
    """The first row that is not blank; none at all has no columns."""
    while row := _some(reader, above=above, count=1):
        if any(name.strip() for name in row[0]):
            return row[0]
    return []


def _some(reader: Any, *, above: int, count: int) -> list[list[str]]:
    """The next rows; none at the end of the file."""
    try:
        return list(itertools.islice(reader, count))
    except csv.Error as error:
        raise ImportProblem(above + reader.line_num, "file", str(error)) from None


def _json_rows(lines: Iterator[str], *, above: int, limits: Limits, bad: BadRows) -> tuple[Columns, Iterator[Batch]]:
    written = ((number, line) for number, line in enumerate(lines, start=above + 1) if line.strip())
    first = next(written)
    columns = columns_of(list(_record(*first)))

    def batches() -> Iterator[Batch]:
        left, rows = limits.max_rows, itertools.chain([first], written)
        while some := list(itertools.islice(rows, BATCH_ROWS)):
            _check_count([number for number, _ in some], left=left, limits=limits)
            left -= len(some)
            numbers, records = _records(some, bad=bad)
            cells = {role: [record.get(name) for record in records] for role, name in columns.names.items()}
            yield Batch(numbers, cells)

    return columns, batches()


def _records(rows: list[tuple[int, str]], *, bad: BadRows) -> tuple[list[int], list[dict[str, Any]]]:
    kept: list[int] = []
    records: list[dict[str, Any]] = []
    for number, text in rows:
        try:
            records.append(_record(number, text))
        except ImportProblem as problem:
            bad.add([problem])
        else:
            kept.append(number)
    return kept, records


def _record(number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_no_constant)
    except RecursionError:
        raise ImportProblem(number, "line", "is nested too deeply") from None
    except ValueError as error:
        raise ImportProblem(number, "line", f"is not a JSON object: {error}") from None
    if not isinstance(record, dict):
        raise ImportProblem(number, "line", "is not a JSON object; give one object on each line")
    return record


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")

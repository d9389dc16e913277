"""Opens an uploaded trace: unpacks it within a limit and reads its rows by column, whichever dialect it is in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt

LONGEST_LINE = 4 * 2**20
NAMES: Mapping[str, tuple[str, ...]] = {
    "arrival": (
        "arrival_s",
        "arrival",
        "arrival_time",
        "arrival_time_s",
        "arrived_at",
        "timestamp",
        "timestamp_s",
        "time",
        "arrival_ms",
        "arrival_time_ms",
        "timestamp_ms",
        "timestamp_ns",
        "arrival_ns",
        "arrival_time_ns",
    ),
    "input_tokens": (
        "input_tokens",
        "input_length",
        "context_tokens",
        "request_tokens",
        "prompt_tokens",
        "prompt_length",
        "num_prefill_tokens",
        "input_toks",
        "input_len",
    ),
    "output_tokens": (
        "output_tokens",
        "output_length",
        "generated_tokens",
        "response_tokens",
        "completion_tokens",
        "num_decode_tokens",
        "output_toks",
        "output_len",
    ),
    "hash_ids": ("hash_ids",),
    "cached_tokens": ("cached_tokens",),
    "adapter": ("adapter", "adapter_id", "adapter_name", "lora", "lora_id", "lora_name", "lora_adapter"),
}
"""What a column may be called: Azure, Mooncake, BurstGPT, Vidur and plain names. Compared without case and marks."""

NEEDED = ("arrival", "input_tokens", "output_tokens")
_UNITS = {"ms": 1e-3, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a file keeps what is wanted: role → its own name for it. ``ignored`` are the names not read."""

    names: Mapping[str, str]
    ignored: tuple[str, ...]
    seconds_per_unit: float
    """What one unit of the arrival column is [s]."""

    def called(self, role: str) -> str:
        """The file's own name of a column, for messages."""
        return self.names.get(role, role)


def text_of(data: bytes, *, max_bytes: int, max_unpacked_bytes: int) -> str:
    """The text of an upload, unpacked when it is gzip; raises `ImportProblem` past a limit."""
    if len(data) > max_bytes:
        raise ImportProblem(None, "file", f"is larger than {max_bytes // 2**20} MiB")
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(data, max_unpacked_bytes)
    elif data[:4] == b"PK\x03\x04":
        raise ImportProblem(None, "file", "is a ZIP archive; give the CSV or JSONL file itself, or that file as .gz")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ImportProblem(line, "file", "is not UTF-8 text") from None
    if not text.strip():
        raise ImportProblem(1, "file", "is empty")
    if "\0" in text:
        raise ImportProblem(text.count("\n", 0, text.index("\0")) + 1, "file", "holds a zero byte; this is not text")
    return text


def _unpacked(data: bytes, limit: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            unpacked = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ImportProblem(None, "file", f"cannot be unpacked: {error}") from None
    if len(unpacked) > limit:
        raise ImportProblem(None, "file", f"unpacks to more than {limit // 2**20} MiB")
    return unpacked


def rows_of(text: str) -> tuple[Columns, Iterator[tuple[int, list[Any]]]]:
    """The columns of a trace and its rows: line number and the values by role, in the order of `NAMES`.

    A role the file lacks is None in every row.
    """
    return _json_rows(text) if text.lstrip()[:1] in "{[" else _csv_rows(text)


def _csv_rows(text: str) -> tuple[Columns, Iterator[tuple[int, list[Any]]]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in _header_row(reader)]
    columns = columns_of(header)
    places = {role: header.index(name) for role, name in columns.names.items()}
    order = [places.get(role) for role in NAMES]
    longest = max(places.values())

    def rows() -> Iterator[tuple[int, list[Any]]]:
        while (row := _next_row(reader)) is not None:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if len(row) <= longest:
                missing = next(role for role, place in places.items() if place >= len(row))
                raise ImportProblem(reader.line_num, columns.called(missing), "is missing in this row")
            yield reader.line_num, [None if place is None else row[place] for place in order]

    return columns, rows()


def _header_row(reader: Any) -> Any:
    """The first row that is not blank; none at all has no columns."""
    while (row := _next_row(reader)) is not None:
        if any(name.strip() for name in row):
            return row
    return []


def _next_row(reader: Any) -> Any:
    try:
        return next(reader, None)
    except csv.Error as error:
        raise ImportProblem(reader.line_num, "file", str(error)) from None


def _json_rows(text: str) -> tuple[Columns, Iterator[tuple[int, list[Any]]]]:
    lines = ((number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip())
    first = next(lines)
    record = _record(*first)
    columns = columns_of(list(record))
    wanted = [columns.names.get(role) for role in NAMES]

    def rows() -> Iterator[tuple[int, list[Any]]]:
        yield first[0], _values(record, wanted)
        for number, line in lines:
            yield number, _values(_record(number, line), wanted)

    return columns, rows()


def _values(record: Mapping[str, Any], wanted: list[str | None]) -> list[Any]:
    return [None if name is None else record.get(name) for name in wanted]


def _record(number: int, line: str) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise ImportProblem(number, "line", f"is longer than {LONGEST_LINE // 2**20} MiB")
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


def columns_of(header: list[str]) -> Columns:
    """Find the columns in a header; raises `ImportProblem` on line 1 for one that is needed and not there."""
    plain = {_plain(name): name for name in header if name.isprintable()}
    found: dict[str, str] = {}
    for role, names in NAMES.items():
        match = next((plain[_plain(name)] for name in names if _plain(name) in plain), None)
        if match is not None:
            found[role] = match
    for role in NEEDED:
        if role not in found:
            have = ", ".join(excerpt(name) for name in header[:12]) or "none"
            looked = ", ".join(NAMES[role][:5])
            raise ImportProblem(1, role, f"no such column; looked for {looked} …; the file has {have}")
    ignored = tuple(excerpt(name) for name in header if name not in found.values())[:20]
    return Columns(found, ignored, _seconds_per_unit(arrival=found["arrival"], inputs=found["input_tokens"]))


def _seconds_per_unit(*, arrival: str, inputs: str) -> float:
    """As the name of the column says; Mooncake's ``timestamp`` is in milliseconds."""
    suffix = re.search(r"_(ms|ns)$", arrival.lower())
    if suffix:
        return _UNITS[suffix.group(1)]
    mooncake = (arrival.lower(), inputs.lower()) == ("timestamp", "input_length")
    return 1e-3 if mooncake else 1.0


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

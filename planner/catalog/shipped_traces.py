"""The traces that ship with the project: CSV files beside the workloads that name them."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from planner.catalog.columns import workload_of
from planner.catalog.importers.traces import Trace, read_trace
from planner.core.simulation import Workload

_LARGEST_BYTES, _MOST_ROWS = 2**28, 5_000_000


class ChangedTraceError(ValueError):
    """The file is not the one whose digest the workload gives."""


def read(path: Path, *, sha256: str) -> Trace:
    """The trace in a file; raises `ChangedTraceError`."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ChangedTraceError(f"does not match {path.name}")
    return read_trace(data, max_bytes=_LARGEST_BYTES, max_unpacked_bytes=_LARGEST_BYTES, max_rows=_MOST_ROWS)


@lru_cache(maxsize=8)
def requests(path: Path, *, sha256: str, name: str, source: str) -> Workload:
    """Its requests under a name and a source, read once a process."""
    return workload_of(read(path, sha256=sha256), name=name, source=source)

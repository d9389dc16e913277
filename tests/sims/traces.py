"""The shipped traces, read from their files by a few lines that know nothing of the catalog."""

from __future__ import annotations

import csv
import functools
import gzip
import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "planner" / "catalog" / "data" / "workloads"


@functools.cache
def requests_of(name: str) -> tuple[tuple[int, ...], ...]:
    """The blocks of each request of a Mooncake trace (512 tokens a block)."""
    path = FOLDER / f"mooncake-{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return tuple(tuple(json.loads(row["hash_ids"])) for row in csv.DictReader(file))


@functools.cache
def stream_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All blocks of a trace in one row, and where each request begins."""
    requests = requests_of(name)
    offsets = np.concatenate([[0], np.cumsum([len(blocks) for blocks in requests])])
    return np.array([block for blocks in requests for block in blocks]), offsets


@functools.cache
def columns_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals [s], prompts and answers [tokens] of a shipped trace, in the order of its file."""
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [(row["arrival_s"], row["input_tokens"], row["output_tokens"]) for row in csv.DictReader(file)]
    at_s, prompts, answers = np.array(rows, np.float64).T
    return at_s, prompts.astype(np.int64), answers.astype(np.int64)

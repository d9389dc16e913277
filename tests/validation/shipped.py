"""The catalog that rows are computed on: the files as they are, without a database."""

from __future__ import annotations

from functools import lru_cache

from planner.catalog import files


@lru_cache(maxsize=1)
def catalog() -> files.FileCatalog:
    return files.load()

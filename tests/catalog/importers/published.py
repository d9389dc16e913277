"""Configurations of real architectures with what others publish of them.

Each file holds the values of a published ``config.json`` that shapes follow from, and three things to hold them
against: totals its publisher quotes, cache bytes of a token from theory or engine logs, and ``counted``, the parameters
of the public implementation (transformers 5.24, its modules built without weights from the same values).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.catalog.importers.hf_config import read_config
from planner.catalog.llm_schema import LlmContent
from planner.core.catalog import Llm

FOLDER = Path(__file__).parent / "configs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def published(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def config(name: str) -> dict[str, Any]:
    found: dict[str, Any] = published(name)["config"]
    return found


def content(values: Any) -> LlmContent:
    """The entry that a configuration makes."""
    read = read_config(values)
    return LlmContent.model_validate(
        {
            "slug": "read",
            "name": "Read",
            "family": read.family,
            "native_dtype": read.native_dtype,
            "architecture": read.shape | {"source": "config.json", "as_of": "2026-01"},
            "quantisation": read.quantisation,
            "remarks": read.remarks,
        }
    )


def llm(values: Any) -> Llm:
    return content(values).plain()

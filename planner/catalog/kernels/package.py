"""Finds the package: its version, its folder and which engines it measured on which GPU."""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

from planner.core.latency import PACKAGE, KernelsUnavailable

_MODULE = "aiconfigurator_core"
_BELOW = "0.13"
"""The first release whose facade was not looked at."""

BACKENDS = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "trtllm"}
SYSTEMS = {
    "a100-sxm-80gb": "a100_sxm",
    "arc-pro-b60": "b60",
    "b200-sxm": "b200_sxm",
    "b300-sxm": "b300_sxm",
    "gb200": "gb200",
    "gb300": "gb300",
    "h100-sxm": "h100_sxm",
    "h200-sxm": "h200_sxm",
    "l40s": "l40s",
    "rtx-pro-6000-server": "rtx_pro_6000_server",
}
"""Our slug of a GPU and the package's name of the system measured. GPUs that only share a chip are not in here."""


@lru_cache(maxsize=1)
def installed() -> str | None:
    """The package and its version, or None when it is not installed."""
    if util.find_spec(_MODULE) is None:
        return None
    try:
        return f"{PACKAGE} {metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        return None


def folder() -> Path:
    """Where the package lives; raises `KernelsUnavailable` when it is missing or of a release not known here."""
    found, spec = installed(), util.find_spec(_MODULE)
    if found is None or spec is None or spec.origin is None:
        raise KernelsUnavailable(
            f"Measured kernels need the package {PACKAGE}, which is not installed: install "
            "requirements/measured.txt as docs/how-to/measured-kernels.md says.",
            installed=False,
        )
    version = found.split()[-1]
    if not version.startswith("0.12."):
        raise KernelsUnavailable(f"{found} is installed; its tables are read from 0.12 on and below {_BELOW}.")
    return Path(spec.origin).parent


@lru_cache(maxsize=1)
def versions() -> dict[str, dict[str, str]]:
    """By system and back end, the engine version whose tables are read by default."""
    folder()
    from aiconfigurator_core.sdk import perf_database

    _quiet()
    found: dict[str, dict[str, str]] = {}
    for system, backends in perf_database.get_supported_databases().items():
        for backend in backends:
            slots = perf_database.get_version_slots(system, backend)
            if slots:
                found.setdefault(system, {})[backend] = str(slots["current"])
    return found


def handle() -> Any:
    """The class that compiles and evaluates an engine."""
    folder()
    from aiconfigurator_core.sdk import EngineHandle

    _quiet()
    return EngineHandle


def _quiet() -> None:
    """Its notes on rows borrowed between engines would fill the log with every table loaded."""
    logging.getLogger(_MODULE).setLevel(logging.ERROR)

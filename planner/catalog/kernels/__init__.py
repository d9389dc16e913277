"""Measured kernels of the optional package ``aiconfigurator-core``: found when installed, read when asked for.

Only the package's stable facade is used (``EngineHandle``); it reads its tables from its own folder and needs no
network. Nothing here is imported before somebody asks.
"""

from __future__ import annotations

from planner.catalog.kernels.package import installed
from planner.catalog.kernels.source import times

__all__ = ["installed", "times"]

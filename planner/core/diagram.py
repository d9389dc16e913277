"""The architecture of a design as boxes, stores and flows with its own figures; drawn by `planner.charts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Box:
    """A role or a store. ``rank`` is its place along the main flow (0 first), ``lane`` its place across."""

    name: str
    title: str
    lines: tuple[str, ...] = ()
    rank: int = 0
    lane: int = 0
    form: Literal["role", "store", "source"] = "role"


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow from one box to another, labelled with its rate and the share of the link it takes."""

    source: str
    target: str
    label: str = ""
    both_ways: bool = False


@dataclass(frozen=True, slots=True)
class Diagram:
    title: str
    boxes: tuple[Box, ...]
    flows: tuple[Flow, ...]
    summary: str = ""

"""What a design buys, in words that all kinds share: pools of units, other items of the bill, tokens, and its purposes.

Money, reliability, composition and comparison read a design through this value, so that none of them knows a kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TokenBasis = Literal["output", "input", "cached_input", "total", "good_output"]
Nature = Literal["gpu", "host", "storage", "network"]


@dataclass(frozen=True, slots=True)
class Pool:
    """Units of one role, bought, started and lost as wholes.

    ``needed_units`` carry the peak with nothing to spare: a fraction, before headroom and whole units. ``units`` are
    bought, ``spare_units`` of them beside the need. A unit spans ``nodes_per_unit`` nodes, or ``units_per_node`` share
    one; the larger of the two numbers is 1 or more, the other 1.
    """

    name: str
    label: str
    noun: str
    units: int
    needed_units: float
    spare_units: int = 0
    unit_gpus: int = 0
    gpu: str = ""
    unit_usd_per_h: float | None = None
    nodes_per_unit: int = 1
    units_per_node: int = 1
    headroom: float = 0.0
    spare_field: str = ""
    """The input that buys one more; "" where the number of units follows from something else."""
    follows_demand: bool = True
    """Whether its need grows and shrinks with the demand of the design."""

    @property
    def gpus(self) -> int:
        return self.units * self.unit_gpus

    @property
    def usd_per_h(self) -> float | None:
        return None if self.unit_usd_per_h is None else self.units * self.unit_usd_per_h


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill that is not a pool of units: bytes kept, traffic, processors."""

    name: str
    label: str
    nature: Nature
    quantity: float
    unit: str
    usd_per_h: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """A part of the bill by what it is spent on. ``is_used`` is False for what is bought and stands idle."""

    name: str
    label: str
    usd_per_h: float
    is_used: bool = True


@dataclass(frozen=True, slots=True)
class Failures:
    """How what fails together fails: nodes a unit is lost with, their rate [1/h], and the time back [h]."""

    per_node_h: float
    repair_h: float
    availability: float | None = None
    """The share of time in which the peak is to be carried, where the design states one."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """All that is bought for a design at its peak. ``tokens_per_s`` of each basis are those of the peak."""

    pools: tuple[Pool, ...]
    items: tuple[Item, ...] = ()
    purposes: tuple[Purpose, ...] = ()
    """They sum to the bill."""
    tokens_per_s: Mapping[TokenBasis, float] = field(default_factory=dict)
    demand_field: str = ""
    """The input that is its demand, in requests or turns a second; "" where nothing scales."""
    mean_to_peak: float = 1.0
    failures: Failures | None = None

    @property
    def gpus(self) -> int:
        return sum(pool.gpus for pool in self.pools)

    @property
    def usd_per_h(self) -> float | None:
        """The bill of an hour; None where a pool has no price."""
        pools = [pool.usd_per_h for pool in self.pools]
        known = [usd for usd in pools if usd is not None]
        if len(known) < len(pools):
            return None
        return math.fsum([*known, *(item.usd_per_h for item in self.items)])

"""What a design buys, in words that all kinds share: pools of units, other items of the bill, tokens, and its purposes.

Money, reliability, composition and comparison read a design through this value, so that none of them knows a kind.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from planner.core.result import Result

GPUS_PER_NODE = 8
"""Of a node where a design does not state it: what HGX and DGX boards have."""
_SAME_BILL = 1e-6
"""Relative difference up to which the purposes and what is bought are one bill."""

TokenBasis = Literal["output", "input", "cached_input", "total", "good_output"]
Nature = Literal["gpu", "host", "storage", "network"]


@dataclass(frozen=True, slots=True)
class Pool:
    """Units of one role, bought, started and lost as wholes.

    ``needed_units`` carry the peak with nothing to spare: a fraction, before headroom and whole units; None where no
    number of them does. ``units`` are bought, ``spare_units`` of them beside the need. A unit spans ``nodes_per_unit``
    nodes, or ``units_per_node`` share one; at least one of the two numbers is 1.
    """

    name: str
    label: str
    noun: str
    units: int
    needed_units: float | None
    spare_units: int = 0
    unit_gpus: int = 0
    gpu: str = ""
    unit_usd_per_h: float | None = None
    nodes_per_unit: int = 1
    units_per_node: int = 1
    headroom: float = 0.0
    spare_field: str = ""
    """The input that buys one more; "" where the number of units follows from something else."""
    spare_value: int = 0
    """What that input says for the units bought; a unit more adds ``spare_step``."""
    spare_step: int = 1
    price_field: str = ""
    """The input that sets the price of its GPU-hour; "" where there is none."""
    size_field: str = ""
    """The input that sets ``unit_gpus``; "" where there is none."""
    is_billed: bool = True
    """False where the design leaves the pool out of its bill."""
    follows_demand: bool = True
    """Whether its need grows and shrinks with the demand of the design."""
    borrows: bool = False
    """Whether its work can be done by the hour on GPUs that another design does not need then."""

    @property
    def gpus(self) -> int:
        return self.units * self.unit_gpus

    @property
    def usd_per_h(self) -> float | None:
        if not self.is_billed:
            return 0.0
        return None if self.unit_usd_per_h is None else self.units * self.unit_usd_per_h

    def bought(self, units: int) -> Mapping[str, int] | None:
        """The change of the spec that buys so many units instead; None where no input does."""
        value = self.spare_value + (units - self.units) * self.spare_step
        if not self.spare_field or value < 0 or units < 1:
            return None
        return {self.spare_field: value}


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
    """They sum to the bill, to the last bit; none where there is no bill."""
    tokens_per_s: Mapping[TokenBasis, float] = field(default_factory=dict)
    demand_field: str = ""
    """The input that is its demand, in requests or turns a second; "" where nothing scales."""
    mean_to_peak: float = 1.0
    leaves_out: str = ""
    """What of serving its tokens the bill does not hold, in words."""
    failures: Failures | None = None

    def __post_init__(self) -> None:
        bought, spent = self._bought_usd_per_h, self._spent_usd_per_h
        if not self.purposes:
            return
        if bought is None or not math.isclose(bought, spent, rel_tol=_SAME_BILL, abs_tol=_SAME_BILL):
            raise ValueError(f"the purposes sum to {spent} USD/h, what is bought to {bought}")

    @property
    def gpus(self) -> int:
        return sum(pool.gpus for pool in self.pools)

    @property
    def usd_per_h(self) -> float | None:
        """The bill of an hour; None where a pool has no price."""
        return self._spent_usd_per_h if self.purposes else self._bought_usd_per_h

    @property
    def _spent_usd_per_h(self) -> float:
        return sum(purpose.usd_per_h for purpose in self.purposes)

    @property
    def _bought_usd_per_h(self) -> float | None:
        pools = [pool.usd_per_h for pool in self.pools]
        known = [usd for usd in pools if usd is not None]
        return math.fsum([*known, *(item.usd_per_h for item in self.items)]) if len(known) == len(pools) else None


def purposes_of(result: Result, *, names: Iterable[str], idle: Collection[str]) -> tuple[Purpose, ...]:
    """The parts of the bill that a result has as metrics ``<name>_usd_per_h``; none where there is no bill."""
    found = [(name, result.metrics.get(f"{name}_usd_per_h")) for name in names]
    return tuple(
        Purpose(name, metric.definition.label, metric.value, is_used=name not in idle)
        for name, metric in found
        if metric is not None and metric.value is not None
    )

"""Designs joined to one fleet: in which order they are answered, and the units that work elsewhere at night."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from planner.core.fleet import Fleet, Pool


@dataclass(frozen=True, slots=True)
class Join:
    """``via`` is a port (`core.ports`) or `core.ports.NIGHTS`, from one member to another, by name."""

    source: str
    target: str
    via: str


@dataclass(frozen=True, slots=True)
class Night:
    """The quiet hours of a day: how many, the share of the peak that is asked then, and what a change of work takes."""

    hours: float = 8.0
    share: float = 0.3
    switch_s: float = 900.0

    @property
    def usable_h(self) -> float:
        """Hours in which lent units work: a change there and one back are lost."""
        return max(0.0, self.hours - 2 * self.switch_s / 3600)


@dataclass(frozen=True, slots=True)
class Lent:
    """Units of one pool that work for another at night.

    ``idle_units`` are not needed then, ``lent_units`` of them are used: together they do the work of
    ``replaced_units`` of the borrower, which need not be paid for ``hours`` a day.
    """

    lender: str
    borrower: str
    idle_units: int
    lent_units: int
    replaced_units: int
    hours: float
    saved_usd_per_h: float
    """Of the mean hour of a day."""


class Cycle(ValueError):
    """Members that feed each other in a ring have no order to be answered in."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(" → ".join(names))
        self.names = tuple(names)


def in_order(names: Sequence[str], *, joins: Sequence[Join]) -> list[str]:
    """The members, each after those that feed it; raises `Cycle`."""
    sorter: TopologicalSorter[str] = TopologicalSorter({name: [] for name in names})
    for join in joins:
        sorter.add(join.target, join.source)
    try:
        order = list(sorter.static_order())
    except CycleError as error:
        raise Cycle(error.args[1]) from None
    return order


def idle_at_night(pool: Pool, *, share: float) -> int:
    """Units that the night does not need: headroom and spares are kept in proportion to its demand, whole units.

    >>> idle_at_night(Pool("decode", "", "", units=3, needed_units=1.5, spare_units=1, headroom=0.2), share=0.3)
    1
    """
    if pool.needed_units is None or not pool.follows_demand:
        return 0
    wanted = math.ceil(pool.needed_units * share * (1 + pool.headroom) - 1e-9) + pool.spare_units
    return max(0, pool.units - wanted)


def lend(lender: Fleet, *, borrower: Fleet, night: Night) -> list[Lent]:
    """Night units of one fleet put to the work of another, pool by pool; only GPUs of the same type are taken.

    A lent unit does the work of as many of the borrower's units as its GPUs hold; what the borrower has already been
    given is not given twice.
    """
    found: list[Lent] = []
    left = {pool.name: pool.units for pool in borrower.pools if pool.borrows}
    for pool in lender.pools:
        for wanted in borrower.pools:
            if not wanted.borrows or not left[wanted.name] or pool.gpu != wanted.gpu or not pool.gpu:
                continue
            lent = _lent(pool, wanted=wanted, units=left[wanted.name], night=night)
            if lent is not None:
                found.append(lent)
                left[wanted.name] -= lent.replaced_units
    return found


def _lent(pool: Pool, *, wanted: Pool, units: int, night: Night) -> Lent | None:
    idle = idle_at_night(pool, share=night.share)
    each = pool.unit_gpus // wanted.unit_gpus if wanted.unit_gpus else 0
    if not idle or not each or night.usable_h <= 0:
        return None
    replaced = min(units, idle * each)
    saved = replaced * (wanted.unit_usd_per_h or 0.0) * night.usable_h / 24
    return Lent(pool.name, wanted.name, idle, math.ceil(replaced / each), replaced, night.usable_h, saved)


def absorbed_by(joins: Sequence[Join], *, absorbed: Mapping[tuple[str, str], Sequence[str]]) -> dict[str, set[str]]:
    """Pools of each member that are machines of another: by member, from what each join's offer absorbs."""
    found: dict[str, set[str]] = {}
    for join in joins:
        found.setdefault(join.source, set()).update(absorbed.get((join.source, join.via), ()))
    return found

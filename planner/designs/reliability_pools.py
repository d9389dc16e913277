"""One pool of a design: what it stands on, what a failure takes, and what N + k carries."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.core.fleet import Fleet, Pool
from planner.core.reliability import Domain, Level, PoolReliability, Rate, ReliabilityTerms
from planner.core.text import gettext_noop as _
from planner.formulas import reliability, sizing
from planner.formulas import reliability_domains as domains
from planner.formulas.cost import HOURS_PER_MONTH

MOST_UNITS = 50_000
"""Beyond, the distribution of what is up is not worked out."""
HOURS_PER_YEAR = 12 * HOURS_PER_MONTH
_FIRST = (0, 1, 2, 3)
_ENOUGH = 1e-12
"""Share of time below which a miss is rounding."""
LABELS = {
    "gpu": _("A GPU"),
    "engine": _("An engine"),
    "node": _("A node"),
    "rack": _("A rack"),
    "zone": _("A power zone"),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What all pools of a design share."""

    terms: ReliabilityTerms
    rates: Mapping[str, Rate]
    target: float
    bill_usd_per_h: float | None

    def levels(self, pool: Pool) -> tuple[domains.Level, ...]:
        """What the units of a pool stand in."""
        rates, shared = self.rates, pool.units_per_node > 1
        return domains.nested(
            nodes_per_unit=pool.nodes_per_unit,
            units_per_node=pool.units_per_node,
            nodes_per_rack=self.terms.nodes_per_rack,
            racks_per_zone=self.terms.racks_per_zone,
            own_up=domains.up_alone(
                [
                    (pool.unit_gpus, rates["gpu"].failures_per_h, rates["gpu"].repair_h),
                    (1, rates["engine"].failures_per_h, rates["engine"].repair_h),
                    (0 if shared else pool.nodes_per_unit, rates["node"].failures_per_h, rates["node"].repair_h),
                ]
            ),
            node_up=_up(rates["node"]) if shared else 1.0,
            rack_up=_up(rates["rack"]),
            zone_up=_up(rates["zone"]),
            racks=self.terms.racks,
            zones=self.terms.zones,
        )

    def carried(self, pool: Pool, *, needed: int, units: int) -> float:
        """Share of time in which enough of so many units are up."""
        short = domains.short_of(needed, units=units, levels=self.levels(pool))
        return 1.0 if short < _ENOUGH else 1 - short


def _up(rate: Rate) -> float:
    return reliability.unit_availability(1, failures_per_node_h=rate.failures_per_h, repair_h=rate.repair_h)


def in_pool(fleet: Fleet, *, name: str) -> Pool | None:
    """The pool of a name; None where a design has none."""
    return next((pool for pool in fleet.pools if pool.name == name), None)


def pool_reliability(pool: Pool, *, setting: Setting) -> PoolReliability:
    """What a pool carries as bought and with other numbers of units."""
    levels = setting.levels(pool)
    known = pool.needed_units is not None and max(pool.units, pool.needed_units) <= MOST_UNITS
    needed = sizing.whole(pool.needed_units) if known and pool.needed_units is not None else None
    found = PoolReliability(
        name=pool.name,
        label=pool.label,
        noun=pool.noun,
        units=pool.units,
        spare_units=pool.spare_units,
        needed=needed,
        unit_gpus=pool.unit_gpus,
        unit_up=domains.unit_up(levels),
        carried=None,
        target=setting.target,
        spares_for_target=None,
    )
    return found if needed is None else _answered(found, pool, needed=needed, setting=setting)


def _answered(found: PoolReliability, pool: Pool, *, needed: int, setting: Setting) -> PoolReliability:
    wanted = _spares_for_target(pool, needed=needed, setting=setting)
    lost = tuple(_domain(name, pool, needed=needed, setting=setting) for name in _names(pool, setting=setting))
    asked = {*_FIRST, pool.units - needed, wanted or 0, *(each.spares_to_carry for each in lost)}
    return replace(
        found,
        carried=setting.carried(pool, needed=needed, units=pool.units),
        spares_for_target=wanted,
        domains=lost,
        levels=tuple(
            _level(spares, pool, needed=needed, lost=lost, setting=setting)
            for spares in sorted(asked)
            if spares >= 0 and needed + spares <= MOST_UNITS
        ),
    )


def _spares_for_target(pool: Pool, *, needed: int, setting: Setting) -> int | None:
    if not needed:
        return 0
    levels = setting.levels(pool)
    # More than the need and two zones beyond it would only be bought against zones that are lost all the time.
    most = max(min(MOST_UNITS - needed, needed + 2 * levels[-1].units + 64), 0)
    return domains.spares_for(needed, levels=levels, target=setting.target, at_most=most)


def _names(pool: Pool, *, setting: Setting) -> list[str]:
    """The domains of a pool: a cause that never strikes is none, but for the node that all stands on."""
    there = [name for name in LABELS if name in ("node", "rack", "zone") or setting.rates[name].failures_per_h > 0]
    return there if pool.unit_gpus else [name for name in there if name != "gpu"]


def units_lost(name: str, *, units: int, levels: tuple[domains.Level, ...]) -> int:
    """Units that the failure of one takes along, at the most."""
    place = {"gpu": 0, "engine": 0, "node": 1, "rack": 2, "zone": 3}[name]
    return domains.most_together(units, levels=levels)[place]


def _domain(name: str, pool: Pool, *, needed: int, setting: Setting) -> Domain:
    levels, rate = setting.levels(pool), setting.rates[name]

    def stays(units: int) -> int:
        return units - units_lost(name, units=units, levels=levels)

    lost = pool.units - stays(pool.units)
    most = levels[-1].units + 1
    return Domain(
        name=name,
        label=LABELS[name],
        rate=rate,
        units_lost=lost,
        gpus_lost=lost * pool.unit_gpus,
        failures_per_year=_count(name, pool, setting=setting) * rate.failures_per_h * HOURS_PER_YEAR,
        left=stays(pool.units) / pool.needed_units if pool.needed_units else None,
        carries=stays(pool.units) >= needed,
        spares_to_carry=bisect_left(range(most), needed, key=lambda spares: stays(needed + spares)),
    )


def _count(name: str, pool: Pool, *, setting: Setting) -> int:
    """How many of a domain the pool stands on."""
    terms, levels, units = setting.terms, setting.levels(pool), pool.units
    if name == "gpu":
        return pool.gpus
    if name in ("engine", "node"):
        return units if name == "engine" else math.ceil(units * pool.nodes_per_unit / pool.units_per_node)
    racks_of_one = math.ceil(pool.nodes_per_unit / terms.nodes_per_rack)
    if name == "rack":
        return max(math.ceil(units / levels[2].units), min(terms.racks, units)) * racks_of_one
    zones = max(math.ceil(units / levels[3].units), min(terms.zones, units))
    return zones * math.ceil(racks_of_one / terms.racks_per_zone)


def _level(spares: int, pool: Pool, *, needed: int, lost: tuple[Domain, ...], setting: Setting) -> Level:
    units, levels = needed + spares, setting.levels(pool)
    carried = setting.carried(pool, needed=needed, units=units)
    usd = None if pool.unit_usd_per_h is None else spares * pool.unit_usd_per_h
    bill = setting.bill_usd_per_h
    left = {
        each.name: (units - units_lost(each.name, units=units, levels=levels)) / pool.needed_units
        if pool.needed_units
        else None
        for each in lost
    }
    return Level(
        spares=spares,
        units=units,
        carried=carried,
        carried_apart=reliability.at_least_up(needed, units=units, availability=domains.unit_up(levels)),
        below_min_per_month=(1 - carried) * HOURS_PER_MONTH * 60,
        left=left,
        spares_usd_per_h=usd,
        bill_share=usd / bill if usd is not None and bill else None,
        change=None if units == pool.units else pool.bought(units),
        is_bought=units == pool.units,
        is_enough=carried >= setting.target,
    )

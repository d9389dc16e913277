"""Ways to keep a promise: more units of the size there is, or smaller ones, each priced on the design it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner import kinds
from planner.core.fleet import Fleet
from planner.core.reliability import PoolReliability, Way
from planner.core.result import Severity
from planner.core.wording import counted
from planner.designs import estimation
from planner.designs.effects import changed
from planner.designs.estimation import Estimate
from planner.designs.reliability_pools import Setting, in_pool, pool_reliability

MOST_HALVINGS = 2


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A design with units of some size, the change that makes it, and the pool in it."""

    estimate: Estimate
    change: Mapping[str, Any]
    pool: PoolReliability
    cautions: tuple[str, ...] = ()


def fleet_of(estimate: Estimate) -> Fleet:
    """What a design buys; of a kind that does not tell, nothing."""
    hook = kinds.planning(estimate.kind.slug).fleet
    return Fleet(pools=()) if hook is None else hook(estimate.spec, estimate.result, estimate.catalog)


def ways_of(estimate: Estimate, pool: PoolReliability, *, setting: Setting) -> tuple[Way, ...]:
    """More units of this size, and units of half and a quarter of it; the cheapest is marked."""
    base = _Candidate(estimate, {}, pool)
    found = [way for each in (base, *_smaller(base, setting=setting)) if (way := _way(each, base, setting=setting))]
    if not found:
        return ()
    cheapest = min(range(len(found)), key=lambda place: _preferred(found[place]))
    return tuple(replace(way, is_cheapest=place == cheapest) for place, way in enumerate(found))


def _preferred(way: Way) -> tuple[bool, float, int]:
    """What an input does comes first, then the cheapest; without a price the fewest GPUs."""
    return way.change is None, way.usd_per_h if way.usd_per_h is not None else 0.0, way.units * max(way.unit_gpus, 1)


def _smaller(base: _Candidate, *, setting: Setting) -> list[_Candidate]:
    """The same design with smaller units, as far as they have an answer without an error that was not there."""
    pool = in_pool(fleet_of(base.estimate), name=base.pool.name)
    found: list[_Candidate] = []
    for halvings in range(1, MOST_HALVINGS + 1):
        gpus, rest = divmod(pool.unit_gpus if pool else 0, 2**halvings)
        if pool is None or not pool.size_field or gpus < 1 or rest:
            break
        change = {pool.size_field: gpus}
        try:
            after = changed(base.estimate, change=change)
        except estimation.CANNOT_ANSWER:
            continue
        there = in_pool(fleet_of(after), name=pool.name)
        if there is not None and not _added(base.estimate, after, severity="error"):
            cautions = _added(base.estimate, after, severity="warning")
            found.append(_Candidate(after, change, pool_reliability(there, setting=setting), cautions))
    return found


def _added(before: Estimate, after: Estimate, *, severity: Severity) -> tuple[str, ...]:
    """What only the second design is told."""
    known = {finding.code for finding in before.result.findings}
    found = [each for each in after.result.findings if each.severity == severity and each.code not in known]
    return tuple(each.message for each in found)


def _way(candidate: _Candidate, base: _Candidate, *, setting: Setting) -> Way | None:
    """Units of the size of a candidate, so many that the promise is kept."""
    made, answered = fleet_of(candidate.estimate), candidate.pool
    pool = in_pool(made, name=answered.name)
    if pool is None or answered.needed is None or answered.spares_for_target is None:
        return None
    units = max(answered.needed + answered.spares_for_target, 1)
    buys: Mapping[str, Any] | None = {} if units <= pool.units else pool.bought(units)
    units = max(units, pool.units)
    bill, before = made.usd_per_h, fleet_of(base.estimate).usd_per_h
    grows = None
    if bill is not None and before is not None and pool.unit_usd_per_h is not None:
        grows = math.fsum((bill, -before, (units - pool.units) * pool.unit_usd_per_h))
    return Way(
        label=counted(units, pool.noun) + (f" of {counted(pool.unit_gpus, 'GPU')}" if pool.unit_gpus else ""),
        change=None if buys is None else {**candidate.change, **buys},
        units=units,
        unit_gpus=pool.unit_gpus,
        spares=units - answered.needed,
        carried=setting.carried(pool, needed=answered.needed, units=units),
        usd_per_h=grows,
        cautions=candidate.cautions,
    )

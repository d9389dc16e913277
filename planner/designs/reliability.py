"""How reliable a design is by failure domain, what each spare unit adds and costs, and what reaches the promise.

Works on what all kinds buy (`core.fleet`); the formulas are in `formulas.reliability_domains`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.core.fleet import Failures
from planner.core.reliability import Placement, PoolReliability, Rate, Reliability, ReliabilityTerms, Way
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.reliability_pools import Setting, pool_reliability
from planner.designs.reliability_ways import fleet_of, ways_of
from planner.designs.reliability_words import findings, sentence
from planner.formulas.cost import HOURS_PER_MONTH

CAUSES = ("gpu", "node", "engine", "rack", "zone")
MOST_ZONES = 4
"""Zones over which dealing the units out is tried."""
_COUNTED = "counted with the nodes of the design"
_GIVEN = "given"


def reliability(estimate: Estimate, *, terms: ReliabilityTerms) -> Reliability:
    """Plan the reliability of an answered design."""
    found = _placed(estimate, terms=terms)
    others = [zones for zones in range(1, MOST_ZONES + 1) if zones != terms.zones] if found.pools else []
    found = replace(found, placements=tuple(_placement(estimate, terms=terms, zones=zones) for zones in others))
    return replace(found, sentence=sentence(found), findings=findings(found))


def _placed(estimate: Estimate, *, terms: ReliabilityTerms) -> Reliability:
    """The figures of one placement."""
    bought = fleet_of(estimate)
    figures = estimate.catalog.calibration("failures")["figures"]
    stated = bought.failures
    target = terms.availability or (stated and stated.availability) or float(figures["availability"]["value"])
    rates = rates_of(terms, stated=stated, figures=figures)
    units = [pool for pool in bought.pools if pool.units or pool.needed_units]
    # The misses of all pools are at most their sum: each may have its part of what the promise leaves.
    setting = Setting(terms, rates, 1 - (1 - target) / max(len(units), 1), bought.usd_per_h)
    pools = [pool_reliability(pool, setting=setting) for pool in units]
    pools = [replace(pool, ways=ways_of(estimate, pool, setting=setting)) if _misses(pool) else pool for pool in pools]
    carried = _together(pools)
    change, usd_per_h = _cheapest(pools)
    return Reliability(
        pools=tuple(pools),
        target=target,
        carried=carried,
        below_min_per_month=None if carried is None else (1 - carried) * HOURS_PER_MONTH * 60,
        rates=rates,
        change={} if carried is not None and carried >= target else change,
        change_usd_per_h=0.0 if carried is not None and carried >= target else usd_per_h,
        bill_usd_per_h=bought.usd_per_h,
        zones=terms.zones,
        provenance=estimation.made_by(estimate.kind, catalog=estimate.catalog),
    )


def _placement(estimate: Estimate, *, terms: ReliabilityTerms, zones: int) -> Placement:
    there = _placed(estimate, terms=terms.model_copy(update={"zones": zones, "racks": max(terms.racks, zones)}))
    return Placement(zones, there.carried, there.change, there.change_usd_per_h)


def rates_of(
    terms: ReliabilityTerms, *, stated: Failures | None, figures: Mapping[str, Mapping[str, Any]]
) -> dict[str, Rate]:
    """Of each cause what is given, what the design says, or what is published, in this order.

    A design that says how often its nodes fail means all that stops one: its GPUs and engines are then counted there.
    """
    own: dict[str, Rate] = {}
    if stated is not None:
        own["node"] = Rate(stated.per_node_h, stated.repair_h, "of the design")
        own["gpu"] = own["engine"] = Rate(0.0, stated.repair_h, _COUNTED)
    return {cause: _rate(cause, terms=terms, own=own.get(cause), figures=figures) for cause in CAUSES}


def _rate(cause: str, *, terms: ReliabilityTerms, own: Rate | None, figures: Mapping[str, Mapping[str, Any]]) -> Rate:
    often, away = figures[f"{cause}_failures_per_h"], figures[f"{cause}_repair_h"]
    base = own or Rate(float(often["value"]), float(away["value"]), f"{often['source']}; {away['source']}")
    given = getattr(terms, f"{cause}_failures_per_h"), getattr(terms, f"{cause}_repair_h")
    if given == (None, None):
        return base
    often_h = base.failures_per_h if given[0] is None else given[0]
    return Rate(often_h, base.repair_h if given[1] is None else given[1], _GIVEN)


def _misses(pool: PoolReliability) -> bool:
    return pool.carried is not None and pool.carried < pool.target


def _together(pools: Sequence[PoolReliability]) -> float | None:
    """All pools at once, as if they failed apart."""
    shares = [pool.carried for pool in pools]
    known = [share for share in shares if share is not None]
    return math.prod(known) if len(known) == len(shares) and shares else None


def _cheapest(pools: Iterable[PoolReliability]) -> tuple[Mapping[str, Any] | None, float | None]:
    """The change that mends every pool, and its price; None where one of them cannot be mended, or has no price."""
    best = [_marked(pool.ways) for pool in pools if _misses(pool)]
    change: dict[str, Any] = {}
    prices: list[float | None] = []
    for way in best:
        if way is None or way.change is None:
            return None, None
        change |= way.change
        prices.append(way.usd_per_h)
    known = [price for price in prices if price is not None]
    return change, math.fsum(known) if len(known) == len(prices) else None


def _marked(ways: Sequence[Way]) -> Way | None:
    return next((way for way in ways if way.is_cheapest), None)

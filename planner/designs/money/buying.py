"""How to buy a fleet over the coming years: demand by hour and month, rates by commitment, and the cheapest mix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.core.money import MoneyTerms
from planner.designs.money.offers import NoQuote, Quote, listed, owned
from planner.formulas import commitment, diurnal
from planner.formulas.commitment import HOURS_PER_YEAR, MONTHS_PER_YEAR, Mix, Rates

if TYPE_CHECKING:
    from planner.core.catalog import Catalog
    from planner.core.fleet import Fleet, Pool

_WEEKS = {"global": diurnal.global_week, "office": diurnal.office_week, "flat": diurnal.flat_week}


@dataclass(frozen=True, slots=True)
class Bought:
    """The plan of one pool: what each hour needs, what is bought on which terms, and what that costs [USD]."""

    pool: Pool
    quotes: Mapping[str, Quote]
    """By commitment: on_demand, reserved_1y, reserved_3y, spot."""
    units: NDArray[np.int64]
    mix: Mix
    perfect_usd: float
    peak_usd: float

    @property
    def usd(self) -> float:
        return self.mix.usd

    def committed(self, month: int) -> int:
        return self.mix.committed_units(month)


@dataclass(frozen=True, slots=True)
class Buying:
    """The plan of a fleet over its horizon. ``other_usd`` is what does not follow demand by the hour: storage, traffic.

    ``demand`` is over the peak of today, by month and hour of the week, or of the day where all days are alike; one
    row stands for all months where none differs.
    """

    demand: NDArray[np.float64]
    pools: tuple[Bought, ...]
    other_usd: float
    hours: float
    missing: tuple[str, ...] = ()
    """Pools that cannot be planned for want of a price."""

    @property
    def usd(self) -> float:
        return math.fsum([*(pool.usd for pool in self.pools), self.other_usd])

    @property
    def perfect_usd(self) -> float:
        """No plan costs less: the exact need of each hour at the cheapest terms."""
        return math.fsum([*(pool.perfect_usd for pool in self.pools), self.other_usd])

    @property
    def peak_usd(self) -> float:
        """A fleet for the peak of each month, rented on demand around the clock."""
        return math.fsum([*(pool.peak_usd for pool in self.pools), self.other_usd])

    @property
    def gap_usd(self) -> float:
        return math.fsum(pool.mix.gap_usd for pool in self.pools)

    @property
    def regret(self) -> float | None:
        """What the plan costs over perfect scaling, as a share of that."""
        return self.usd / self.perfect_usd - 1 if self.perfect_usd > 0 else None

    @property
    def saved(self) -> float | None:
        """What it saves of the fleet for the peak."""
        return 1 - self.usd / self.peak_usd if self.peak_usd > 0 else None

    @property
    def mean_to_peak(self) -> float:
        """Of the demand of the first month."""
        return float(self.demand[0].mean())

    @property
    def mean_over_plan(self) -> float:
        """Of the demand of all months over the peak of today."""
        return float(self.demand.mean())


def week_of(terms: MoneyTerms, *, mean_to_peak: float) -> NDArray[np.float64]:
    """Demand in each hour of a week over its peak, or of a day where all are alike.

    A preset has the mean asked for, or else the design's, or its own where the design says nothing.
    """
    return _shortest(_week(terms, mean_to_peak=mean_to_peak))


def _shortest(week: NDArray[np.float64]) -> NDArray[np.float64]:
    days = week.reshape(-1, diurnal.HOURS_PER_DAY)
    return days[0] if (days == days[0]).all() else week


def _week(terms: MoneyTerms, *, mean_to_peak: float) -> NDArray[np.float64]:
    if terms.weights is not None:
        hours = np.array(terms.weights, dtype=np.float64)
        week = np.tile(hours, diurnal.HOURS_PER_WEEK // len(hours))
        return week / week.max() if week.max() > 0 else week
    shape = _WEEKS["global" if terms.demand == "own" else terms.demand]()
    mean = terms.mean_to_peak or (mean_to_peak if mean_to_peak < 1 else None)
    return shape if mean is None or terms.demand == "flat" else diurnal.stretched(shape, mean=mean)


def plan_of(fleet: Fleet, *, terms: MoneyTerms, catalog: Catalog) -> Buying:
    """The cheapest mix for each pool that has a price."""
    week = week_of(terms, mean_to_peak=fleet.mean_to_peak)
    steady = terms.growth_per_month == 0
    months = 1 if steady else MONTHS_PER_YEAR * terms.horizon_years
    demand = diurnal.grown(week, months=months, growth=terms.growth_per_month)
    hours = HOURS_PER_YEAR * terms.horizon_years
    priced = [pool for pool in fleet.pools if pool.is_billed and pool.unit_usd_per_h is not None]
    return Buying(
        demand=demand,
        pools=tuple(_bought(pool, demand=demand, terms=terms, catalog=catalog) for pool in priced),
        other_usd=math.fsum(item.usd_per_h for item in fleet.items) * hours,
        hours=hours,
        missing=tuple(pool.label for pool in fleet.pools if pool.is_billed and pool.unit_usd_per_h is None),
    )


def _bought(pool: Pool, *, demand: NDArray[np.float64], terms: MoneyTerms, catalog: Catalog) -> Bought:
    quotes = rates_of(pool, terms=terms, catalog=catalog)
    rates = _rates(pool, quotes=quotes, terms=terms)
    follows = pool.follows_demand and pool.needed_units is not None
    exact = _exact(pool, demand=demand if follows else np.ones_like(demand))
    units = _units(pool, demand=demand) if follows else np.full(demand.shape, pool.units, dtype=np.int64)
    hours = HOURS_PER_YEAR * terms.horizon_years
    mix = _mix(
        units.tobytes(),
        units.shape,
        rates=rates,
        spot_share=terms.spot_share,
        start_h=terms.load_delay_s / 3600,
        hours=hours if len(demand) == 1 else HOURS_PER_YEAR,
    )
    return Bought(
        pool=pool,
        quotes=quotes,
        units=units,
        mix=mix,
        perfect_usd=diurnal.perfect_usd(exact, usd_per_h=rates.cheapest_usd_per_h, hours=hours),
        peak_usd=diurnal.peak_usd(units, usd_per_h=rates.on_demand_usd_per_h, hours=hours),
    )


@lru_cache(maxsize=128)
def _mix(units: bytes, shape: tuple[int, ...], *, rates: Rates, spot_share: float, start_h: float, hours: float) -> Mix:
    """Kept: another currency or API on the page leaves the plan as it is."""
    need = np.frombuffer(units, dtype=np.int64).reshape(shape)
    return commitment.cheapest_mix(need, rates=rates, spot_share=spot_share, start_h=start_h, hours=hours)


def _exact(pool: Pool, *, demand: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each hour needs with nothing to spare; a pool that is smaller than its need is held against what it has."""
    need = pool.units if pool.needed_units is None else min(pool.needed_units, pool.units)
    return demand * need


def _units(pool: Pool, *, demand: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole units of each hour: at the peak of today what the design buys."""
    needed = pool.needed_units or 0.0
    sized = int(diurnal.whole_units(np.ones(1), needed_units=needed, headroom=pool.headroom, beside=0)[0])
    bought = pool.units - pool.spare_units
    beside = pool.spare_units + max(bought - sized, 0)
    carried = min(needed, bought / (1 + pool.headroom))
    return diurnal.whole_units(demand, needed_units=carried, headroom=pool.headroom, beside=beside)


def rates_of(pool: Pool, *, terms: MoneyTerms, catalog: Catalog) -> dict[str, Quote]:
    """What a GPU of a pool costs by commitment: as the terms say, else as listed by who they name, else by anyone.

    A commitment longer than the plan is not offered.
    """
    gpus = pool.unit_gpus or 1
    name = catalog.gpu(pool.gpu).name if pool.gpu else ""
    own = Quote(name, "on_demand", (pool.unit_usd_per_h or 0.0) / gpus, "the design", "the design’s price")
    if not pool.gpu:
        return {"on_demand": own}
    given = {
        "reserved_1y": terms.reserved_1y_usd_per_h,
        "reserved_3y": terms.reserved_3y_usd_per_h,
        "spot": terms.spot_usd_per_h,
    }
    found = {
        term: Quote(name, term, usd, "you", "your price")
        if usd is not None
        else _offer(pool.gpu, term, terms=terms, catalog=catalog)
        for term, usd in given.items()
    }
    on_demand = own
    if terms.source in ("list", "owned"):
        on_demand = _offer(pool.gpu, "on_demand", terms=terms, catalog=catalog) or own
    if terms.source == "owned":
        found["reserved_3y"] = _cheaper(found["reserved_3y"], _owned(pool.gpu, terms=terms, catalog=catalog))
    too_long = () if terms.horizon_years == 3 else ("reserved_3y",)
    offered = {term: quote for term, quote in found.items() if quote is not None and term not in too_long}
    return {"on_demand": on_demand, **offered}


def _offer(gpu: str, name: str, *, terms: MoneyTerms, catalog: Catalog) -> Quote | None:
    named = listed(gpu, commitment=name, terms=terms, catalog=catalog)
    return named or listed(gpu, commitment=name, terms=terms, catalog=catalog, anyone=True)


def _owned(gpu: str, *, terms: MoneyTerms, catalog: Catalog) -> Quote | None:
    try:
        return owned(gpu, terms=terms, catalog=catalog)
    except NoQuote:
        return None


def _cheaper(one: Quote | None, other: Quote | None) -> Quote | None:
    offers: Sequence[Quote] = [quote for quote in (one, other) if quote is not None]
    return min(offers, key=lambda quote: quote.usd_per_h, default=None)


def _rates(pool: Pool, *, quotes: Mapping[str, Quote], terms: MoneyTerms) -> Rates:
    """Per unit; an hour on spot carries what its interruptions cost on demand."""
    gpus = pool.unit_gpus or 1
    usd = {name: quote.usd_per_h * gpus for name, quote in quotes.items()}
    spot = usd.get("spot")
    return Rates(
        on_demand_usd_per_h=usd["on_demand"],
        reserved_1y_usd_per_h=usd.get("reserved_1y"),
        reserved_3y_usd_per_h=usd.get("reserved_3y"),
        spot_usd_per_h=None if spot is None else spot + terms.spot_reserve * usd["on_demand"],
    )

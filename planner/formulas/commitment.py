"""How much capacity to commit to, and how much to rent by the hour: a linear programme over a week, month by month."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

MONTHS_PER_YEAR = 12
HOURS_PER_YEAR = 8760.0
_WHOLE = 1e-6
_LEAST = 1e-6
"""Of the dearest terms: what a commitment costs at least, so that one for nothing does not tie with everything."""
_LONGEST_S = 20.0


@dataclass(frozen=True, slots=True)
class Rates:
    """What a unit costs an hour on each terms [USD/h]; None: not on offer.

    ``spot_usd_per_h`` is what an hour on spot costs with what its interruptions cost. Over ``reserved_1y`` one decides
    each year, over ``reserved_3y`` once.
    """

    on_demand_usd_per_h: float
    reserved_1y_usd_per_h: float | None = None
    reserved_3y_usd_per_h: float | None = None
    spot_usd_per_h: float | None = None

    @property
    def cheapest_usd_per_h(self) -> float:
        offers = (
            self.on_demand_usd_per_h,
            self.reserved_1y_usd_per_h,
            self.reserved_3y_usd_per_h,
            self.spot_usd_per_h,
        )
        return min(offer for offer in offers if offer is not None)


@dataclass(frozen=True, slots=True)
class Mix:
    """Units to commit to, those rented in each hour, and what all of it costs.

    ``reserved_1y_units`` has a number for each year. ``on_demand_units`` and ``spot_units`` are by month and hour of
    the week. ``gap_usd`` is what whole units cost beyond the optimum in fractions.
    """

    reserved_3y_units: int
    reserved_1y_units: tuple[int, ...]
    on_demand_units: NDArray[np.int64]
    spot_units: NDArray[np.int64]
    started_units: NDArray[np.int64]
    reserved_3y_usd: float
    reserved_1y_usd: float
    on_demand_usd: float
    starting_usd: float
    spot_usd: float
    gap_usd: float = 0.0

    @property
    def usd(self) -> float:
        return math.fsum(
            (self.reserved_3y_usd, self.reserved_1y_usd, self.on_demand_usd, self.starting_usd, self.spot_usd)
        )

    def committed_units(self, month: int) -> int:
        return self.reserved_3y_units + self.reserved_1y_units[month // MONTHS_PER_YEAR]


def critical_share(committed_usd_per_h: float, *, on_demand_usd_per_h: float) -> float:
    """The share of hours from which on a committed unit is cheaper than one rented when it is needed.

    Parameters
    ----------
    committed_usd_per_h : paid in every hour [USD/h]
    on_demand_usd_per_h : paid in the hours of use [USD/h]

    Returns
    -------
    [1]; above one the commitment never pays.

    Notes
    -----
    The k-th unit is committed to where P(need >= k) > c / p. In the newsvendor's words the underage cost is p - c and
    the overage cost c, the critical fractile (p - c) / p.

    References
    ----------
    K. J. Arrow, T. Harris, J. Marschak, "Optimal Inventory Policy", Econometrica 19, 1951, sec. 2; W. J. Hopp,
    M. L. Spearman, "Factory Physics", 3rd ed. 2008, eq. (2.26).

    >>> critical_share(1.3, on_demand_usd_per_h=2.6)
    0.5
    """
    return committed_usd_per_h / on_demand_usd_per_h


def committed_by_fractile(need: Sequence[int], *, committed_usd_per_h: float, on_demand_usd_per_h: float) -> int:
    """Units to commit to when each hour of ``need`` is as likely, with one commitment and renting by the hour.

    Parameters
    ----------
    need : units needed in each hour
    committed_usd_per_h, on_demand_usd_per_h : [USD/h]

    Returns
    -------
    [units]

    Notes
    -----
    The largest k with P(need >= k) > c / p, see `critical_share`.

    References
    ----------
    As `critical_share`.

    >>> committed_by_fractile([1, 2, 3, 4], committed_usd_per_h=1.0, on_demand_usd_per_h=2.0)
    2
    """
    share = critical_share(committed_usd_per_h, on_demand_usd_per_h=on_demand_usd_per_h)
    levels = range(1, max(need, default=0) + 1)
    return sum(sum(each >= level for each in need) > share * len(need) for level in levels)


def cheapest_mix(
    need: NDArray[np.int64],
    *,
    rates: Rates,
    spot_share: float = 0.0,
    start_h: float = 0.0,
    hours: float = HOURS_PER_YEAR,
) -> Mix:
    """The cheapest whole units of each terms that cover a need hour by hour.

    Parameters
    ----------
    need : units by month (rows) and hour of a week (columns); one row stands for a year in which no month differs
    rates : what an hour costs on each terms
    spot_share : of the need of an hour that may run on spot, at most [1]
    start_h : how long before it serves a rented unit must be started, and paid [h]
    hours : of a year [h]

    Returns
    -------
    The mix over all rows.

    Notes
    -----
    Variables: R3, T_y = R3 + R1_y, x_mh = T_y + rented on demand, z_mh = x_mh + spot, s_mh >= x_m(h+1) - x_mh started.
    Minimise the bill under z >= need, x >= T, T >= R3, 0 <= z - x <= floor(spot_share need). Each constraint bounds a
    difference of two variables (or a difference less a start), so the matrix is the transpose of a network's and
    totally unimodular: with whole needs the optimum is whole, and the linear programme finds it. ``gap_usd`` shows it.

    References
    ----------
    A. Schrijver, "Theory of Linear and Integer Programming", 1986, sec. 19.3 (network matrices); J. H. Hale,
    Q. Huangfu, "Parallelizing the dual revised simplex method", Math. Prog. Comp. 10, 2018 (HiGHS).

    >>> week = np.array([[1, 2, 3, 4]])
    >>> mix = cheapest_mix(week, rates=Rates(on_demand_usd_per_h=2.0, reserved_1y_usd_per_h=1.01), hours=4.0)
    >>> mix.reserved_1y_units, mix.on_demand_units.tolist(), mix.usd
    ((2,), [[0, 0, 1, 2]], 14.08)
    """
    programme = _Programme(need, rates=rates, spot_share=spot_share, start_h=start_h, hours=hours)
    return programme.solved()


class _Programme:
    """Variables in one vector: R3, then T of each year, then x, z and s of each hour."""

    def __init__(
        self, need: NDArray[np.int64], *, rates: Rates, spot_share: float, start_h: float, hours: float
    ) -> None:
        self.need, self.rates = need, rates
        months, slots = need.shape
        rows_a_year = min(months, MONTHS_PER_YEAR)
        self.year_of = np.repeat(np.arange(months) // MONTHS_PER_YEAR, slots)
        self.years = int(self.year_of[-1]) + 1
        self.slots_a_year = slots * rows_a_year
        self.year_h, self.slot_h = hours, hours / self.slots_a_year
        self.one = rates.reserved_1y_usd_per_h or 0.0
        self.three = rates.reserved_3y_usd_per_h or 0.0
        self.spot = rates.spot_usd_per_h or 0.0
        self.start_usd = start_h * rates.on_demand_usd_per_h
        self.dearest = max(rates.on_demand_usd_per_h, self.one, self.three, self.spot) or 1.0
        self.spot_most = np.floor(need.ravel() * spot_share + _WHOLE) * (rates.spot_usd_per_h is not None)
        self.t = 1 + np.arange(self.years)
        self.x = 1 + self.years + np.arange(need.size)
        self.z = self.x + need.size
        self.s = self.z + need.size
        self.next_x = np.roll(self.x.reshape(need.shape), -1, axis=1).ravel()
        """The hour after each: a month is a week that repeats."""

    def solved(self) -> Mix:
        found = self._optimum()
        mix = self._mix(np.round(found.x).astype(np.int64))
        return replace(mix, gap_usd=max(mix.usd - float(found.fun) * self.dearest * self.slot_h, 0.0))

    def _optimum(self) -> Any:
        matrix, limits = self._constraints()
        given = {"A_ub": matrix, "b_ub": limits, "bounds": self._between(), "options": {"time_limit": _LONGEST_S}}
        found = linprog(self._cost(), method="highs-ds", **given)
        if not found.success:
            raise ArithmeticError(f"no mix of commitments: {found.message}")
        return found

    def _cost(self) -> NDArray[np.float64]:
        """Of each variable: what its own terms cost, less those of the variable it is counted on top of.

        In hours of the dearest terms, so that a year is a whole number and no sum of hours differs from it by rounding.
        """
        on_demand, one, three, spot, start = (
            usd / self.dearest
            for usd in (self.rates.on_demand_usd_per_h, self.one, self.three, self.spot, self.start_usd)
        )
        one, three = max(one, _LEAST), max(three, _LEAST)
        year = float(self.slots_a_year)
        cost = np.zeros(1 + self.years + 3 * self.need.size)
        cost[0] = (three - one) * year * self.years
        cost[self.t] = (one - on_demand) * year
        cost[self.x] = on_demand - spot
        cost[self.z] = spot
        cost[self.s] = start
        return cost

    def _constraints(self) -> tuple[csr_array, NDArray[np.float64]]:
        """Rows ``lower - upper <= limit``, the last of them less a start."""
        r = np.zeros(self.years, dtype=np.int64)
        only_once = self.rates.reserved_1y_usd_per_h is None
        blocks = [(r, self.t, 0.0), (self.t[self.year_of], self.x, 0.0), (self.x, self.z, 0.0)]
        blocks += [(self.t, r, 0.0)] if only_once else []
        blocks += [(self.z, self.x, self.spot_most), (self.next_x, self.x, 0.0)]
        lower, upper = (np.concatenate([block[side] for block in blocks]) for side in (0, 1))
        limits = np.concatenate([np.broadcast_to(limit, len(block)) for block, _upper, limit in blocks])
        rows = np.arange(len(lower))
        starts = rows[-len(self.s) :]
        entries = np.concatenate([np.ones(len(rows)), -np.ones(len(rows) + len(starts))])
        places = (np.concatenate([rows, rows, starts]), np.concatenate([lower, upper, self.s]))
        return csr_array(coo_array((entries, places), shape=(len(rows), self.s[-1] + 1))), limits

    def _between(self) -> NDArray[np.float64]:
        """z covers the need; what is not on offer stays at nothing, and nothing exceeds the need, be it for nothing."""
        low = np.zeros(self.s[-1] + 1)
        low[self.z] = self.need.ravel()
        high = np.full(len(low), float(self.need.max(initial=0)))
        high[0] *= self.rates.reserved_3y_usd_per_h is not None
        return np.column_stack([low, high])

    def _mix(self, found: NDArray[np.int64]) -> Mix:
        three, x, z = int(found[0]), found[self.x], found[self.z]
        one = found[self.t] - three
        rented, spot = x - found[self.t][self.year_of], z - x
        started = np.maximum(found[self.next_x] - x, 0)
        shape = self.need.shape
        return Mix(
            reserved_3y_units=three,
            reserved_1y_units=tuple(int(units) for units in one),
            on_demand_units=rented.reshape(shape),
            spot_units=spot.reshape(shape),
            started_units=started.reshape(shape),
            reserved_3y_usd=three * self.three * self.year_h * self.years,
            reserved_1y_usd=float(one.sum()) * self.one * self.year_h,
            on_demand_usd=float(rented.sum()) * self.rates.on_demand_usd_per_h * self.slot_h,
            starting_usd=float(started.sum()) * self.start_usd * self.slot_h,
            spot_usd=float(spot.sum()) * self.spot * self.slot_h,
        )

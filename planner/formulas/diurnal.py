"""Demand over a week: shapes with their peak at one, stretched to a mean, grown by the month."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

HOURS_PER_DAY, DAYS_PER_WEEK = 24, 7
HOURS_PER_WEEK = HOURS_PER_DAY * DAYS_PER_WEEK
_WEEKEND = 0.35
_STEEPEST = 400.0


def flat_week() -> NDArray[np.float64]:
    """The same in every hour."""
    return np.ones(HOURS_PER_WEEK)


def office_week() -> NDArray[np.float64]:
    """Working hours of one time zone, Monday first: a hump from 7 to 21 with its peak at 14, weekends a third.

    A half sine over the working day above a floor of a tenth; an assumption, to be replaced by one's own hours.
    """
    hour = np.arange(HOURS_PER_DAY) + 0.5
    day = np.where((hour > 7) & (hour < 21), np.sin(np.pi * (hour - 7) / 14), 0.0)
    week = np.concatenate([day] * 5 + [_WEEKEND * day] * 2)
    return np.asarray(0.1 + 0.9 * week / week.max(), dtype=np.float64)


def global_week() -> NDArray[np.float64]:
    """Users in several time zones: one smooth wave a day.

    Notes
    -----
    1 + a cos: the first harmonic of a day, which dominates the traffic of world-wide services. The mean, 0.6 of the
    peak, is an assumption.

    References
    ----------
    G. Urdaneta, G. Pierre, M. van Steen, "Wikipedia workload analysis for decentralized hosting", Computer Networks
    53(11), 2009, fig. 3.
    """
    hour = np.arange(HOURS_PER_WEEK) % HOURS_PER_DAY + 0.5
    wave = 0.6 + 0.4 * np.cos(2 * np.pi * (hour - 14.5) / HOURS_PER_DAY)
    return np.asarray(wave / wave.max(), dtype=np.float64)


def stretched(week: NDArray[np.float64], *, mean: float) -> NDArray[np.float64]:
    """The shape with another mean and the same peak of one.

    Parameters
    ----------
    week : demand over the peak's in each hour, in (0, 1], its largest value one [1]
    mean : of the result; between the least that the shape allows and one [1]

    Returns
    -------
    [1]

    It is raised to a power, which keeps order, peak and positivity. A flat shape stays as it is; a mean that would
    need a steeper power than 400 is given as near as that comes.

    >>> week = stretched(global_week(), mean=0.4)
    >>> float(week.max()), round(float(week.mean()), 9)
    (1.0, 0.4)
    """
    logs = np.log(np.maximum(week, 1e-12))
    if not 0 < mean < 1 or not logs.any():
        return np.ones_like(week) if mean >= 1 else week.copy()

    def beyond(power: float) -> float:
        return float(np.exp(power * logs).mean()) - mean

    if beyond(_STEEPEST) > 0:
        return np.asarray(np.exp(_STEEPEST * logs))
    return np.asarray(np.exp(brentq(beyond, 0.0, _STEEPEST, xtol=1e-14) * logs))


def grown(week: NDArray[np.float64], *, months: int, growth: float) -> NDArray[np.float64]:
    """The week in each month, growing by a share of itself a month: rows are months.

    >>> grown(np.array([0.5, 1.0]), months=3, growth=0.5).tolist()
    [[0.5, 1.0], [0.75, 1.5], [1.125, 2.25]]
    """
    return np.asarray(week * np.array([(1 + growth) ** month for month in range(months)])[:, None])


def whole_units(demand: NDArray[np.float64], *, needed_units: float, headroom: float, beside: int) -> NDArray[np.int64]:
    """Units that carry each hour: need with headroom, whole, and those that stand beside it always.

    Parameters
    ----------
    demand : over the peak's of today [1]
    needed_units : carry that peak with nothing to spare
    headroom : above the need [1]
    beside : spare units, whatever the hour

    Returns
    -------
    [units]

    >>> whole_units(np.array([0.0, 0.5, 1.0]), needed_units=3.0, headroom=0.2, beside=1).tolist()
    [1, 3, 5]
    """
    need = demand * needed_units * (1 + headroom)
    return np.asarray(np.ceil(need - 1e-9 * np.maximum(need, 1.0)), dtype=np.int64) + beside


def perfect_usd(exact_units: NDArray[np.float64], *, usd_per_h: float, hours: float) -> float:
    """The bill of capacity that follows its need exactly, in fractions, at once: no plan costs less.

    Parameters
    ----------
    exact_units : needed in each hour, with nothing to spare
    usd_per_h : of a unit at the cheapest terms on offer [USD/h]
    hours : that the rows stand for together [h]

    Returns
    -------
    [USD]

    >>> perfect_usd(np.array([[1.0, 3.0]]), usd_per_h=2.0, hours=10.0)
    40.0
    """
    return float(math.fsum(exact_units.ravel())) / exact_units.size * usd_per_h * hours


def peak_usd(units: NDArray[np.int64], *, usd_per_h: float, hours: float) -> float:
    """The bill of renting, in every hour of a month, what the busiest hour of that month needs.

    Parameters
    ----------
    units : by month (rows) and hour
    usd_per_h : of a unit on demand [USD/h]
    hours : that the rows stand for together [h]

    Returns
    -------
    [USD]

    >>> peak_usd(np.array([[1, 3]]), usd_per_h=2.0, hours=10.0)
    60.0
    """
    return float(units.max(axis=1).mean()) * usd_per_h * hours

"""Cycles of adapters that share slots: idle, waiting for a slot, busy. Times are in units of the residence time."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import gammaln, pdtr

from planner.formulas.busy_periods import ResidenceLaw
from planner.formulas.popularity import Popularity
from planner.formulas.queueing import erlang_c

Array = NDArray[np.float64]

_ALONE = 24
"""Adapters counted one by one; those behind them in classes of like load."""
_CLASSES = 32
_NEVER = 1e6
"""Residence times of wait that mean for ever."""
_TOLERANCE = 1e-6
_GRID = 56
_SHORT = 0.02
"""Waits below it are as good as none: the grid of waits is even there, and in their logarithm above."""
_REACH = 6.5
"""Deviations of the wait above the longest balance that the grid reaches."""
_HALVINGS = 20


class AdapterLoads(NamedTuple):
    """Adapters in classes: x = lambda S of each, the share of the requests, how many there are."""

    x: Array
    shares: Array
    items: Array


class Cycles(NamedTuple):
    busy: Array
    """Slots in use."""
    activations: Array
    """A unit of time."""
    first: Array
    """Requests that start a cycle, of all."""
    while_waiting: Array
    """Requests that come during a wait of one unit, of all."""


@lru_cache(maxsize=256)
def adapter_loads(popularity: Popularity, *, running: float) -> AdapterLoads:
    """Adapters in classes of like load, whose means keep sums to a thousandth at a tenth of the work.

    >>> loads = adapter_loads(Popularity(np.array([0.5, 0.25]), np.array([1.0, 2.0])), running=8.0)
    >>> loads.x.tolist(), loads.items.tolist()
    ([4.0, 2.0], [1.0, 2.0])
    """
    order = np.argsort(-popularity.shares, kind="stable")
    shares, items = popularity.shares[order], popularity.items[order]
    asked = shares > 0
    shares, items = shares[asked], items[asked]
    logs = np.log(shares)
    where = np.arange(len(shares))
    if len(shares) > _ALONE + _CLASSES:
        tail = logs[_ALONE:]
        width = max(float(tail[0] - tail[-1]), 1e-9) / _CLASSES
        where[_ALONE:] = _ALONE + np.minimum(((tail[0] - tail) / width).astype(int), _CLASSES - 1)
    counts: Array = np.bincount(where, weights=items).astype(np.float64)
    sums = np.bincount(where, weights=items * shares)
    kept = counts > 0
    mean = sums[kept] / counts[kept]
    return AdapterLoads(mean * running, mean, counts[kept])


def cycles(loads: AdapterLoads, *, waits: Array, law: ResidenceLaw) -> Cycles:
    """Sums over adapters for each wait.

    Parameters
    ----------
    loads : of the adapters
    waits : W, any shape, in units of S [1]
    law : of the residence times

    Notes
    -----
    cycle = 1 / lambda + W + B with B a busy period that starts with 1 + Poisson(lambda W) requests.

    References
    ----------
    L. Takacs, "Introduction to the Theory of Queues", 1962, section 3.1 (busy period) and section 5 (machines that
    run, wait for repair and are repaired in turn).
    """
    wait = np.asarray(waits, dtype=np.float64)[..., None]
    busy = law.busy_period(loads.x, started=loads.x * wait)
    rate = 1.0 / (1.0 / loads.x + wait + busy)
    counts = loads.items
    return Cycles(
        (busy * rate) @ counts,
        rate @ counts,
        rate @ (counts * loads.shares / loads.x),
        rate @ (counts * loads.shares),
    )


def balanced_wait(loads: AdapterLoads, *, slots: int, law: ResidenceLaw) -> float | None:
    """The wait at which slots are in balance; None where it is for ever.

    Parameters
    ----------
    loads : of the adapters
    slots : G, > 0 [1]
    law : of the residence times

    Returns
    -------
    W in units of S [1]

    Notes
    -----
    W (G - a) = C(G, a) tau with Erlang's C, one where a >= G; the left side less the right grows with W.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.40) (Erlang's C).
    """

    def missing(wait: float) -> float:
        cycle = cycles(loads, waits=np.asarray(wait), law=law)
        busy = float(cycle.busy)
        waiting = erlang_c(busy, servers=slots)
        return wait * (slots - busy) - (1.0 if waiting is None else waiting) * busy / float(cycle.activations)

    high = 1.0
    while missing(high) < 0:
        high *= 4.0
        if high > _NEVER:
            return None
    return float(brentq(missing, 0.0, high, xtol=1e-9, rtol=_TOLERANCE))


class CycleTable:
    """`cycles` by wait, read between points of a grid that reaches beyond the longest balanced wait.

    >>> from planner.formulas.busy_periods import EXPONENTIAL
    >>> loads = AdapterLoads(np.array([4.0, 2.0]), np.array([0.5, 0.25]), np.array([1.0, 2.0]))
    >>> table = cycle_table(loads, longest=3.0, law=EXPONENTIAL)
    >>> there = cycles(loads, waits=np.array([1.7]), law=EXPONENTIAL).busy
    >>> bool(abs(table(np.array([1.7])).busy - there)[0] < 1e-5)
    True
    """

    def __init__(self, places: Array, found: Cycles) -> None:
        self.longest = float(_SHORT * np.expm1(places[-1]))
        self._read = CubicSpline(places, np.stack(found, axis=-1))

    def __call__(self, waits: Array) -> Cycles:
        """As `cycles`."""
        return Cycles(*np.moveaxis(self._read(np.log1p(waits / _SHORT)), -1, 0))


def cycle_table(loads: AdapterLoads, *, longest: float, law: ResidenceLaw) -> CycleTable:
    """A table of cycles for waits about balances up to the longest, in units of S.

    Notes
    -----
    Cubic splines in ln(1 + W / w0).

    References
    ----------
    C. de Boor, "A Practical Guide to Splines", 1978, chapter IV (cubic interpolation).
    """
    ends = np.array([longest, longest * 1.01 + 0.01])
    cycle = cycles(loads, waits=ends, law=law)
    slope = float(cycle.busy[0] - cycle.busy[1]) / float(ends[1] - ends[0])
    spread = float(np.sqrt(cycle.busy[0] / cycle.activations[0] / max(slope, 1e-12)))
    places = np.linspace(0.0, np.log1p((longest + _REACH * spread) / _SHORT), _GRID)
    return CycleTable(places, cycles(loads, waits=_SHORT * np.expm1(places), law=law))


def balanced_waits(table: CycleTable, *, slots: NDArray[np.int64]) -> Array:
    """`balanced_wait` for many numbers of slots, all of which have one, from a table.

    Notes
    -----
    The same root by halving; Erlang's B as a Poisson probability over its distribution.

    References
    ----------
    As `balanced_wait`; L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.43) (Erlang's B).
    """
    low, high = np.zeros(len(slots)), np.full(len(slots), table.longest)
    for _ in range(_HALVINGS):
        middle = _SHORT * np.expm1((np.log1p(low / _SHORT) + np.log1p(high / _SHORT)) / 2)
        cycle = table(middle)
        waiting = _waiting(cycle.busy, slots)
        short = middle * (slots - cycle.busy) < waiting * cycle.busy / cycle.activations
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    answer: Array = (low + high) / 2
    return answer


def _waiting(busy: Array, slots: NDArray[np.int64]) -> Array:
    """Erlang's C; one where slots are not enough."""
    blocked = np.exp(slots * np.log(busy) - busy - gammaln(slots + 1)) / np.maximum(pdtr(slots, busy), 1e-300)
    use = np.minimum(busy / slots, 1.0)
    answer: Array = np.minimum(blocked / np.maximum(1 - use * (1 - blocked), 1e-300), 1.0)
    return answer

"""Waits for an adapter slot: none while slots exceed the adapters that run at once, sudden once they do not.

An adapter keeps its slot while any of its requests runs, so a request whose adapter has none waits for another
adapter to end its busy period, not for a copy. Times are in the unit of the residence time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from planner.formulas.busy_periods import EXPONENTIAL, ResidenceLaw
from planner.formulas.distinct import Distinct, distinct_in_load
from planner.formulas.popularity import Popularity
from planner.formulas.slot_cycles import AdapterLoads, adapter_loads, balanced_wait, cycles

Array = NDArray[np.float64]

SAFE_DEVIATIONS = 2.0
_POINTS = 48
_SPREADS = 6.0
_LONGER_HOLDS = 3
"""Power of the mean hold by which its squared coefficient of variation falls below that of a single request."""
_QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class DrainWait:
    """One wait for all, at which slots are used as much as they are given back.

    Parameters
    ----------
    wait_s : W of an adapter that has no slot; 0: none waits [s]
    mean_s : over all requests [s]
    busy_slots : a, slots in use on average [1]
    hold_s : tau, time an adapter keeps its slot [s]
    activations_per_s : nu, slots given out [1/s]
    """

    wait_s: float
    mean_s: float
    busy_slots: float
    hold_s: float
    activations_per_s: float


@dataclass(frozen=True, slots=True)
class SlotWaits:
    """How long requests wait for a slot.

    Parameters
    ----------
    mean_s : over all requests [s]
    waiting : share of the requests that wait [1]
    p50_s, p90_s, p99_s : quantiles over all requests [s]
    different : adapters that would run at once with slots for all
    full : share of the time in which an adapter without a slot finds none [1]
    """

    mean_s: float
    waiting: float
    p50_s: float
    p90_s: float
    p99_s: float
    different: Distinct
    full: float


def safe_slots(popularity: Popularity, *, running: float) -> float:
    """Slots at which requests hardly ever wait for one.

    Parameters
    ----------
    popularity : of the adapters among requests
    running : L, mean number of requests that run [1]

    Returns
    -------
    [1]

    Notes
    -----
    A0 + 2 sd, the different adapters that run at once and two of their standard deviations.

    References
    ----------
    S. Halfin, W. Whitt, "Heavy-traffic limits for queues with many exponential servers", Operations Research 29(3),
    1981 (servers in deviations above the offered load).

    >>> from planner.formulas.popularity import zipf
    >>> round(safe_slots(zipf(1000, exponent=0.9), running=64), 1)
    61.2
    """
    found = distinct_in_load(popularity, running=running)
    return found.mean + SAFE_DEVIATIONS * found.deviation


@lru_cache(maxsize=256)
def drain_wait(
    popularity: Popularity,
    *,
    running: float,
    slots: int,
    residence_s: float = 1.0,
    law: ResidenceLaw = EXPONENTIAL,
) -> DrainWait | None:
    """The wait for a slot at which requests and slots are in balance; None where some adapters never get one.

    Parameters
    ----------
    popularity : of the adapters among requests; pinned adapters are not among them
    running : L, mean number of their requests that run [1]
    slots : G, without those of pinned adapters [1]
    residence_s : S, mean time a request runs [s]
    law : of the residence times

    Notes
    -----
    A cycle of adapter i is 1/lambda_i idle + W + B_i, B_i a busy period that starts with 1 + Poisson(lambda_i W)
    requests. Slots in use a = sum B_i / cycle_i, activations nu = sum 1 / cycle_i, hold tau = a / nu, and
    W = C(G, a) tau / (G - a) with Erlang's C. Requests that wait for one adapter enter together, so W grows with load
    but has no limit of stability until the GPU is full. mean = sum p_i W (1 + lambda_i W / 2) / (lambda_i cycle_i).
    Near A0 = G the true wait is a third to a half less (`slot_waits`).

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.40) (Erlang's C); L. Takacs, "Introduction to the
    Theory of Queues", 1962, section 3.1 (busy period); the closed loop of idle, waiting and busy adapters as in the
    machine-repair model, ibid., section 5.

    >>> from planner.formulas.popularity import zipf
    >>> round(drain_wait(zipf(1000, exponent=0.9), running=64.0, slots=32).mean_s, 2)
    8.55
    """
    if running <= 0 or slots >= float(popularity.items.sum()) - 1e-9:
        return _without_wait(popularity, running, residence_s, law)
    if slots <= 0:
        return None
    loads = adapter_loads(popularity, running=running)
    wait = balanced_wait(loads, slots=slots, law=law)
    return None if wait is None else _drain(loads, wait, residence_s, law)


@lru_cache(maxsize=256)
def slot_waits(
    popularity: Popularity,
    *,
    running: float,
    slots: int,
    residence_s: float = 1.0,
    law: ResidenceLaw = EXPONENTIAL,
) -> SlotWaits | None:
    """Law of the wait for a slot; None where some adapters never get one.

    Parameters
    ----------
    popularity, running, slots, residence_s, law : as in `drain_wait`

    Notes
    -----
    The wait W that an adapter finds moves at random about the balance: activations push it up, releases down, so its
    density is proportional to exp(int_0^W (a(w) - G) / (f tau(w)) dw). Noise f = (1 + c^2) / 2: activations are
    Poisson, releases vary as holds do, c^2 = cv^2 / tau^3 in units of S (the power is fitted to simulated slots; longer
    holds are those of many requests and vary less). Below G adapters in use are normal about A0 with the deviation of
    `distinct_in_load`; both meet at G. Of the requests of an adapter the first of a cycle waits W, the lambda W that
    come while it waits are spread over it: P(wait > t) = u P(W > t) + v E[(W - t)+], u = sum p_i / (lambda_i cycle_i),
    v = sum p_i / cycle_i.

    Against simulated slots (100 to 5,000 adapters, A0/G from 0.87 to 2): means within 8 %, 99th percentiles within
    10 %, 15 % for equal popularity at A0 = G. Assumes Poisson requests, lengths that do not depend on the adapter,
    first come first served, and no limit on the batch but the slots.

    References
    ----------
    S. Halfin, W. Whitt, "Heavy-traffic limits for queues with many exponential servers", Operations Research 29(3),
    1981, theorem 2 (normal below, tilted above the number of servers); S. Karlin, H. M. Taylor, "A Second Course in
    Stochastic Processes", 1981, section 15.5 (stationary density of a diffusion).

    >>> from planner.formulas.popularity import zipf
    >>> found = slot_waits(zipf(1000, exponent=0.9), running=64.0, slots=64)
    >>> found.mean_s < 0.01
    True
    """
    different = distinct_in_load(popularity, running=running)
    drain = drain_wait(popularity, running=running, slots=slots, law=law)
    if drain is None:
        return None
    if running <= 0 or slots >= float(popularity.items.sum()) - 1e-9:
        return SlotWaits(0.0, 0.0, 0.0, 0.0, 0.0, different, 0.0)
    found = _moving(adapter_loads(popularity, running=running), drain, slots, different, law)
    times, beyond = found.beyond()
    p50, p90, p99 = np.interp(-(1.0 - np.array(_QUANTILES)), -beyond, times * residence_s).tolist()
    mean = residence_s * found.mean
    return SlotWaits(mean, float(beyond[0]), p50, p90, p99, different, float(found.mass.sum()))


def _drain(loads: AdapterLoads, wait: float, residence_s: float, law: ResidenceLaw) -> DrainWait:
    cycle = cycles(loads, waits=np.asarray(wait), law=law)
    busy, activations = float(cycle.busy), float(cycle.activations)
    mean = wait * float(cycle.first) + wait * wait / 2 * float(cycle.while_waiting)
    return DrainWait(
        wait * residence_s, mean * residence_s, busy, residence_s * busy / activations, activations / residence_s
    )


def _without_wait(popularity: Popularity, running: float, residence_s: float, law: ResidenceLaw) -> DrainWait:
    if running <= 0:
        return DrainWait(0.0, 0.0, 0.0, residence_s, 0.0)
    return _drain(adapter_loads(popularity, running=running), 0.0, residence_s, law)


@dataclass(frozen=True, slots=True)
class _Moving:
    """Law of the wait an adapter finds, in units of S.

    Parameters
    ----------
    waits : [1]
    mass : probability of each; what is missing to one waits not at all [1]
    first, while_waiting : as of `Cycles`, at the mean wait
    """

    waits: Array
    mass: Array
    first: float
    while_waiting: float

    @property
    def mean(self) -> float:
        """Over requests."""
        first, second = float(self.mass @ self.waits), float(self.mass @ self.waits**2)
        return self.first * first + self.while_waiting * second / 2

    def beyond(self) -> tuple[Array, Array]:
        """Times, and shares of the requests that wait longer."""
        times = np.concatenate(([0.0], self.waits))
        later = np.cumsum(self.mass[::-1])[::-1]
        over = np.concatenate((later[:1], later - self.mass / 2))
        left = np.maximum(self.waits[None, :] - times[:, None], 0.0) @ self.mass
        return times, np.minimum(self.first * over + self.while_waiting * left, 1.0)


def _moving(loads: AdapterLoads, drain: DrainWait, slots: int, different: Distinct, law: ResidenceLaw) -> _Moving:
    centre = drain.wait_s
    spread = _spread(loads, centre, law)
    waits = np.linspace(max(centre - _SPREADS * spread, 0.0), centre + _SPREADS * spread, _POINTS)
    cycle = cycles(loads, waits=waits, law=law)
    hold = cycle.busy / cycle.activations
    noise = (1.0 + law.scv / max(drain.hold_s, 1.0) ** _LONGER_HOLDS) / 2.0
    tilt = (cycle.busy - slots) / hold / noise
    step = float(waits[1] - waits[0])
    logs = np.concatenate(([0.0], np.cumsum((tilt[1:] + tilt[:-1]) / 2 * step))) + np.log(slots / hold * step)
    below = _below(slots, different) if waits[0] <= 0 else -math.inf
    weights = np.exp(logs - max(float(logs.max()), below))
    weights[[0, -1]] /= 2
    mass = weights / (weights.sum() + math.exp(below - max(float(logs.max()), below)))
    at = float(mass @ waits)
    first, during = (float(np.interp(at, waits, each)) for each in (cycle.first, cycle.while_waiting))
    return _Moving(waits, mass, first, during)


def _spread(loads: AdapterLoads, centre: float, law: ResidenceLaw) -> float:
    """Deviation of the wait: sqrt(tau / -da/dW)."""
    ends = np.array([centre, centre * 1.01 + 0.01])
    cycle = cycles(loads, waits=ends, law=law)
    slope = float(cycle.busy[0] - cycle.busy[1]) / float(ends[1] - ends[0])
    return math.sqrt(float(cycle.busy[0] / cycle.activations[0]) / max(slope, 1e-12))


def _below(slots: int, different: Distinct) -> float:
    """Logarithm of the weight of all states with a free slot, that of a slot just taken being one."""
    if different.deviation <= 0:
        return 0.0
    z = (slots - different.mean) / different.deviation
    return math.log(different.deviation * math.sqrt(2 * math.pi)) + float(log_ndtr(z)) + z * z / 2

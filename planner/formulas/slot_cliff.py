"""Waits for an adapter slot: none while slots exceed the adapters that run at once, sudden once they do not.

An adapter keeps its slot while any of its requests runs, so a request whose adapter has none waits for another
adapter to end its busy period, not for a copy. Times are in the unit of the residence time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from planner.formulas.busy_periods import EXPONENTIAL, ResidenceLaw
from planner.formulas.distinct import distinct_in_load
from planner.formulas.popularity import Popularity
from planner.formulas.slot_cycles import (
    AdapterLoads,
    Cycles,
    adapter_loads,
    balanced_wait,
    balanced_waits,
    cycle_table,
    cycles,
)
from planner.formulas.slot_wait_law import SlotWaits, moving_waits

Array = NDArray[np.float64]

SAFE_DEVIATIONS = 2.0


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
    loads = adapter_loads(popularity, running=running)
    (found,) = moving_waits(
        partial(_cycles_at, loads, law), np.array([drain.wait_s]), np.array([slots]), different, law, residence_s
    )
    return found


def waits_by_slots(
    popularity: Popularity,
    *,
    running: float,
    slots: Sequence[int],
    residence_s: float = 1.0,
    law: ResidenceLaw = EXPONENTIAL,
) -> tuple[SlotWaits | None, ...]:
    """`slot_waits` for many numbers of slots: what adapters do in a cycle depends on the wait only, so it is worked out
    once on a grid of waits and read between its points.

    Parameters
    ----------
    popularity, running, residence_s, law : as in `drain_wait`
    slots : G, numbers of slots in any order [1]

    Returns
    -------
    as `slot_waits`, to a ten-thousandth

    Notes
    -----
    Sums over adapters of a cycle by cubic splines in ln(1 + W / w0).

    References
    ----------
    As `slot_waits`; C. de Boor, "A Practical Guide to Splines", 1978, chapter IV (cubic interpolation).

    >>> from planner.formulas.popularity import zipf
    >>> found = waits_by_slots(zipf(1000, exponent=0.9), running=64.0, slots=[32, 48])
    >>> one = slot_waits(zipf(1000, exponent=0.9), running=64.0, slots=32)
    >>> abs(found[0].mean_s / one.mean_s - 1) < 1e-4
    True
    """
    different, total = distinct_in_load(popularity, running=running), float(popularity.items.sum()) - 1e-9
    none = SlotWaits(0.0, 0.0, 0.0, 0.0, 0.0, different, 0.0)
    found: dict[int, SlotWaits | None] = {
        each: none if running <= 0 or each >= total else None for each in slots if running <= 0 or each >= total
    }
    asked = sorted({each for each in slots if each > 0} - set(found))
    loads = adapter_loads(popularity, running=running) if asked else None
    while asked and loads is not None:
        longest = balanced_wait(loads, slots=asked[0], law=law)
        if longest is not None:
            table, counts = cycle_table(loads, longest=longest, law=law), np.array(asked)
            laws = moving_waits(table, balanced_waits(table, slots=counts), counts, different, law, residence_s)
            found |= dict(zip(asked, laws, strict=True))
            break
        asked.pop(0)
    return tuple(found.get(each) for each in slots)


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


def _cycles_at(loads: AdapterLoads, law: ResidenceLaw, waits: Array) -> Cycles:
    return cycles(loads, waits=waits, law=law)

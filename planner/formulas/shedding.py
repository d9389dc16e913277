"""More requests than an instance can serve: what a limit of the queue saves, and who waits when some go first.

Goodput and load are in units of the service rate, deadlines and times in units of the mean service time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from planner.formulas.queueing import erlang_c

_LIMITS_PER_DEADLINE = 2.0
_LIMITS_MORE = 30
_MOST_AT_ONCE = 200_000
"""Limits tried beyond the deadline: at the best one a request seldom waits longer than its deadline."""


def goodput(load: float, *, limit: int | None, deadline: float) -> float:
    """Requests that end within their deadline when those that find ``limit`` in the system are turned away.

    Parameters
    ----------
    load : requests offered over the service rate; may exceed one [1]
    limit : requests in the system, the one in service counted; None is no limit [1]
    deadline : of the time in the system [service times]

    Returns
    -------
    [service rates]

    Notes
    -----
    rho sum_{k < K} pi_k P(Erlang(k + 1) <= D), pi_k = rho^k / sum_{j <= K} rho^j. Without a limit
    rho (1 - exp(-(1 - rho) D)) below saturation and nothing past it, for every request then waits longer than the last.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.43), M/M/1/K; section 5.6 (time in the system).

    >>> round(goodput(1.2, limit=10, deadline=10.0), 4)
    0.774
    """
    if load <= 0 or deadline <= 0 or limit == 0:
        return 0.0
    if limit is None:
        return -load * math.expm1(-(1 - load) * deadline) if load < 1 else 0.0
    weights = _weights(math.log(load), limit=limit)
    return float(load * (weights[:-1] @ _in_time(limit, deadline)) / weights.sum())


def goodputs(loads: Sequence[float], *, limit: int | None, deadline: float) -> list[float]:
    """As `goodput`, of several loads [service rates].

    >>> [round(each, 4) for each in goodputs([0.0, 1.2], limit=10, deadline=10.0)]
    [0.0, 0.774]
    """
    if limit is None or limit * len(loads) > _MOST_AT_ONCE or deadline <= 0:
        return [goodput(load, limit=limit, deadline=deadline) for load in loads]
    some = np.array([load for load in loads if load > 0])
    weights = _weights(np.log(some)[:, None], limit=limit)
    served = iter((some * (weights[:, :-1] @ _in_time(limit, deadline)) / weights.sum(axis=1)).tolist())
    return [next(served) if load > 0 else 0.0 for load in loads]


def _weights(logarithm: Any, *, limit: int) -> NDArray[np.float64]:
    """Of so many in the system, in proportion: the largest is one, so that none overflows."""
    found = np.arange(limit + 1)
    return np.asarray(np.exp((found - np.where(np.asarray(logarithm) > 0, limit, 0)) * logarithm))


@lru_cache(maxsize=64)
def _in_time(limit: int, deadline: float) -> NDArray[np.float64]:
    """P(Erlang(k) <= D) for k up to the limit: of those who find k - 1 before them, who end in time."""
    return np.asarray(gammainc(np.arange(1, limit + 1), deadline))


def turned_away(load: float, *, limit: int) -> float:
    """Share of the requests that find the system full.

    Parameters
    ----------
    load : [1]
    limit : requests in the system [1]

    Returns
    -------
    [1]

    Notes
    -----
    pi_K = rho^K / sum_{j <= K} rho^j.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.43), M/M/1/K.

    >>> turned_away(1.0, limit=4)
    0.2
    """
    if load <= 0:
        return 0.0 if limit > 0 else 1.0
    falling = np.arange(limit + 1)
    if load <= 1:
        return float(load**limit / np.sum(load**falling))
    return float(1 / np.sum((1 / load) ** falling))


def best_limit(load: float, *, deadline: float) -> int:
    """Limit of the system with the most goodput.

    Parameters
    ----------
    load : requests offered over the service rate [1]
    deadline : [service times]

    Returns
    -------
    requests in the system, at least one [1]; about 0.5 to 0.8 of the deadline near saturation

    Notes
    -----
    Goodput of K from that of K - 1: G_K = G_{K-1} (1 - b_K) + b_K g_{K-1}, b_K = rho b_{K-1} / (1 + rho b_{K-1}) the
    share turned away and g_k = P(Erlang(k + 1) <= D): the largest of all K up to 30 beyond twice the deadline.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.43), M/M/1/K.

    >>> best_limit(0.95, deadline=10.0)
    7
    """
    if load <= 0 or deadline <= 0:
        return 1
    most = math.ceil(_LIMITS_PER_DEADLINE * deadline) + _LIMITS_MORE
    in_time = gammainc(np.arange(1, most + 1), deadline)
    best, best_at, gained, full = -1.0, 1, 0.0, 1.0
    for limit, reached in enumerate(in_time.tolist(), start=1):
        full = load * full / (1 + load * full)
        gained = gained * (1 - full) + full * reached
        if gained > best:
            best, best_at = gained, limit
    return best_at


def priority_waits(
    loads: Sequence[float],
    *,
    servers: int = 1,
    service_scv: float = 1.0,
) -> tuple[float | None, ...]:
    """Mean waits in the queue of classes that go before each other, none interrupting what runs.

    Parameters
    ----------
    loads : of the classes, the first goes first: arrival rate times service time, same service for all [erlang]
    servers : [1]
    service_scv : squared coefficient of variation of the service [1]

    Returns
    -------
    [service times]; None for a class that is not served in a steady state

    Notes
    -----
    W_i = W0 / ((1 - s_{i-1}) (1 - s_i)), s_i = (rho_1 + ... + rho_i) / c. W0 is the wait for the first server to become
    free: rho (1 + scv) / 2 for one, C(c, a) (1 + scv) / 2 / c for several, with all of them busy past saturation.

    References
    ----------
    A. Cobham, "Priority assignment in waiting line problems", Operations Research 2(1), 1954, eq. (3) and (7),
    doi:10.1287/opre.2.1.70.

    >>> [round(wait, 3) for wait in priority_waits([0.3, 0.6])]
    [1.286, 12.857]
    """
    waiting = erlang_c(sum(loads), servers=servers)
    first_free = (1.0 if waiting is None else waiting) * (1 + service_scv) / 2 / servers
    waits: list[float | None] = []
    before = 0.0
    for load in loads:
        upto = before + load / servers
        waits.append(first_free / ((1 - before) * (1 - upto)) if upto < 1 else None)
        before = upto
    return tuple(waits)


def shed_shares(loads: Sequence[float], *, capacity: float = 1.0) -> tuple[float, ...]:
    """Share of each class that is turned away when the last ones go first.

    Parameters
    ----------
    loads : of the classes, the first kept longest [erlang]
    capacity : load that is served [erlang]

    Returns
    -------
    [1]

    Notes
    -----
    Fluid: a class is served with what the classes before it leave.

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 21 (criticality).

    >>> shed_shares([0.5, 0.4, 0.2], capacity=1.0)
    (0.0, 0.0, 0.5)
    """
    left = capacity
    shed: list[float] = []
    for load in loads:
        served = min(load, max(left, 0.0))
        shed.append(round(1 - served / load, 12) if load > 0 else 0.0)
        left -= served
    return tuple(shed)

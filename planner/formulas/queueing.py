"""Waiting lines: Erlang's formulas, general service by Allen and Cunneen, percentiles of waits and of their sums.

Every function takes an offered load or a rate of zero. At or past saturation (offered load >= servers) no steady
state exists; the functions then return None instead of a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtri

_ROUNDING = float(np.finfo(np.float64).eps)
"""Relative: what sums of probabilities may differ by and still be equal."""


def utilisation(offered: float, *, servers: float) -> float:
    """Share of the servers that is busy.

    Parameters
    ----------
    offered : arrival rate times mean service time [erlang]
    servers : [1]

    Returns
    -------
    [1]; one or more means that the queue grows without end.

    >>> utilisation(6.0, servers=8)
    0.75
    """
    return offered / servers


def erlang_b(offered: float, *, servers: float) -> float:
    """Probability that all servers of a loss system are busy.

    Parameters
    ----------
    offered : [erlang]
    servers : need not be whole [1]

    Returns
    -------
    [1]

    Notes
    -----
    B = (a^c / c!) / sum_{k<=c} a^k / k!, written as a Poisson term over a Poisson tail so that it does not overflow
    for hundreds of servers. Poisson arrivals; any service distribution.

    References
    ----------
    A. K. Erlang, "Solution of some problems in the theory of probabilities of significance in automatic telephone
    exchanges", The Post Office Electrical Engineers' Journal 10, 1917, eq. (2).

    >>> round(erlang_b(10.0, servers=10), 4)
    0.2146
    """
    if offered <= 0:
        return 0.0
    term = math.exp(servers * math.log(offered) - offered - math.lgamma(servers + 1))
    return float(term / gammaincc(servers + 1, offered))


def erlang_c(offered: float, *, servers: int) -> float | None:
    """Probability that an arrival has to wait (M/M/c); None past saturation.

    Parameters
    ----------
    offered : [erlang]
    servers : [1]

    Returns
    -------
    [1]

    Notes
    -----
    C = B / (1 - rho (1 - B)), rho = a / c.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.40).

    >>> round(erlang_c(1.0, servers=2), 6)
    0.333333
    """
    rho = offered / servers
    if rho >= 1:
        return None
    blocked = erlang_b(offered, servers=servers)
    return blocked / (1 - rho * (1 - blocked))


def mean_wait_s(
    offered: float, *, servers: int, service_s: float, arrival_scv: float = 1.0, service_scv: float = 1.0
) -> float | None:
    """Mean time in the queue of G/G/c; None past saturation.

    Parameters
    ----------
    offered : [erlang]
    servers : [1]
    service_s : mean service time [s]
    arrival_scv, service_scv : squared coefficients of variation [1]

    Returns
    -------
    [s]

    Notes
    -----
    Wq = (ca2 + cs2) / 2 * C(c, a) * S / (c - a). Exact for M/M/c and for M/G/1 (Pollaczek-Khinchine); an
    approximation elsewhere, best in heavy traffic.

    References
    ----------
    A. O. Allen, "Probability, Statistics, and Queueing Theory with Computer Science Applications", 2nd ed., 1990,
    eq. (5.107), the Allen-Cunneen approximation.

    >>> mean_wait_s(0.5, servers=1, service_s=1.0, service_scv=0.0)  # M/D/1: rho / (2 (1 - rho))
    0.5
    """
    waiting = erlang_c(offered, servers=servers)
    if waiting is None:
        return None
    return (arrival_scv + service_scv) / 2 * waiting * service_s / (servers - offered)


def wait_quantile_s(probability: float, *, waiting: float, mean_wait_s: float) -> float:
    """Quantile of the time in the queue: an atom at zero and an exponential tail.

    Parameters
    ----------
    probability : [1]
    waiting : probability of having to wait [1]
    mean_wait_s : mean over all arrivals, waiting or not [s]

    Returns
    -------
    [s]

    Notes
    -----
    P(W > t) = C exp(-t C / Wq). Exact for M/M/c; for general service the exponential tail keeps the mean.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 3.5 (M/M/c); H. C. Tijms, "A First Course in
    Stochastic Models", 2003, section 9.6.2 (M/G/c).

    >>> round(wait_quantile_s(0.9, waiting=0.5, mean_wait_s=0.5), 4)  # M/M/1, rho 0.5, service 0.5 s
    1.6094
    """
    if waiting <= 1 - probability:
        return 0.0
    return mean_wait_s / waiting * math.log(waiting / (1 - probability))


def processor_sharing_sojourn_s(service_s: float, *, rho: float) -> float | None:
    """Mean time in an M/G/1 processor-sharing system of a job of ``service_s``; None past saturation.

    Notes
    -----
    T(x) = x / (1 - rho), whatever the service distribution.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 2: Computer Applications", 1976, eq. (4.17).

    >>> processor_sharing_sojourn_s(2.0, rho=0.75)
    8.0
    """
    return None if rho >= 1 else service_s / (1 - rho)


def poisson_quantile(probability: float, *, mean: float) -> float:
    """Quantile of a Poisson number, continuous in its mean (number of customers in M/G/infinity).

    Parameters
    ----------
    probability : [1]
    mean : [1]

    Returns
    -------
    [1]

    Notes
    -----
    Cornish-Fisher expansion to the skewness term: m + z sqrt(m) + (z^2 - 1) / 6. Never below zero; within half a
    customer of the exact quantile for means above one.

    References
    ----------
    E. A. Cornish, R. A. Fisher, "Moments and cumulants in the specification of distributions", Revue de l'Institut
    International de Statistique 5, 1938, table II.

    >>> round(poisson_quantile(0.99, mean=100.0), 1)
    124.0
    """
    if mean <= 0:
        return 0.0
    z = float(ndtri(probability))
    return max(0.0, mean + z * math.sqrt(mean) + (z * z - 1) / 6)


def linear_batch(*, demand_per_s: float, fixed_s: float, per_item_s: float) -> float | None:
    """Items in a batch server that gives each item one unit of work a step, in equilibrium; None past saturation.

    Parameters
    ----------
    demand_per_s : units of work asked for (for decode: output tokens) [1/s]
    fixed_s : time of a step with an empty batch [s]
    per_item_s : extra time of a step per item [s]

    Returns
    -------
    batch [1]

    Notes
    -----
    Little's law with a step time that grows with the batch: B = d T(B), T(B) = f + s B, so B = d f / (1 - d s).

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961, eq. (1).

    >>> linear_batch(demand_per_s=100.0, fixed_s=0.02, per_item_s=0.005)
    4.0
    """
    slack = 1 - demand_per_s * per_item_s
    return None if slack <= 0 else demand_per_s * fixed_s / slack


def delay_quantiles_s(
    probabilities: Sequence[float],
    *,
    waiting: NDArray[np.float64],
    wait_if_waiting_s: NDArray[np.float64],
    service_s: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Quantiles of wait + service, for several load points at once.

    Parameters
    ----------
    probabilities : one per load point, or one for all [1]
    waiting : probability of waiting, shape (loads,) [1]
    wait_if_waiting_s : mean wait of those who wait, shape (loads,) [s]
    service_s : values of the service time, shape (points,) or (loads, points) [s]
    weights : how likely the values are, relative to each other, shape (points,) or (loads, points); None: equally [1]

    Returns
    -------
    shape (loads,) [s]

    Notes
    -----
    F(t) = E[1 - C exp(-(t - S)/w); S <= t]; wait and own service are independent (first come, first served). Between
    two neighbouring values S_k and S_k+1, with W_k = P(S <= S_k) and G_k = E[exp(-(S_k - S)/w); S <= S_k], it is
    W_k - C G_k exp(-(t - S_k)/w), which reaches p at t = S_k + w ln(C G_k / (W_k - p)), and at S_k+1 if not before.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (5.134): system time is the convolution of wait
    and service.
    """
    target = np.broadcast_to(np.asarray(probabilities, dtype=np.float64), waiting.shape)
    values = np.broadcast_to(service_s, (len(waiting), service_s.shape[-1]))
    shares = np.broadcast_to(1.0 if weights is None else weights, values.shape)
    order = np.argsort(values, axis=1, kind="stable")
    values, shares = np.take_along_axis(values, order, axis=1), np.take_along_axis(shares, order, axis=1)
    wait = np.maximum(wait_if_waiting_s, 1e-12)
    # Sums of exponentials of any size: they are kept as logarithms.
    scaled = (values - values[:, :1]) / wait[:, None]
    with np.errstate(divide="ignore"):
        held = np.logaddexp.accumulate(scaled + np.log(shares), axis=1) - scaled
    late = waiting[:, None] * np.exp(held)
    within = np.cumsum(shares, axis=1)
    room = within - (target * within[:, -1])[:, None]
    nothing = _ROUNDING * within[:, -1]
    is_reached = room - late >= -nothing[:, None]
    rows, count = np.arange(len(waiting)), values.shape[1]
    place = np.where(is_reached.any(axis=1), is_reached.argmax(axis=1), count)
    before = np.maximum(place - 1, 0)
    left = room[rows, before]
    with np.errstate(divide="ignore"):
        inside = values[rows, before] + wait * np.log(late[rows, before] / np.maximum(left, nothing))
    ends = np.where(place < count, values[rows, np.minimum(place, count - 1)], np.inf)
    result: NDArray[np.float64] = np.where((place > 0) & (left > -nothing) & (inside < ends), inside, ends)
    return result

"""Mean time in the system under the rules that spread requests over equal instances, by fresh and by stale views.

Times are in units of the mean service time: one means no waiting. Arrivals are Poisson, service exponential, one
request at a time on each instance. At or past saturation the functions return None.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from planner.formulas.queueing import erlang_b, erlang_c

_SERIES_END = 1e-16
_ROUNDS = 60


def random_sojourn(rho: float) -> float | None:
    """Mean time in the system when each request goes to an instance drawn at random; None past saturation.

    Parameters
    ----------
    rho : load of an instance [1]

    Returns
    -------
    [service times]

    Notes
    -----
    1 / (1 - rho): each instance is an M/M/1 queue of its own.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.26).

    >>> random_sojourn(0.75)
    4.0
    """
    return None if rho >= 1 else 1 / (1 - rho)


def round_robin_sojourn(rho: float, *, instances: float = math.inf) -> float | None:
    """Mean time in the system when requests go to the instances in turn; None past saturation.

    Parameters
    ----------
    rho : load of an instance [1]
    instances : one is the same as random; endless by default [1]

    Returns
    -------
    [service times]

    Notes
    -----
    1 / (1 - sigma), where sigma is the root in (0, 1) of sigma = A(1 - sigma), A the transform of the time between two
    arrivals at one instance. Of N instances each sees every N-th arrival, an Erlang-N time:
    sigma = (N rho / (N rho + 1 - sigma))^N. Endlessly many make it constant (D/M/1) and
    sigma = -rho W0(-exp(-1/rho) / rho) with Lambert's W. Solved here for -ln sigma, which keeps all digits near
    saturation, where W0 is at its branch point.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, chapter 6 (G/M/1); R. M. Corless et al., "On the Lambert W
    function", Advances in Computational Mathematics 5, 1996, doi:10.1007/BF02124750.

    >>> round(round_robin_sojourn(0.9), 4)
    5.1787
    """
    if rho >= 1:
        return None
    if rho <= 0:
        return 1.0

    def excess(exponent: float) -> float:
        share = -math.expm1(-exponent)
        return (share / rho if math.isinf(instances) else instances * math.log1p(share / (instances * rho))) - exponent

    highest_at = -math.log((rho + 1 / instances) / (1 + 1 / instances))
    top = 1 / rho if math.isinf(instances) else instances * math.log1p(1 / (instances * rho))
    return -1 / math.expm1(-float(brentq(excess, highest_at, top + 1, xtol=1e-15)))


def choices_sojourn(rho: float, *, choices: int) -> float | None:
    """Mean time in the system when a request takes the shortest of ``choices`` queues drawn at random.

    Parameters
    ----------
    rho : load of an instance [1]
    choices : one is random [1]

    Returns
    -------
    [service times]; None past saturation

    Notes
    -----
    sum over i >= 1 of rho^((d^i - d) / (d - 1)), for endlessly many instances. With 200 at a load of 0.9 a simulation
    finds 1 to 2 % more.

    References
    ----------
    M. Mitzenmacher, "The power of two choices in randomized load balancing", IEEE Transactions on Parallel and
    Distributed Systems 12(10), 2001, the fixed point of the supermarket model,
    doi:10.1109/71.963420.

    >>> round(choices_sojourn(0.9, choices=2), 4)
    2.6141
    """
    if rho >= 1:
        return None
    if choices <= 1 or rho <= 0:
        return random_sojourn(max(rho, 0.0))
    total, exponent = 0.0, 0.0
    while (term := rho**exponent) > _SERIES_END * total:
        total += term
        exponent = choices * (exponent + 1)
    return total


def shared_queue_sojourn(rho: float, *, instances: int) -> float | None:
    """Mean time in the system when all instances draw from one queue: no rule of spreading does better.

    Parameters
    ----------
    rho : load of an instance [1]
    instances : [1]

    Returns
    -------
    [service times]; None past saturation

    Notes
    -----
    1 + C(N, N rho) / (N (1 - rho)) with Erlang's C.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, eq. (3.40).

    >>> round(shared_queue_sojourn(0.8, instances=2), 4)
    2.7778
    """
    waiting = erlang_c(max(rho, 0.0) * instances, servers=instances)
    return None if waiting is None else 1 + waiting / (instances * (1 - max(rho, 0.0)))


def join_shortest_sojourn(rho: float, *, instances: int) -> float | None:
    """Mean time in the system when each request joins the shortest of all queues, seen fresh.

    Parameters
    ----------
    rho : load of an instance [1]
    instances : [1]

    Returns
    -------
    [service times]; None past saturation

    Notes
    -----
    An approximation of our own: S = 1 + C / (N (1 - rho)) + (1 - 1/sqrt(N)) b. The second term is the wait of one
    shared queue. The third is the price of having joined a queue instead: q instances hold two requests, the others are
    a loss system of N - q places whose overflow makes the pairs, so q = a b, b = B(N - q, a), a = N rho, solved for q.
    Exact for one instance. Simulated: 2.13 for 8 instances at a load of 0.9 (here 2.19), 1.30 for 32 (1.29), 1.018 for
    200 (1.018); at most 3 % off from 2 to 200 instances up to a load of 0.95.

    References
    ----------
    P. Eschenfeldt, D. Gamarnik, "Join the shortest queue with many servers. The heavy-traffic asymptotics", Mathematics
    of Operations Research 43(3), 2018, limit with queues of none, one and two,
    doi:10.1287/moor.2017.0887.

    >>> round(join_shortest_sojourn(0.9, instances=1), 9)
    10.0
    """
    pooled = shared_queue_sojourn(rho, instances=instances)
    if pooled is None or rho <= 0:
        return pooled
    offered = rho * instances
    blocked = erlang_b(offered, servers=instances)
    for _ in range(_ROUNDS):
        new = erlang_b(offered, servers=max(instances - offered * blocked, 0.0))
        if abs(new - blocked) < 1e-9:
            break
        blocked = (blocked + new) / 2
    return pooled + (1 - 1 / math.sqrt(instances)) * blocked

"""How soon a dead instance is noticed, what is lost until then, and how often a live one is taken for dead."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

_POINTS = 4097


class Detection(NamedTuple):
    """From the failure to the last router that stops sending.

    Parameters
    ----------
    mean_s : over routers and phases [s]
    worst_s : the longest for active probes; the mean of the last router for passive counters [s]
    mean_lost, worst_lost : requests sent to the dead instance meanwhile [1]
    """

    mean_s: float
    worst_s: float
    mean_lost: float
    worst_lost: float


def active(instance_rps: float, *, interval_s: float, failures: int, timeout_s: float = 0.0) -> Detection:
    """Health probes: ejected after so many failures in a row.

    Parameters
    ----------
    instance_rps : requests that go to the instance [1/s]
    interval_s : between two probes [s]
    failures : in a row that eject [1]
    timeout_s : of a probe: nil when the connection is refused at once, full when the instance hangs [s]

    Returns
    -------
    worst_s and worst_lost are the largest possible

    Notes
    -----
    D = U(0, I) + (k - 1) I + timeout: mean (k - 1/2) I + timeout, at most k I + timeout. Lost: lambda_i D.

    References
    ----------
    W. Chen, S. Toueg, M. K. Aguilera, "On the quality of service of failure detectors", IEEE Transactions on Computers
    51(5), 2002, detection time of periodic heartbeats,
    doi:10.1109/TC.2002.1004595.

    >>> active(25.0, interval_s=1.0, failures=3)
    Detection(mean_s=2.5, worst_s=3.0, mean_lost=62.5, worst_lost=75.0)
    """
    mean_s = (failures - 0.5) * interval_s + timeout_s
    worst_s = failures * interval_s + timeout_s
    return Detection(mean_s, worst_s, instance_rps * mean_s, instance_rps * worst_s)


def passive_private(instance_rps: float, *, failures: int, routers: int, timeout_s: float = 0.0) -> Detection | None:
    """Failed requests counted by each router for itself; None without requests, for then nothing is ever noticed.

    Parameters
    ----------
    instance_rps : requests that go to the instance, from all routers [1/s]
    failures : in a row that eject [1]
    routers : that count for themselves, with equal shares of the requests [1]
    timeout_s : until a request is known to have failed: nil when refused at once [s]

    Returns
    -------
    worst_s is the mean of the last router; mean_lost and worst_lost are the same

    Notes
    -----
    Each router waits for k of its own requests: Erlang(k, lambda_i / R), mean k R / lambda_i. The last one is the
    largest of R: E[max] = integral of 1 - P(k, lambda_i t / R)^R, with P the regularised incomplete gamma function.
    Lost: R k, and those sent while the last ones are still out, lambda_i timeout.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.1).

    >>> found = passive_private(25.0, failures=1, routers=8)
    >>> round(found.worst_s, 3), found.worst_lost
    (0.87, 8.0)
    """
    if instance_rps <= 0:
        return None
    of_one_s = routers / instance_rps
    lost = float(routers * failures) + instance_rps * timeout_s
    last_s = of_one_s * _mean_largest_erlang(failures, count=routers)
    return Detection(failures * of_one_s + timeout_s, last_s + timeout_s, lost, lost)


def passive_shared(
    instance_rps: float, *, failures: int, routers: int = 1, spread_s: float = 0.0, timeout_s: float = 0.0
) -> Detection | None:
    """Failed requests counted by each router, the first verdict told to all; None without requests.

    Parameters
    ----------
    instance_rps : requests that go to the instance, from all routers [1/s]
    failures : in a row that eject [1]
    routers : one means that the count itself is shared [1]
    spread_s : from a verdict to the last router that knows it [s]
    timeout_s : until a request is known to have failed [s]

    Returns
    -------
    means; worst_s and worst_lost are the same as the means

    Notes
    -----
    The smallest of R Erlang(k, lambda_i / R) times: E[min] = integral of (1 - P(k, lambda_i t / R))^R; with one shared
    count k / lambda_i. Lost: lambda_i times that time.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.2).

    >>> passive_shared(25.0, failures=5)
    Detection(mean_s=0.2, worst_s=0.2, mean_lost=5.0, worst_lost=5.0)
    """
    if instance_rps <= 0:
        return None
    first = failures if routers <= 1 else routers * _mean_smallest_erlang(failures, count=routers)
    mean_s = first / instance_rps + spread_s + timeout_s
    lost = first + instance_rps * (spread_s + timeout_s)
    return Detection(mean_s, mean_s, lost, lost)


@lru_cache(maxsize=256)
def _mean_largest_erlang(stages: int, *, count: int) -> float:
    top = stages + 12 * np.sqrt(stages) + 2 * np.log(count) + 30
    at = np.linspace(0.0, top, _POINTS)
    return _simpson(1 - gammainc(stages, at) ** count, step=at[1])


@lru_cache(maxsize=256)
def _mean_smallest_erlang(stages: int, *, count: int) -> float:
    top = stages + 12 * np.sqrt(stages) + 30 / count
    at = np.linspace(0.0, top, _POINTS)
    return _simpson((1 - gammainc(stages, at)) ** count, step=at[1])


def _simpson(values: np.ndarray, *, step: float) -> float:
    return float(step / 3 * (values[0] + 4 * values[1::2].sum() + 2 * values[2:-1:2].sum() + values[-1]))


def streams_cut(instance_rps: float, *, duration_s: float) -> float:
    """Streams that end when an instance dies: all that were running on it.

    Parameters
    ----------
    instance_rps : [1/s]
    duration_s : mean time of a request in the instance [s]

    Returns
    -------
    [1]

    Notes
    -----
    L = lambda W.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961, eq. (1).

    >>> streams_cut(25.0, duration_s=12.0)
    300.0
    """
    return instance_rps * duration_s


def probes_to_false_ejection(miss: float, *, failures: int) -> float | None:
    """Mean number of probes of a live instance until so many fail in a row by chance; None when none ever fails.

    Parameters
    ----------
    miss : share of the probes of a live, busy instance that fail [1]
    failures : in a row that eject [1]

    Returns
    -------
    [1]

    Notes
    -----
    (1 - p^k) / ((1 - p) p^k), for independent probes.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, eq. XIII (7.7).

    >>> round(probes_to_false_ejection(0.05, failures=3))
    8420
    """
    if miss <= 0:
        return None
    return sum(miss**-run for run in range(1, failures + 1))


def seconds_between_false_ejections(miss: float, *, failures: int, interval_s: float, instances: float) -> float | None:
    """Mean time between two live instances of the fleet taken for dead; None when no probe ever fails.

    >>> round(seconds_between_false_ejections(0.05, failures=3, interval_s=1.0, instances=200), 1)
    42.1
    """
    probes = probes_to_false_ejection(miss, failures=failures)
    return None if probes is None or instances <= 0 else probes * interval_s / instances


def failures_against_false_ejection(
    miss: float, *, interval_s: float, instances: float, wanted_s: float, at_most: int = 20
) -> int | None:
    """Fewest failures in a row that keep false ejections at least ``wanted_s`` apart; None if ``at_most`` do not.

    >>> failures_against_false_ejection(0.05, interval_s=1.0, instances=200, wanted_s=3600.0)
    5
    """
    for failures in range(1, at_most + 1):
        apart = seconds_between_false_ejections(miss, failures=failures, interval_s=interval_s, instances=instances)
        if apart is None or apart >= wanted_s:
            return failures
    return None

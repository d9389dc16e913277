"""What becomes of an ejected instance: how many may be out at once, when it is tried again, when it is back."""

from __future__ import annotations

import math

CAP_SHARE = 0.1
FAILURES = 5
BASE_S = 30.0
MOST_S = 300.0
"""Defaults of Envoy's outlier detection: share and time out, failures in a row, growth to the longest time out."""


def most_ejected(instances: int, *, cap_share: float = CAP_SHARE, at_least_one: bool = True) -> int:
    """Instances that may be out at once, so that a fault of the judge does not empty the fleet.

    Parameters
    ----------
    instances : [1]
    cap_share : [1]
    at_least_one : whether one may go whatever the cap

    Returns
    -------
    [1]

    Notes
    -----
    max(1, floor(cap * N)). Newer versions of Envoy let one go whatever the cap only when asked to.

    References
    ----------
    Envoy, "config.cluster.v3.OutlierDetection", fields max_ejection_percent and always_eject_one_host.

    >>> most_ejected(200)
    20
    """
    allowed = math.floor(round(cap_share * instances, 9))
    return min(instances, max(allowed, 1 if at_least_one else 0))


def ejection_s(times: int, *, base_s: float = BASE_S, most_s: float = MOST_S) -> float:
    """How long an instance stays out when it is ejected for the ``times``-th time in a row.

    Parameters
    ----------
    times : the first is one [1]
    base_s, most_s : [s]

    Returns
    -------
    [s]

    Notes
    -----
    min(base * times, max(base, most)).

    References
    ----------
    Envoy, "config.cluster.v3.OutlierDetection", fields base_ejection_time and max_ejection_time.

    >>> ejection_s(3)
    90.0
    """
    return min(base_s * times, max(base_s, most_s))


def ejections_during(outage_s: float, *, base_s: float = BASE_S, most_s: float = MOST_S) -> int:
    """How many ejections in a row an outage brings; the last one runs when the instance recovers.

    Notes
    -----
    The smallest m with the first m ejections together longer than the outage.

    References
    ----------
    Envoy, "config.cluster.v3.OutlierDetection", fields base_ejection_time and max_ejection_time.

    >>> ejections_during(100.0)  # 30 + 60 + 90
    3
    """
    if base_s <= 0:
        return 0
    passed, times = 0.0, 0
    while passed <= outage_s and times < 10_000:
        times += 1
        passed += ejection_s(times, base_s=base_s, most_s=most_s)
    return times


def idle_after_recovery_s(outage_s: float, *, base_s: float = BASE_S, most_s: float = MOST_S) -> float:
    """Mean time a recovered instance still stays out.

    Parameters
    ----------
    outage_s : from the failure to the recovery [s]
    base_s, most_s : [s]

    Returns
    -------
    [s]

    Notes
    -----
    Half of the ejection that runs at the recovery: its moment falls evenly into it.

    References
    ----------
    Envoy, "config.cluster.v3.OutlierDetection"; W. Feller, "An Introduction to Probability Theory and Its
    Applications", vol. 2, 2nd ed., 1971, section I.4 (a moment that falls evenly into an interval).

    >>> idle_after_recovery_s(100.0)
    45.0
    """
    return (
        ejection_s(max(ejections_during(outage_s, base_s=base_s, most_s=most_s), 1), base_s=base_s, most_s=most_s) / 2
    )


def reclosed(error: float, *, trials: int) -> float | None:
    """Probability that a half-open breaker closes; None without trials: the instance is never tried, out for ever.

    Parameters
    ----------
    error : share of the trials that fail [1]
    trials : that all have to succeed [1]

    Returns
    -------
    [1]

    Notes
    -----
    (1 - p)^m.

    References
    ----------
    M. T. Nygard, "Release It!", 2nd ed., 2018, section 5.2 (circuit breaker).

    >>> reclosed(0.5, trials=3)
    0.125
    """
    return None if trials <= 0 else float((1 - error) ** trials)

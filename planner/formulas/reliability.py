"""What fails together, how often it is up, and how many units a promise needs.

The failure domain is the *unit*: in an expert-parallel group one lost node stops the all-to-all of all.
"""

from __future__ import annotations

from scipy.special import betainc


def unit_availability(nodes: float, *, failures_per_node_h: float, repair_h: float) -> float:
    """Share of time in which all nodes of a unit are up.

    Parameters
    ----------
    nodes : nodes that fail together [1]
    failures_per_node_h : failure rate of one node [1/h]
    repair_h : from the failure to the unit serving again [h]

    Returns
    -------
    [1]

    Notes
    -----
    A = 1 / (1 + m r R): alternating renewal with mean up time 1/(m r) and mean down time R. Nodes of a unit that is
    down do not fail again.

    References
    ----------
    R. E. Barlow, F. Proschan, "Mathematical Theory of Reliability", 1965, section 3.3 (limiting availability
    MTBF / (MTBF + MTTR)).

    >>> round(unit_availability(18, failures_per_node_h=5e-5, repair_h=0.75), 6)
    0.999325
    """
    return 1 / (1 + nodes * failures_per_node_h * repair_h)


def at_least_up(needed: int, *, units: int, availability: float) -> float:
    """Probability that at least ``needed`` of ``units`` independent units are up.

    Notes
    -----
    Upper tail of the binomial distribution, as a regularised incomplete beta function.

    References
    ----------
    R. E. Barlow, F. Proschan, "Statistical Theory of Reliability and Life Testing", 1975, section 1.2 (k-out-of-n
    structures).

    >>> round(at_least_up(2, units=3, availability=0.9), 3)
    0.972
    """
    if needed <= 0:
        return 1.0
    if needed > units:
        return 0.0
    return float(betainc(needed, units - needed + 1, availability))


def units_for_availability(needed: int, *, availability: float, target: float, at_most: int = 100_000) -> int | None:
    """Fewest units so that ``needed`` are up with probability ``target``; None if ``at_most`` do not suffice.

    Notes
    -----
    Binomial quantile, searched by doubling and bisection: `at_least_up` grows with the number of units.

    References
    ----------
    R. E. Barlow, F. Proschan, "Statistical Theory of Reliability and Life Testing", 1975, section 1.2.

    >>> units_for_availability(2, availability=0.9, target=0.97)
    3
    """
    if needed <= 0:
        return 0
    high = needed
    while at_least_up(needed, units=high, availability=availability) < target:
        if high >= at_most:
            return None
        high = min(at_most, 2 * high)
    low = needed
    while low < high:
        middle = (low + high) // 2
        if at_least_up(needed, units=middle, availability=availability) >= target:
            high = middle
        else:
            low = middle + 1
    return high


def capacity_left(units: int, *, lost: int, unit_gpus: float, needed_gpus: float) -> float | None:
    """Capacity as a share of the need after ``lost`` units fail; None without a need.

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 18 (N + k redundancy).

    >>> capacity_left(3, lost=1, unit_gpus=10.0, needed_gpus=16.0)
    1.25
    """
    if needed_gpus <= 0:
        return None
    return max(units - lost, 0) * unit_gpus / needed_gpus


def failures_per_day(nodes: float, *, failures_per_node_h: float) -> float:
    """Node failures a day in the whole fleet.

    >>> round(failures_per_day(68, failures_per_node_h=5e-5), 4)
    0.0816
    """
    return 24 * nodes * failures_per_node_h

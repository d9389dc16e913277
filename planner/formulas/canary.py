"""A new version on a small share of the traffic: how many requests show that it is worse, and how long that takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.special import ndtr, ndtri

from planner.formulas.reliability import at_least_up

ALPHA = 0.05
POWER = 0.8


class Stage(NamedTuple):
    """One step of a roll-out.

    Parameters
    ----------
    weight : share of the traffic on the new version [1]
    samples : requests on it that the test needs [1]
    test_s : until they have come; None without requests [s]
    hold_s : how long to stay: the test after the caches are warm [s]
    """

    weight: float
    samples: float
    test_s: float | None
    hold_s: float | None


def samples(base: float, *, worse: float, weight: float, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Requests on the new version that show a higher rate of errors; None when it is no higher.

    Parameters
    ----------
    base : rate of the old version [1]
    worse : rate to be seen [1]
    weight : share of the traffic on the new version [1]
    alpha : of a false alarm, one-sided [1]
    power : of seeing it [1]

    Returns
    -------
    [1]

    Notes
    -----
    n = (z_a sqrt(p q (1 + k)) + z_b sqrt(p1 q1 + k p0 q0))^2 / (p1 - p0)^2, with k = w / (1 - w) requests on the new
    version for one on the old and p = w p1 + (1 - w) p0. Below n p0 = 20 the normal law is poor: see `exact_power`.

    References
    ----------
    J. L. Fleiss, B. Levin, M. C. Paik, "Statistical Methods for Rates and Proportions", 3rd ed., 2003, chapter 4
    (two samples of unequal size, without continuity correction).

    >>> round(samples(0.001, worse=0.002, weight=0.01))
    8137
    """
    if worse <= base or weight <= 0 or weight >= 1:
        return None
    ratio = weight / (1 - weight)
    pooled = weight * worse + (1 - weight) * base
    under_none = math.sqrt(pooled * (1 - pooled) * (1 + ratio))
    under_worse = math.sqrt(worse * (1 - worse) + ratio * base * (1 - base))
    z_alpha, z_power = -float(ndtri(alpha)), float(ndtri(power))
    return (z_alpha * under_none + z_power * under_worse) ** 2 / (worse - base) ** 2


def samples_s(count: float, *, weight: float, request_rps: float) -> float | None:
    """Time until so many requests have gone to the new version; None without requests.

    Notes
    -----
    n / (w lambda).

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961 (arrivals).

    >>> samples_s(8137.0, weight=0.01, request_rps=5000.0)
    162.74
    """
    flow = weight * request_rps
    return None if flow <= 0 else count / flow


def exact_power(count: int, *, base: float, worse: float, alpha: float = ALPHA) -> float:
    """Probability of seeing the worse rate in ``count`` requests against a rate that is known, by the binomial law.

    Parameters
    ----------
    count : requests on the new version [1]
    base, worse : [1]
    alpha : of a false alarm, one-sided [1]

    Returns
    -------
    [1]

    Notes
    -----
    P(X >= c | p1), c the smallest number with P(X >= c | p0) <= alpha. The old version gets so many more requests that
    its rate is taken as known.

    References
    ----------
    J. L. Fleiss, B. Levin, M. C. Paik, "Statistical Methods for Rates and Proportions", 3rd ed., 2003, section 2.1
    (exact test of one proportion).

    >>> round(exact_power(8137, base=0.001, worse=0.002), 3)
    0.747
    """
    if count <= 0:
        return 0.0
    fewest = _first(lambda errors: at_least_up(errors, units=count, availability=base) <= alpha, low=1, high=count + 1)
    return at_least_up(fewest, units=count, availability=worse)


def _first(holds: Callable[[int], bool], *, low: int, high: int) -> int:
    """Smallest number from ``low`` on for which ``holds``, which does from some number up to ``high`` on."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def exact_samples(
    base: float, *, worse: float, alpha: float = ALPHA, power: float = POWER, at_most: int = 100_000_000
) -> int | None:
    """Fewest requests at which the exact test has its power; None when the rate is no higher or ``at_most`` do not do.

    Parameters
    ----------
    base, worse : [1]
    alpha, power : [1]
    at_most : [1]

    Returns
    -------
    [1]; a few more may need one error more for an alarm and have a little less power

    Notes
    -----
    The fewest errors c that are an alarm set the most requests n(c) at which they still are, P(X >= c | p0) <= alpha.
    The first c whose n(c) requests have the power gives the answer: the fewest requests that have it with c.

    References
    ----------
    J. L. Fleiss, B. Levin, M. C. Paik, "Statistical Methods for Rates and Proportions", 3rd ed., 2003, section 2.1
    (exact test of one proportion).

    >>> exact_power(exact_samples(0.001, worse=0.002), base=0.001, worse=0.002) >= 0.8
    True
    """
    if worse <= base:
        return None

    def most(errors: int) -> int:
        return _first(lambda n: at_least_up(errors, units=n + 1, availability=base) > alpha, low=0, high=at_most)

    def has_power(errors: int) -> bool:
        return at_least_up(errors, units=most(errors), availability=worse) >= power

    errors = 1
    while not has_power(errors):
        if most(errors) >= at_most:
            return None
        errors *= 2
    errors = _first(has_power, low=errors // 2 + 1, high=errors)
    return _first(lambda n: at_least_up(errors, units=n, availability=worse) >= power, low=1, high=most(errors))


def exceedance(quantile: float, *, slower: float, sigma: float) -> float:
    """Share of the requests above a quantile of the old version's latency when all take ``1 + slower`` times as long.

    Parameters
    ----------
    quantile : of the old version [1]
    slower : 0.1 for ten per cent [1]
    sigma : standard deviation of ln latency [1]

    Returns
    -------
    [1]

    Notes
    -----
    p1 = 1 - Phi(z_q - ln(1 + delta) / sigma), lognormal latency. With p0 = 1 - q the test is that of `samples`.

    References
    ----------
    J. Aitchison, J. A. C. Brown, "The Lognormal Distribution", 1957, section 2.3 (quantiles).

    >>> round(exceedance(0.99, slower=0.1, sigma=0.8), 4)
    0.0136
    """
    if sigma <= 0:
        return 1.0 if slower > 0 else 1 - quantile
    return float(ndtr(math.log1p(slower) / sigma - ndtri(quantile)))


def stages(
    weights: Sequence[float],
    *,
    base: float,
    worse: float,
    request_rps: float,
    warm_s: float = 0.0,
    alpha: float = ALPHA,
    power: float = POWER,
) -> tuple[Stage, ...]:
    """A roll-out by weights, each held until its test has its samples from warm caches.

    Parameters
    ----------
    weights : ascending, below one [1]
    base, worse : as in `samples`
    request_rps : of all versions [1/s]
    warm_s : until caches give what they give for good: a cold one looks like a regression [s]
    alpha, power : of the whole roll-out and of each test [1]

    Returns
    -------
    one for each weight

    Notes
    -----
    Bonferroni: each of m tests is made at alpha / m, once, at its end.

    References
    ----------
    R. G. Miller, "Simultaneous Statistical Inference", 2nd ed., 1981, section 1.3 (Bonferroni inequality).

    >>> [round(stage.hold_s, 1) for stage in stages([0.05], base=0.001, worse=0.002, request_rps=5000.0)]
    [34.4]
    """
    each = alpha / max(len(weights), 1)
    return tuple(
        _stage(
            weight,
            samples(base, worse=worse, weight=weight, alpha=each, power=power),
            request_rps=request_rps,
            warm_s=warm_s,
        )
        for weight in weights
    )


def _stage(weight: float, count: float | None, *, request_rps: float, warm_s: float) -> Stage:
    needed = count or 0.0
    test_s = samples_s(needed, weight=weight, request_rps=request_rps)
    return Stage(weight, needed, test_s, None if test_s is None else warm_s + test_s)

"""How uneven the work of expert ranks is: all of them wait for the busiest."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_BLOM = 0.375


@lru_cache(maxsize=1024)
def busiest_of(ranks: float) -> float:
    """Expected largest of independent standard normal draws [standard deviations].

    Parameters
    ----------
    ranks : draws; fewer than two give 0

    Notes
    -----
    ``Φ⁻¹((m − 0.375)/(m + 0.25))``, within two per cent of the exact mean from eight draws on, six below.

    References
    ----------
    G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958, section 6.9.

    Examples
    --------
    >>> round(busiest_of(32), 2)
    2.07
    """
    if ranks < 2:
        return 0.0
    return max(0.0, NormalDist().inv_cdf((ranks - _BLOM) / (ranks + 1.0 - 2.0 * _BLOM)))


def expert_imbalance(*, ranks: float, assignments: float, uneven: float) -> float:
    """Load of the busiest expert rank over the mean.

    Parameters
    ----------
    ranks : ranks that share the experts
    assignments : tokens that the mean rank computes in a step, each counted once an expert
    uneven : spread of the ranks' loads beside chance, over their mean

    Returns
    -------
    float [1], at least one

    Notes
    -----
    Chance alone spreads a load of n by ``√n``; the unevenness that placement leaves comes on top:
    ``1 + z(m) · √(1/n + u²)``, with z of `busiest_of`.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 4.2; u is measured, see
    ``calibrations/wide_expert.toml``.

    Examples
    --------
    TensorRT-LLM measured 1.109 on 32 ranks with 1,024 tokens each.

    >>> round(expert_imbalance(ranks=32, assignments=1024, uneven=0.044), 2)
    1.11
    """
    return 1.0 + busiest_of(ranks) * math.sqrt(1.0 / max(assignments, 1.0) + uneven**2)


def longest_wait(*, ranks: float, squared_variation: float, draws: float) -> float:
    """Work of the busiest rank over the mean, when each amount of work goes to the rank that has the least.

    Parameters
    ----------
    ranks : ranks that step together
    squared_variation : variance of one amount over its squared mean
    draws : amounts a rank has in a step; less than one counts as one, because a piece cannot be shared out

    Returns
    -------
    float [1], at least one

    Notes
    -----
    Placed so, the work of two ranks differs by about one amount, however many they have: its spread is ``c/n`` of the
    sum. Taken as log-normal, ``s² = ln(1 + c²/n²)``, the largest of m lies near ``exp(z(m)·s − s²/2)`` times the mean,
    with z of `busiest_of`.

    References
    ----------
    R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969, doi:10.1137/0117039 (placing each on the least
    loaded); H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 4.5 (monotone transforms).

    Examples
    --------
    >>> longest_wait(ranks=32, squared_variation=0.0, draws=4)
    1.0
    """
    squared = math.log1p(squared_variation / max(draws, 1.0) ** 2)
    return max(1.0, math.exp(busiest_of(ranks) * math.sqrt(squared) - squared / 2.0))

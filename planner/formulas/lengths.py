"""Lengths of prompts and answers as log-normal numbers with a stated mean."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri


def squared_variation(sigma: float) -> float:
    """Squared coefficient of variation of a log-normal number.

    Parameters
    ----------
    sigma : standard deviation of the logarithm [1]

    Returns
    -------
    [1]

    Notes
    -----
    c^2 = exp(sigma^2) - 1.

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    eq. (14.8).

    >>> squared_variation(0.0)
    0.0
    """
    return math.expm1(sigma * sigma)


def quantile(probability: float, *, mean: float, sigma: float) -> float:
    """Quantile of a log-normal number with this mean.

    Parameters
    ----------
    probability : [1]
    mean : in the unit of the answer
    sigma : standard deviation of the logarithm [1]

    Returns
    -------
    in the unit of the mean

    Notes
    -----
    q = m exp(sigma z - sigma^2 / 2).

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    eq. (14.5).

    >>> quantile(0.5, mean=3000.0, sigma=0.0)
    3000.0
    """
    return mean * math.exp(sigma * float(ndtri(probability)) - sigma * sigma / 2)


@lru_cache(maxsize=64)
def equally_likely(points: int, *, sigma: float) -> NDArray[np.float64]:
    """``points`` equally likely values of a log-normal number of mean one (midpoint rule, rescaled to that mean).

    The array is read-only, because it is kept.

    >>> float(equally_likely(4, sigma=0.0).sum())
    4.0
    """
    middle = (np.arange(points) + 0.5) / points
    values: NDArray[np.float64] = np.exp(sigma * ndtri(middle) - sigma * sigma / 2)
    values /= values.mean()
    values.setflags(write=False)
    return values


def share_within(*, tokens: float, mean: float, sigma: float) -> float:
    """Share of requests not longer than ``tokens``.

    Parameters
    ----------
    tokens : length asked about [tokens]
    mean : mean length [tokens]
    sigma : standard deviation of the logarithm [1]

    Returns
    -------
    [1]

    Notes
    -----
    F(x) = Phi((ln(x / m) + sigma^2 / 2) / sigma).

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    chapter 14.

    >>> round(share_within(tokens=3000.0, mean=3000.0, sigma=1e-9), 1)
    0.5
    """
    if tokens <= 0:
        return 0.0
    if sigma <= 0:
        return 1.0 if tokens >= mean else 0.0
    z = (math.log(tokens / mean) + sigma * sigma / 2) / sigma
    return 0.5 * math.erfc(-z / math.sqrt(2))

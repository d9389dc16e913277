"""Zipf's exponent from counts of requests, and whether there are enough of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from planner.formulas.popularity import Popularity

ENOUGH_REQUESTS = 10.0
"""Requests an item below which the exponent reads too high: 0.6 reads 0.72 at one request an item, 0.62 at ten."""

_MOST = 20.0
"""Exponent past which all requests go to one item."""


@dataclass(frozen=True, slots=True)
class ZipfFit:
    """Exponent fitted to counts.

    Parameters
    ----------
    exponent : s [1]
    deviation : of the estimate, if the ranks were known [1]
    requests_per_item : [1]
    """

    exponent: float
    deviation: float
    requests_per_item: float

    @property
    def enough(self) -> bool:
        """Whether there are requests enough for the ranks, which come from the same counts, not to bias it."""
        return self.requests_per_item >= ENOUGH_REQUESTS


def fit_zipf(counts: ArrayLike, *, items: int | None = None) -> ZipfFit | None:
    """Zipf's exponent by maximum likelihood; None without two items or without requests.

    Parameters
    ----------
    counts : requests of each item, in any order [1]
    items : how many there are with those that nobody asked for; None: as many as counts [1]

    Notes
    -----
    s solves sum_i c_i ln i / sum_i c_i = sum_i i^-s ln i / sum_i i^-s with ranks i by falling count; equal popularity
    if even s = 0 is too steep. Standard deviation 1 / sqrt(n Var_s[ln i]). Ranks read off the same counts make s too
    large while requests are few. Straight lines through logarithms of counts and ranks are worse.

    References
    ----------
    A. Clauset, C. R. Shalizi, M. E. J. Newman, "Power-law distributions in empirical data", SIAM Review 51(4), 2009,
    arXiv:0706.1062, section 3.1 and eq. (B.6)-(B.8) (estimator, deviation, and why not by least squares); here for
    ranks up to a known number.

    >>> round(fit_zipf([300, 150, 100, 75, 60, 50]).exponent, 6)
    1.0
    """
    known = np.sort(np.asarray(counts, dtype=np.float64))[::-1]
    size = max(len(known), items or 0)
    requests = float(known.sum())
    if size <= 1 or requests <= 0:
        return None
    logs = np.log(np.arange(1.0, size + 1.0))
    wanted = float(known @ logs[: len(known)]) / requests

    def excess(exponent: float) -> float:
        weights = np.exp(-exponent * logs)
        return float(weights @ logs / weights.sum()) - wanted

    exponent = 0.0 if excess(0.0) <= 0 else _MOST if excess(_MOST) >= 0 else float(brentq(excess, 0.0, _MOST))
    weights = np.exp(-exponent * logs)
    mean = weights @ logs / weights.sum()
    variance = float(weights @ (logs - mean) ** 2 / weights.sum())
    return ZipfFit(exponent, float(1.0 / np.sqrt(requests * max(variance, 1e-12))), requests / size)


def counted(counts: ArrayLike) -> Popularity:
    """Popularity as counted: items asked for equally often are one class.

    Parameters
    ----------
    counts : requests of each item [1]

    >>> found = counted([5, 1, 3, 1, 0])
    >>> print(found.shares.tolist(), found.items.tolist())
    [0.5, 0.3, 0.1, 0.0] [1.0, 1.0, 2.0, 1.0]
    """
    values, items = np.unique(np.asarray(counts, dtype=np.float64), return_counts=True)
    requests = float(values @ items)
    shares = values / requests if requests > 0 else values
    return Popularity(shares[::-1].copy(), items[::-1].astype(np.float64))

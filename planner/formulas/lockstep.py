"""Ranks that step together: a step lasts as long as the rank with the most work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mean_longest(values: NDArray[np.float64], *, weights: NDArray[np.float64], count: float) -> float:
    """Mean of the longest of ``count`` independent draws.

    Parameters
    ----------
    values : ascending
    weights : how often each value comes, up to a factor
    count : draws; need not be whole; none gives 0

    Returns
    -------
    in the unit of the values

    Notes
    -----
    E[max] = sum v_i (F_i^m - F_{i-1}^m).

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.1).

    >>> mean_longest(np.array([1.0, 2.0]), weights=np.array([1.0, 1.0]), count=2)
    1.75
    """
    if count <= 0:
        return 0.0
    reached = (np.cumsum(weights) / np.sum(weights)) ** count
    return float(np.sum(values * np.diff(reached, prepend=0.0)))

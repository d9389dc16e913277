"""How much of the spread of a figure comes from each input, told from the draws themselves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def first_order(places: Array, figures: Array) -> float:
    """First-order Sobol index of an input: the share of the variance that goes if the input were known.

    Parameters
    ----------
    places : of the input in each draw, in (0, 1) [1]
    figures : of each draw

    Returns
    -------
    float
        0 to 1; an estimate below nought is nought.

    Notes
    -----
    The draws are cut into K = √n classes of the input. S = Var[E[y | class]] / Var[y], less what chance alone gives:
    (SSB − (K − 1) MSW) / SST. One sample serves all inputs: no draws are made for the indices. See `noise`.

    References
    ----------
    E. Plischke, E. Borgonovo, C. L. Smith, "Global sensitivity measures from given data", EJOR 226(3), 2013,
    doi:10.1016/j.ejor.2012.11.047, section 3 (classes); T. L. Kelley, "An Unbiased Correlation Ratio Measure",
    PNAS 21(9), 1935, doi:10.1073/pnas.21.9.554 (the correction).

    >>> first_order(np.array([0.1, 0.3, 0.5, 0.7]), np.array([1.0, 1.0, 2.0, 2.0]))
    1.0
    """
    count = len(figures)
    whole = float(np.sum((figures - np.mean(figures)) ** 2)) if count else 0.0
    if count < 4 or whole <= 1e-18 * count * float(np.mean(figures)) ** 2:
        return 0.0
    classes = math.isqrt(count)
    at = np.minimum((places * classes).astype(int), classes - 1)
    sizes = np.bincount(at, minlength=classes)
    taken = sizes > 0
    means = np.bincount(at, weights=figures, minlength=classes)[taken] / sizes[taken]
    between = float(np.sum(sizes[taken] * (means - np.mean(figures)) ** 2))
    used = int(np.sum(taken))
    within = max(whole - between, 0.0) / max(count - used, 1)
    return min(max((between - (used - 1) * within) / whole, 0.0), 1.0)


def noise(count: int) -> float:
    """Standard error of `first_order` of an input that does nothing, from so many draws.

    The variance of a sum of K − 1 squares of normal numbers, over n: √(2 (K − 1)) / n.
    """
    return math.sqrt(2 * (math.isqrt(count) - 1)) / count if count > 3 else 1.0


def rank_correlation(places: Array, figures: Array) -> float:
    """Spearman's rank correlation: which way the figure goes with the input, −1 to 1; 0 where it stays the same.

    References
    ----------
    C. Spearman, "The Proof and Measurement of Association between Two Things", Am. J. Psychology 15(1), 1904.

    >>> rank_correlation(np.array([0.1, 0.2, 0.9]), np.array([5.0, 4.0, 1.0]))
    -1.0
    """
    ranks = [_ranks(column) - (len(column) + 1) / 2 for column in (places, figures)]
    size = math.sqrt(float(np.sum(ranks[0] ** 2)) * float(np.sum(ranks[1] ** 2)))
    return float(np.sum(ranks[0] * ranks[1])) / size if size > 0 else 0.0


def _ranks(values: Array) -> Array:
    """1 to n, of equal values the mean of theirs."""
    _values, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Array = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return found

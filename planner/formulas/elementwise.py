"""Smaller and larger of two numbers, or of two arrays element by element: one formula serves one replica and thousands.

Formulas that use these take floats, or numpy arrays of one shape, and give back the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def least(one: float, other: float) -> float:
    """The smaller of two [unit of both]."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        smaller: float = np.minimum(one, other)
        return smaller
    return min(one, other)


def largest(one: float, other: float) -> float:
    """The larger of two [unit of both]."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        larger: float = np.maximum(one, other)
        return larger
    return max(one, other)


def close(one: float, other: float, *, tolerance: float) -> bool:
    """Whether all elements agree to a share of the second."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.all(np.abs(one - other) <= tolerance * np.abs(other)))
    return bool(abs(one - other) <= tolerance * abs(other))


def largest_few(values: NDArray[np.float64], *, count: int) -> NDArray[np.intp]:
    """Places of the largest, the first of equal ones first: as a stable sort has them, without sorting the others.

    >>> largest_few(np.array([1.0, 3.0, 2.0, 3.0]), count=3).tolist()
    [1, 3, 2]
    """
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    places = np.flatnonzero(values >= np.partition(values, -count)[-count])
    return places[np.argsort(-values[places], kind="stable")[:count]]

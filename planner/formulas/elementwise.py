"""Smaller and larger of two numbers, or of two arrays element by element: one formula serves one replica and thousands.

Formulas that use these take floats, or numpy arrays of one shape, and give back the same.
"""

from __future__ import annotations

import numpy as np


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

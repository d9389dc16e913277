"""Prefixes pinned to instances by a hash: how uneven the load becomes, what a cap costs, what moves when one is lost.

Loads are in units of the mean load of an instance. Popularity is given in classes: the share of one prefix, and how
many prefixes have it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

CAP = 1.25
"""Load an instance may take over the mean, where nobody says."""

_POINTS = 1024
_LATTICE = 8
"""Prefixes of fewer lattice steps than this are taken together as one normal variable."""
_SPREAD = 8.0
_WAVES = np.arange(_POINTS // 2 + 1)
_ROOTS = np.exp(-2j * np.pi / _POINTS * np.arange(_POINTS))


class HotPrefixes(NamedTuple):
    """Prefixes that are too much for one instance under the cap.

    Parameters
    ----------
    groups : hot prefixes [1]
    copies : places they lie on together [1]
    share : of the requests that ask for one of them [1]
    """

    groups: float
    copies: float
    share: float


def plain_cv(shares: ArrayLike, *, instances: float, items: ArrayLike = 1.0) -> float:
    """Coefficient of variation of the load of an instance when each prefix lies where its hash says.

    Parameters
    ----------
    shares : of all requests that ask for one prefix of a class [1]
    instances : [1]
    items : prefixes in each class [1]

    Returns
    -------
    [1]

    Notes
    -----
    sqrt((N - 1) sum p^2): each prefix is on a given instance with probability 1/N, independently.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section IX.5
    (variance of a sum of independent variables).

    >>> plain_cv([0.5, 0.5], instances=3)
    1.0
    """
    return float(np.sqrt(max(instances - 1, 0) * np.sum(np.asarray(items) * np.square(shares))))


def copied_cv(shares: ArrayLike, *, instances: float, cap: float = CAP, items: ArrayLike = 1.0) -> float:
    """The same when hot prefixes lie on as many instances as the cap asks, in equal parts, placed at random.

    Parameters
    ----------
    shares, instances, items : as in `plain_cv`
    cap : [means]

    Returns
    -------
    [1]

    Notes
    -----
    sqrt(sum p^2 (N / r - 1)), r copies of a prefix on different instances.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section IX.5
    (variance of a sum of independent variables).

    >>> round(copied_cv([0.5, 0.5], instances=4, cap=1.0), 4)
    0.7071
    """
    placed = copies(shares, instances=instances, cap=cap)
    return float(np.sqrt(np.sum(np.asarray(items) * np.square(shares) * (max(instances, 1) / placed - 1))))


def copies(shares: ArrayLike, *, instances: float, cap: float = CAP) -> NDArray[np.float64]:
    """Instances that each prefix lies on so that none of its copies exceeds the cap.

    Parameters
    ----------
    shares : of all requests that ask for the prefix [1]
    instances : [1]
    cap : load of an instance that one prefix may fill [means]

    Returns
    -------
    [1], as many as shares

    Notes
    -----
    r = ceil(p N / c), from one to N. Not sufficient: copies that fall on one instance by chance leave a largest load of
    3.5 means, or 2.1 when each goes to the emptier of two (20,000 prefixes of Zipf's law on 200 instances, simulated):
    the rest has to spill by load.

    References
    ----------
    V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018 (capacity of c means).

    >>> copies([0.5, 0.3, 0.2], instances=5, cap=1.25).tolist()
    [2.0, 2.0, 1.0]
    """
    wanted = np.ceil(np.round(np.asarray(shares, dtype=np.float64) * instances / cap, 9))
    result: NDArray[np.float64] = np.clip(wanted, 1.0, max(float(instances), 1.0))
    return result


def hot_prefixes(shares: ArrayLike, *, instances: float, cap: float = CAP, items: ArrayLike = 1.0) -> HotPrefixes:
    """Prefixes that need more than one copy under the cap.

    Parameters
    ----------
    shares, instances, items : as in `plain_cv`
    cap : [means]

    Returns
    -------
    groups, copies and their share of the requests

    Notes
    -----
    Those with p N > c; copies as in `copies`.

    References
    ----------
    V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018 (capacity of c means).

    >>> hot_prefixes([0.5, 0.3, 0.2], instances=5)
    HotPrefixes(groups=2.0, copies=4.0, share=0.8)
    """
    each, counts = np.broadcast_arrays(np.asarray(shares, dtype=np.float64), np.asarray(items, dtype=np.float64))
    placed = copies(each, instances=instances, cap=cap)
    hot = placed > 1
    return HotPrefixes(
        groups=float(counts[hot].sum()),
        copies=float((placed * counts)[hot].sum()),
        share=float((each * counts)[hot].sum()),
    )


def plain_peak(shares: ArrayLike, *, instances: int, items: ArrayLike = 1.0) -> float:
    """Mean load of the fullest instance when each prefix lies where its hash says.

    Parameters
    ----------
    shares, instances, items : as in `plain_cv`

    Returns
    -------
    [means]; near 1 + N p of the hottest prefix when that is large

    Notes
    -----
    E[max] = integral of 1 - F(x)^N. F, the law of the load of one instance, has the transform
    prod_g (1 + (exp(-i w x_g) - 1) / N) with x_g = N p_g, inverted by a fast Fourier transform; loads of different
    instances are taken as independent. Never below the mean of the instance with the hottest prefix,
    1 + (N - 1) p.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.1); P. Embrechts, M. Frei, "Panjer
    recursion versus FFT for compound distributions", Mathematical Methods of Operations Research 69, 2009,
    doi:10.1007/s00186-008-0249-2.

    >>> plain_peak([1.0], instances=7)
    7.0
    """
    each, counts = np.broadcast_arrays(np.asarray(shares, dtype=np.float64), np.asarray(items, dtype=np.float64))
    if instances <= 1 or not each.any():
        return 1.0
    at, law = _load_law(each, counts, instances=instances)
    reached = np.cumsum(law) ** instances
    highest = float(at[-1] - (reached[:-1] * np.diff(at)).sum())
    return min(max(highest, 1 + (instances - 1) * float(each.max())), float(instances))


def _load_law(
    shares: NDArray[np.float64], items: NDArray[np.float64], *, instances: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and probabilities of the load of an instance [means]."""
    loads = shares * instances
    step = (loads.max() + _SPREAD * (1 + plain_cv(shares, instances=instances, items=items))) / _POINTS
    small = loads < _LATTICE * step
    counts = np.bincount(np.round(loads[~small] / step).astype(np.int64), weights=items[~small], minlength=1)
    sizes = np.flatnonzero(counts)
    transform = _transform(sizes, counts[sizes], instances=instances)
    deviation = math.sqrt(float(np.sum(items[small] * loads[small] ** 2)) * (1 - 1 / instances) / instances) / step
    shift = math.ceil(5 * deviation) if deviation > 1 else 0  # narrower than the lattice it is a constant
    if shift:
        transform *= _ROOTS[_WAVES * shift % _POINTS] * np.exp(-((2 * np.pi / _POINTS * _WAVES * deviation) ** 2) / 2)
    law = np.maximum(np.fft.irfft(transform, _POINTS), 0.0)
    fixed = float(np.sum(items[small] * loads[small])) / instances
    on_lattice = float(counts[sizes] @ sizes) * step / instances
    stretch = (1 - fixed) / on_lattice if on_lattice else 1.0  # what rounding to the lattice took or added
    return (np.arange(_POINTS) - shift) * step * stretch + fixed, law / law.sum()


def _transform(sizes: NDArray[np.int64], counts: NDArray[Any], *, instances: int) -> NDArray[np.complex128]:
    each = 1 + (_ROOTS[sizes[:, None] * _WAVES % _POINTS] - 1) / instances
    several = counts != 1  # a power costs a logarithm; most sizes of hot prefixes come once
    each[several] **= counts[several, None]
    product: NDArray[np.complex128] = np.multiply.reduce(each, axis=0)
    return product

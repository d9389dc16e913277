"""Caches one behind the other: HBM, DRAM, SSD, a pool across nodes.

Every arrangement here comes down to one LRU of some reach: tiers that move entries down hold what one LRU of their
capacities together holds, tiers that keep copies what the largest alone holds. The hits of a tier are then what its
reach adds to the tiers before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def exclusive_reach(capacities: Sequence[float]) -> NDArray[np.float64]:
    """Capacity of the single LRU that hits as much as the first tiers together, when an entry is in one tier only.

    Parameters
    ----------
    capacities : nearest first, in any unit

    Notes
    -----
    C_1, C_1 + C_2, ...: what tier i evicts moves to tier i + 1, a hit moves back to tier 1, so the tiers cut one LRU
    stack into pieces. Exact.

    References
    ----------
    R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (inclusion);
    T. M. Wong, J. Wilkes, "My cache or yours? Making storage more exclusive", USENIX ATC 2002.

    >>> [float(reach) for reach in exclusive_reach([2.0, 8.0])]
    [2.0, 10.0]
    """
    return np.cumsum(np.asarray(capacities, dtype=float))


def inclusive_reach(capacities: Sequence[float]) -> NDArray[np.float64]:
    """Capacity of the single LRU that hits as much as the first tiers together, when each keeps a copy of its own.

    Parameters
    ----------
    capacities : nearest first, in any unit

    Notes
    -----
    max(C_1, ..., C_i): exact if every access refreshes every tier; within a hundredth of the hits if a tier sees only
    the misses of the one before it.

    References
    ----------
    R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (inclusion).

    >>> [float(reach) for reach in inclusive_reach([2.0, 8.0])]
    [2.0, 8.0]
    """
    return np.maximum.accumulate(np.asarray(capacities, dtype=float))


def hits_by_tier(hits_within_reach: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """What each tier adds, from the hits of single caches of the tiers' reaches.

    Parameters
    ----------
    hits_within_reach : shares, rates or counts; growing

    Notes
    -----
    h_i = H(reach_i) - H(reach_{i-1}).

    References
    ----------
    R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (success
    functions of a hierarchy).

    >>> [int(hits) for hits in hits_by_tier([15_487, 60_921])]
    [15487, 45434]
    """
    return np.diff(np.asarray(hits_within_reach, dtype=float), prepend=0.0)


def exclusive_writes(lookups: float, *, hits_before: float) -> float:
    """Entries written into a tier that takes what the tiers before it evict.

    Parameters
    ----------
    lookups : count or rate
    hits_before : found in the tiers before this one, likewise

    Notes
    -----
    In the long run every entry that is put into the tiers before, a miss of theirs or a promotion, pushes one out.

    References
    ----------
    T. M. Wong, J. Wilkes, "My cache or yours? Making storage more exclusive", USENIX ATC 2002, section 3 (demotion
    traffic).

    >>> exclusive_writes(288_500.0, hits_before=15_487.0)
    273013.0
    """
    return lookups - hits_before


def inclusive_writes(lookups: float, *, hits_through: float) -> float:
    """Entries written into a tier that takes a copy of whatever it does not hold.

    Parameters
    ----------
    lookups : count or rate
    hits_through : found in this tier or one before it, likewise

    Notes
    -----
    The misses of all tiers through this one, since the tiers before hold nothing this one does not.

    References
    ----------
    R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (inclusion).

    >>> inclusive_writes(288_500.0, hits_through=15_487.0 + 35_758.0)
    237255.0
    """
    return lookups - hits_through


def exclusive_pays(nearer: float, *, farther: float) -> bool:
    """Whether keeping an entry in one of two tiers only is worth its writes: when the nearer adds a tenth or more.

    Notes
    -----
    C_1 > 0.1 C_2. A rule of thumb from replays of a published chat trace: at C_1 / C_2 = 0.25 to 0.33 exclusive tiers
    add a fifth to the hits, at 0.11 only 0.4 %, for 15 % to 35 % more writes.

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025 (the conversation trace replayed).

    >>> exclusive_pays(320.0, farther=1500.0), exclusive_pays(1.5, farther=60.0)
    (True, False)
    """
    return nearer > 0.1 * farther

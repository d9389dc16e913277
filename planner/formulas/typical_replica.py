"""What one of many replicas sees when each item lies on some of them only: the mean over replicas, for any sizes.

`planner.formulas.copy_placement` places items one by one; here the classes of a `Popularity` are enough, so that a
million items on a thousand replicas cost as much as a thousand on eight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import hashing
from planner.formulas.popularity import Popularity

COPIES_PER_MEAN = 4.0
"""Copies of an item that asks for as much as one replica takes on average."""


@dataclass(frozen=True, slots=True, eq=False)
class TypicalReplica:
    """Popularity of items among the requests of one replica, and how unequal the replicas are.

    Parameters
    ----------
    popularity : of the items among the requests of a replica
    copies : replicas that an item lies on, by class of the popularity [1]
    imbalance : load of the busiest replica over the mean [1]
    """

    popularity: Popularity
    copies: NDArray[np.float64]
    imbalance: float

    @property
    def items(self) -> float:
        """Items that lie on a replica, on average [1]."""
        return float(self.popularity.items.sum())


def anywhere(popularity: Popularity, *, replicas: int) -> TypicalReplica:
    """Every item on every replica.

    >>> from planner.formulas.popularity import zipf
    >>> anywhere(zipf(10, exponent=0.0), replicas=4).items
    10.0
    """
    return TypicalReplica(popularity, np.full_like(popularity.shares, float(replicas)), 1.0)


def by_hash(popularity: Popularity, *, replicas: int, copies: int = 1) -> TypicalReplica:
    """Each item on as many replicas as said, drawn without regard to load.

    Parameters
    ----------
    popularity : of the items among all requests
    replicas : M [1]
    copies : k of each item [1]

    Notes
    -----
    A replica has a share k/M of the items of each class, and each asks for p M/k of its requests. The busiest follows
    from the largest of the sums that fall on replicas (`planner.formulas.hashing.plain_peak`).

    References
    ----------
    D. Karger et al., "Consistent Hashing and Random Trees", STOC 1997 (placement by hash).

    >>> from planner.formulas.popularity import zipf
    >>> print(round(by_hash(zipf(1000, exponent=0.9), replicas=8).items, 6))
    125.0
    """
    kept = np.full_like(popularity.shares, float(min(max(copies, 1), replicas)))
    peak = hashing.plain_peak(popularity.shares / kept, instances=replicas, items=popularity.items * kept)
    imbalance = 1.0 if kept[0] >= replicas else min(max(peak, 1.0), float(replicas))
    return _seen(popularity, replicas=replicas, copies=kept, imbalance=imbalance)


def by_load(
    popularity: Popularity, *, replicas: int, least: int = 1, per_mean: float = COPIES_PER_MEAN
) -> TypicalReplica:
    """Popular items on more replicas, each put where least is: replicas are as good as equal.

    Parameters
    ----------
    popularity : of the items among all requests
    replicas : M [1]
    least : copies of any item [1]
    per_mean : copies of an item that asks for 1/M of the requests [1]

    Notes
    -----
    k = ceil(4 M p), from ``least`` to M: a copy takes at most a quarter of what a replica takes on average.

    References
    ----------
    V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018 (copies follow load);
    R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17(2), 1969 (least loaded first).

    >>> from planner.formulas.popularity import zipf
    >>> by_load(zipf(2, exponent=0.0), replicas=8).copies.tolist()
    [8.0, 8.0]
    """
    wanted = np.ceil(np.round(per_mean * replicas * popularity.shares, 9))
    kept = np.clip(wanted, min(max(least, 1), replicas), replicas)
    return _seen(popularity, replicas=replicas, copies=kept, imbalance=1.0)


def _seen(popularity: Popularity, *, replicas: int, copies: NDArray[np.float64], imbalance: float) -> TypicalReplica:
    mine = Popularity(popularity.shares * replicas / copies, popularity.items * copies / replicas)
    return TypicalReplica(mine, copies, imbalance)

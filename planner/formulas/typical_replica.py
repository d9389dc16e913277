"""What one of many replicas sees when each item lies on some of them only: the mean over replicas, for any sizes.

`planner.formulas.copy_placement` places items one by one; here the classes of a `Popularity` are enough, so that a
million items on a thousand replicas cost as much as a thousand on eight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import hashing
from planner.formulas.caching import characteristic_time_s
from planner.formulas.popularity import IndependentItems, Popularity

COPIES_PER_MEAN = 4.0
"""Copies of an item that asks for as much as one replica takes on average."""
_NEVER = 1e-30
"""Share below which an item does not miss at all."""


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


def beyond(popularity: Popularity, *, seen: TypicalReplica, held: float, replicas: int) -> tuple[Popularity, float]:
    """What requests ask for that is not among the items each replica used last.

    Parameters
    ----------
    popularity : of the items among all requests, in the classes of ``seen``
    seen : what a replica sees of them
    held : C, items that a replica keeps [1]
    replicas : M [1]

    Returns
    -------
    popularity of the items among the requests that miss, and their share of all requests [1]

    Notes
    -----
    p exp(-q t), q the share of an item among the requests of a replica and t the characteristic time of C items
    there: rare items are most of what misses.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (5)-(7) (what a cache leaves to the next).

    >>> from planner.formulas.popularity import zipf
    >>> popularity = zipf(1000, exponent=0.9)
    >>> rest, share = beyond(popularity, seen=anywhere(popularity, replicas=2), held=102, replicas=2)
    >>> print(round(share, 5), rest.most < popularity.most)
    0.52086 True
    """
    if held >= seen.items - 1e-9:
        return Popularity(np.zeros(1), np.zeros(1)), 0.0
    loads = [IndependentItems(seen.popularity)]
    time = float(characteristic_time_s(loads, capacity_tokens=float(held))) if held > 0 else 0.0
    left = popularity.shares * np.exp(-popularity.shares * replicas / seen.copies * time)
    share = float(popularity.items @ left)
    asked = left > share * _NEVER
    return Popularity(left[asked] / share, popularity.items[asked]), share

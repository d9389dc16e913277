"""Items kept on some of several replicas only, and how even the load then is.

Requests of an item are spread evenly over the replicas it lies on.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

COPIES_PER_MEAN = 4.0
"""Copies of an item that asks for as much as one replica takes on average."""

_DEALT = 2048
"""Items placed one by one; the small rest is dealt in turns."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Which share of all requests each replica takes for each item.

    Parameters
    ----------
    shares : of all requests, replicas x items [1]
    """

    shares: Array

    @property
    def loads(self) -> Array:
        """Share of all requests that a replica takes [1]."""
        found: Array = self.shares.sum(axis=1)
        return found

    @property
    def imbalance(self) -> float:
        """Busiest replica over the mean [1]."""
        loads = self.loads
        mean = float(loads.mean())
        return float(loads.max()) / mean if mean > 0 else 1.0

    @property
    def copies(self) -> float:
        """Places of all items together [1]."""
        return float(np.count_nonzero(self.shares))


def everywhere(shares: ArrayLike, *, replicas: int) -> Placement:
    """Every item on every replica: requests go anywhere.

    Parameters
    ----------
    shares : of all requests that ask for each item [1]
    replicas : M [1]

    >>> everywhere([0.75, 0.25], replicas=2).loads.tolist()
    [0.5, 0.5]
    """
    each = np.asarray(shares, dtype=np.float64) / replicas
    return Placement(np.tile(each, (replicas, 1)))


def hashed(shares: ArrayLike, *, replicas: int, copies: int = 1, salt: int = 0) -> Placement:
    """Each item on as many replicas as said, where a hash of its number puts it: placement that knows no load.

    Parameters
    ----------
    shares : of all requests that ask for each item [1]
    replicas : M [1]
    copies : k replicas of each item [1]
    salt : another value, another placement

    Notes
    -----
    An item lies on the k replicas of highest weight, the weight a mixed number of item, replica and salt: every set
    of k is equally likely, and a lost replica moves only its own items.

    References
    ----------
    D. Thaler, C. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking
    6(1), 1998, section III (highest random weight); G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014, figure 17 (the mixing function).

    >>> hashed([0.75, 0.25], replicas=2, copies=2).loads.tolist()
    [0.5, 0.5]
    """
    each = np.asarray(shares, dtype=np.float64)
    kept = min(max(copies, 1), replicas)
    weights = _mixed(np.arange(len(each)), replicas=replicas, salt=salt)
    chosen = np.argpartition(weights, kept - 1, axis=0)[:kept] if kept < replicas else np.argsort(weights, axis=0)
    placed = np.zeros((replicas, len(each)))
    np.put_along_axis(placed, chosen, each[None, :] / kept, axis=0)
    return Placement(placed)


def _mixed(items: NDArray[np.int64], *, replicas: int, salt: int) -> NDArray[np.uint64]:
    keys = (items[None, :].astype(np.uint64) << np.uint64(20)) + np.arange(replicas, dtype=np.uint64)[:, None]
    keys = (keys + np.uint64(1) + np.uint64(salt) * np.uint64(0x5851F42D)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


def load_aware_copies(shares: ArrayLike, *, replicas: int, per_mean: float = COPIES_PER_MEAN) -> NDArray[np.int64]:
    """Replicas of each item when those that many ask for lie on more.

    Parameters
    ----------
    shares : of all requests that ask for each item [1]
    replicas : M [1]
    per_mean : copies of an item that asks for 1/M of the requests [1]

    Notes
    -----
    k = ceil(4 M p), from one to M: a copy takes at most a quarter of what a replica takes on average.

    References
    ----------
    V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads", SODA 2018 (why copies follow
    load); the factor four is an assumption that keeps the busiest replica at the mean in simulations of it.

    >>> load_aware_copies([0.5, 0.3, 0.2 - 1e-3, 1e-3], replicas=4).tolist()
    [4, 4, 4, 1]
    """
    wanted = np.ceil(np.round(per_mean * replicas * np.asarray(shares, dtype=np.float64), 9))
    return np.clip(wanted, 1, replicas).astype(np.int64)


def load_aware(shares: ArrayLike, *, replicas: int, per_mean: float = COPIES_PER_MEAN) -> Placement:
    """Copies by popularity, each on the replicas that have least so far, the largest first.

    Parameters
    ----------
    shares, replicas, per_mean : as in `load_aware_copies`

    Notes
    -----
    Largest first to the least loaded: at most 4/3 - 1/(3 M) of the best possible maximum.

    References
    ----------
    R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17(2), 1969,
    theorem 2.

    >>> load_aware([0.5, 0.25, 0.25], replicas=2, per_mean=0.5).loads.tolist()
    [0.5, 0.5]
    """
    each = np.asarray(shares, dtype=np.float64)
    copies = load_aware_copies(each, replicas=replicas, per_mean=per_mean)
    parts = each / copies
    order = np.argsort(-parts, kind="stable")
    placed = np.zeros((replicas, len(each)))
    heap = [(0.0, replica) for replica in range(replicas)]
    for item in order[:_DEALT].tolist():
        part = float(parts[item])
        taken = [heapq.heappop(heap) for _ in range(copies[item])]
        for load, replica in taken:
            placed[replica, item] = part
            heapq.heappush(heap, (load + part, replica))
    rest = order[_DEALT:]
    turns = np.arange(len(rest))
    forth = (turns // replicas) % 2 == 0
    seat = np.where(forth, turns % replicas, replicas - 1 - turns % replicas)
    placed[seat, rest] = each[rest]
    return Placement(placed)


@lru_cache(maxsize=64)
def zipf_shares(items: int, *, exponent: float) -> Array:
    """Zipf's shares one by one, for placements, which need whole items.

    >>> zipf_shares(3, exponent=1.0).round(4).tolist()
    [0.5455, 0.2727, 0.1818]
    """
    weights = np.arange(1.0, items + 1.0) ** -exponent
    shares: Array = weights / weights.sum()
    shares.setflags(write=False)
    return shares

"""What replicas that each keep some items see of them: different ones at once, and hits of their slots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.formulas.copy_placement import Placement

Array = NDArray[np.float64]

_STEPS = 60
_CLOSE = 1e-10


class RunningItems(NamedTuple):
    """Different items that run on each replica: means and standard deviations [1]."""

    means: Array
    deviations: Array


def distinct_per_replica(placement: Placement, *, batch: float) -> float:
    """Different items in a batch of so many on one replica, mean over replicas.

    Parameters
    ----------
    placement : of the items
    batch : B on each replica [1]

    Returns
    -------
    [1]

    Notes
    -----
    sum_i 1 - (1 - q_i)^B with q the popularity among the requests of the replica. A mean over requests is lower: the
    busiest replica is the one with the hottest item and has the fewest different ones.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section IX.3
    (occupied cells).

    >>> from planner.formulas.copy_placement import everywhere
    >>> distinct_per_replica(everywhere([0.5, 0.5], replicas=4), batch=2)
    1.5
    """
    if batch <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        missed = np.exp(batch * np.log1p(-np.minimum(_own(placement), 1.0)))
    return float((1.0 - missed).sum(axis=1).mean())


def running_items(placement: Placement, *, running: float) -> RunningItems:
    """Different items among the requests that run on each replica, when nothing limits how many do.

    Parameters
    ----------
    placement : of the items
    running : L, mean number of requests that run on all replicas together [1]

    Returns
    -------
    by replica [1]

    Notes
    -----
    As `planner.formulas.distinct.distinct_in_load`, with the share of the load that each replica takes.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 3.4 (infinitely many servers).

    >>> from planner.formulas.copy_placement import everywhere
    >>> running_items(everywhere([1.0], replicas=2), running=2.0).means.round(4).tolist()
    [0.6321, 0.6321]
    """
    idle = np.exp(-placement.shares * max(running, 0.0))
    return RunningItems((1.0 - idle).sum(axis=1), np.sqrt((idle * (1.0 - idle)).sum(axis=1)))


def lru_hits_per_replica(placement: Placement, *, slots: float) -> float:
    """Share of all requests that find their item in the slots of the replica they go to.

    Parameters
    ----------
    placement : of the items
    slots : G on each replica [1]

    Returns
    -------
    [1]

    Notes
    -----
    Che's approximation on each replica's own popularity, weighted by its load; Newton's method for all at once.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (1)-(4).

    >>> from planner.formulas.copy_placement import everywhere
    >>> lru_hits_per_replica(everywhere([0.5, 0.5], replicas=4), slots=2)
    1.0
    """
    own = _own(placement)
    fits = np.count_nonzero(own, axis=1) <= slots
    rows = own[~fits]
    found = np.ones(len(own))
    found[~fits] = (rows * (1.0 - np.exp(-rows * _characteristic(rows, slots)[:, None]))).sum(axis=1)
    loads = placement.loads
    total = float(loads.sum())
    return float(loads @ found) / total if total > 0 else 1.0


def _own(placement: Placement) -> Array:
    """Popularity among the requests of each replica."""
    loads = placement.loads
    own: Array = placement.shares / np.where(loads > 0, loads, 1.0)[:, None]
    return own


def _characteristic(rows: Array, slots: float) -> Array:
    """Requests after which an untouched item has left."""
    times: Array = np.full(len(rows), max(slots, 0.0))
    for _ in range(_STEPS if slots > 0 else 0):
        idle = np.exp(-rows * times[:, None])
        missing = slots - (1.0 - idle).sum(axis=1)
        if np.all(missing <= _CLOSE * slots):
            break
        times = times + missing / np.maximum((rows * idle).sum(axis=1), 1e-300)
    return times

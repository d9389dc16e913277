"""How many different items (adapters) requests ask for at once, and where a request finds its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.formulas.popularity import Popularity

_TIMES = np.concatenate(([0.0], 10.0 ** np.arange(-2.0, 15.1, 0.2)))
"""Characteristic times to begin a search from, in requests."""
_ROUNDS, _CLOSE = 60, 1e-13


class Distinct(NamedTuple):
    """Mean and standard deviation of a number of different items [1]."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class TierShares:
    """Where requests find their item: shares that add to one.

    Parameters
    ----------
    gpu, host, store : [1]
    """

    gpu: float
    host: float
    store: float


def distinct_in_batch(popularity: Popularity, *, batch: float) -> float:
    """Expected different items among a number of independent requests.

    Parameters
    ----------
    popularity : of the items among requests
    batch : B [1]

    Returns
    -------
    [1]

    Notes
    -----
    sum_i 1 - (1 - p_i)^B.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section IX.3
    (occupied cells).

    >>> from planner.formulas.popularity import zipf
    >>> print(round(distinct_in_batch(zipf(1000, exponent=0.0), batch=16), 4))
    15.8806
    """
    if batch <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        missed = np.exp(batch * np.log1p(-np.minimum(popularity.shares, 1.0)))
    return float(popularity.items @ (1.0 - missed))


def distinct_in_load(popularity: Popularity, *, running: float) -> Distinct:
    """Different items among the requests that run at once, when nothing limits how many do.

    Parameters
    ----------
    popularity : of the items among requests
    running : L, mean number of requests that run [1]

    Returns
    -------
    mean A0 and deviation [1]

    Notes
    -----
    sum_i 1 - exp(-x_i), x_i = p_i L, with variance sum_i exp(-x_i) (1 - exp(-x_i)): requests of an item are a Poisson
    number of mean x_i whatever the law of their lengths, if it does not depend on the item.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 3.4 (infinitely many servers); W. Feller, "An
    Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section IX.5.

    >>> from planner.formulas.popularity import zipf
    >>> found = distinct_in_load(zipf(1000, exponent=0.0), running=64)
    >>> print(round(found.mean, 3), round(found.deviation, 2))
    61.995 7.63
    """
    idle = np.exp(-popularity.shares * max(running, 0.0))
    variance = float(popularity.items @ (idle * (1.0 - idle)))
    return Distinct(float(popularity.items @ (1.0 - idle)), math.sqrt(max(variance, 0.0)))


def mean_distinct(popularity: Popularity, *, running: float) -> float:
    """The mean of `distinct_in_load` alone.

    Notes
    -----
    sum_i 1 - exp(-p_i L).

    References
    ----------
    As `distinct_in_load`.

    >>> from planner.formulas.popularity import zipf
    >>> print(round(mean_distinct(zipf(1000, exponent=0.0), running=64), 3))
    61.995
    """
    return -float(popularity.items @ np.expm1(popularity.shares * -max(running, 0.0)))


def lru_hits(popularity: Popularity, *, slots: float) -> float:
    """Share of the requests that find their item among the most recently used.

    Parameters
    ----------
    popularity : of the items among requests
    slots : items held; infinite: all [1]

    Returns
    -------
    [1]

    Notes
    -----
    sum_i p_i (1 - exp(-p_i t)) with t such that sum_i 1 - exp(-p_i t) = C: Che's approximation, within 0.0012 of a
    simulated LRU of 8 to 256 out of a thousand.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (1)-(4); C. Fricker, P. Robert, J. Roberts, "A versatile and accurate approximation for LRU cache
    performance", ITC 24, 2012, section 3.

    >>> from planner.formulas.popularity import zipf
    >>> print(round(lru_hits(zipf(1000, exponent=0.9), slots=102), 5))
    0.47914
    """
    return float(lru_hits_by_slots(popularity, slots=[slots])[0])


def lru_hits_by_slots(popularity: Popularity, *, slots: ArrayLike) -> NDArray[np.float64]:
    """`lru_hits` for many numbers of slots.

    Notes
    -----
    Newton's method as in `planner.formulas.caching.characteristic_time_s`, from a table of each popularity.

    References
    ----------
    As `lru_hits`.

    >>> from planner.formulas.popularity import zipf
    >>> print(lru_hits_by_slots(zipf(1000, exponent=0.9), slots=[32, 102, 1000]).round(4).tolist())
    [0.2871, 0.4791, 1.0]
    """
    wanted = np.maximum(np.asarray(slots, dtype=np.float64), 0.0)
    rates = popularity.items * popularity.shares
    below = wanted < float(popularity.items.sum()) - 1e-9
    hits = np.ones_like(wanted)
    if below.any():
        there = -np.expm1(-np.multiply.outer(_times(popularity, wanted[below]), popularity.shares))
        hits[below] = there @ rates / float(rates.sum())
    return hits


def _times(popularity: Popularity, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Characteristic times in requests: occupancy is concave in them, so that Newton's method from below is safe."""
    items, rates = popularity.items, popularity.items * popularity.shares
    held = _occupancies(popularity)
    times: NDArray[np.float64] = _TIMES[np.maximum(np.searchsorted(held, wanted, side="right") - 1, 0)]
    for _ in range(_ROUNDS):
        gone = np.expm1(-np.multiply.outer(times, popularity.shares))
        missing, slope = wanted + gone @ items, (1.0 + gone) @ rates
        step = np.where((missing > 0) & (slope > 0), missing / np.where(slope > 0, slope, 1.0), 0.0)
        times = times + step
        if np.all(step <= _CLOSE * times):
            break
    return times


@lru_cache(maxsize=1024)
def _occupancies(popularity: Popularity) -> NDArray[np.float64]:
    """Items held after each of the times."""
    held: NDArray[np.float64] = -np.expm1(-np.multiply.outer(_TIMES, popularity.shares)) @ popularity.items
    return held


def tier_shares(popularity: Popularity, *, slots: float, host: float) -> TierShares:
    """Where requests find their item when the host holds what the GPU holds and more.

    Parameters
    ----------
    popularity : of the items among requests
    slots : items on the GPU, G [1]
    host : items in host memory, C, those of the GPU included [1]

    Returns
    -------
    shares of the requests [1]

    Notes
    -----
    h(G), h(C) - h(G) and 1 - h(C): both tiers see every request and keep the most recent, so the smaller is a part of
    the larger.

    References
    ----------
    R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (inclusion of
    stacks); H. Che, Y. Tung, Z. Wang, as in `lru_hits`.

    >>> from planner.formulas.popularity import zipf
    >>> found = tier_shares(zipf(1000, exponent=0.9), slots=102, host=256)
    >>> print(round(found.gpu, 4), round(found.host, 4), round(found.store, 4))
    0.4791 0.1849 0.336
    """
    near, held = lru_hits_by_slots(popularity, slots=[slots, host]).tolist()
    held = max(held, near)
    return TierShares(near, held - near, 1.0 - held)


def without_hottest(popularity: Popularity, *, pinned: int) -> tuple[Popularity, float]:
    """What is left of the items when the most popular ones have places of their own.

    Parameters
    ----------
    popularity : of the items among requests; classes of one item at the hot end
    pinned : items taken out [1]

    Returns
    -------
    popularity of the rest among their own requests, and the share of all requests that asks for the pinned ones [1]

    >>> from planner.formulas.popularity import zipf
    >>> rest, share = without_hottest(zipf(3, exponent=1.0), pinned=1)
    >>> print(rest.shares.round(3).tolist(), round(share, 4))
    [0.6, 0.4] 0.5455
    """
    if pinned <= 0:
        return popularity, 0.0
    order = np.argsort(-popularity.shares, kind="stable")
    shares, items = popularity.shares[order], popularity.items[order]
    kept = _after(items, float(pinned))
    left = float(kept @ shares)
    if left <= 0:
        return Popularity(np.zeros(1), np.zeros(1)), 1.0
    here = kept != 0
    return Popularity(shares[here] / left, kept[here]), 1.0 - left


def _after(items: NDArray[np.float64], taken: float) -> NDArray[np.float64]:
    """Items of each class that are left when the first so many are gone."""
    before = np.cumsum(items) - items
    return items - np.clip(taken - before, 0.0, np.maximum(items, 0.0))

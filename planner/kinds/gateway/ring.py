"""Prefixes on a hash ring with bounded loads: who passes requests on, and how often two turns meet again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas import hashing, shedding
from planner.formulas.popularity import zipf

DRAW = 20_260
"""Seed of the draws: the figures of a design are always the same."""
DRAWS = 6
MOST_PREFIXES = 20_000
MOST_INSTANCES = 2000
BURST = 8
"""Requests that a cap lets through at once: four of a bucket that fills evenly count as eight of one that does not."""


def placed(groups: int, exponent: float, *, instances: int, draw: int = 0) -> NDArray[np.float64]:
    """Load of the instances in means for one draw of where prefixes lie."""
    ranks = np.arange(1.0, min(groups, MOST_PREFIXES) + 1)
    weights = ranks**-exponent
    shares = weights / weights.sum()
    at = np.random.default_rng((DRAW, draw)).integers(0, instances, len(shares))
    return np.asarray(np.bincount(at, weights=shares * instances, minlength=instances), dtype=np.float64)


@lru_cache(maxsize=128)
def passed_on(groups: int, exponent: float, *, instances: int, bound: float) -> tuple[float, float]:
    """Share of the requests whose instance is over its bound, and their part that meets the turn before again.

    Each instance takes what it has and what the one before passes on up to the bound, in proportion. What is over
    fills the next ones: of x loads k = ⌊x/c⌋ places take c each and one takes the rest, and two turns meet with the sum
    of the squares of these shares. Averages over some draws of the ring (Mirrokni, Thorup and Zadimoghaddam, 2018).
    """
    count = min(instances, MOST_INSTANCES)
    found = [_one_ring(placed(groups, exponent, instances=count, draw=draw), bound=bound) for draw in range(DRAWS)]
    return float(np.mean([one for one, _ in found])), float(np.mean([other for _, other in found]))


def _one_ring(own: NDArray[np.float64], *, bound: float) -> tuple[float, float]:
    asked = _asked(own, bound=bound)
    over = asked > bound
    full = np.floor(asked / bound)
    rest = 1 - full * bound / asked
    together = full * (bound / asked) ** 2 + rest**2
    return float(own[over].sum() / own.sum()), float((own * together)[over].sum() / own.sum())


def _asked(own: NDArray[np.float64], *, bound: float) -> NDArray[np.float64]:
    """What each instance is asked for, with what comes from the one before: twice around the ring."""
    asked, carried = own.copy(), 0.0
    for _ in range(2):
        for place, load in enumerate(own):
            asked[place] = load + carried
            carried = max(asked[place] - bound, 0.0)
    return np.maximum(asked, 1e-12)


@lru_cache(maxsize=128)
def pushed_share(groups: int, exponent: float, *, instances: int, cap: float) -> float:
    """Share of the requests that find each copy of their hot prefix at its cap, a bucket of some requests.

    The cap of a copy is a queue of that length whose server takes cap means a second: it refuses as M/M/1/K does.
    """
    popularity = zipf(groups, exponent=exponent)
    copies = hashing.copies(popularity.shares, instances=instances, cap=cap)
    hot = copies > 1
    used = popularity.shares[hot] * instances / (copies[hot] * cap)
    refused = np.array([shedding.turned_away(float(load), limit=BURST) for load in used])
    return float((popularity.shares * popularity.items)[hot] @ refused) if hot.any() else 0.0

"""Prefixes on a hash ring with bounded loads: who passes requests on, and how often two turns meet again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

DRAW = 20_260
"""Seed of the draws: the figures of a design are always the same."""
DRAWS = 6
MOST_PREFIXES = 20_000
MOST_INSTANCES = 2000


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

"""Money of tiers: what one more byte of cache is worth, and the best sizes for a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import CachedLoad, characteristic_time_s, hit_share, total_occupancy_tokens
from planner.formulas.cost import HOURS_PER_MONTH
from planner.formulas.gaps import Numbers, plain

Array = NDArray[np.float64]
MONTH_S = HOURS_PER_MONTH * 3600.0
_STEP = 0.02
"""Of a symmetric difference, relative: so that a law of some hundred gaps has one too."""
_SIZES = 600
_HALVINGS = 40
_MOST_DOUBLINGS = 60.0
"""Of the worth of money against a budget: nothing earns a billion billion times its price."""
_ALL = 0.99999
"""Of what an endless cache hits: more is not bought."""


def marginal_hits_per_s(loads: Sequence[CachedLoad], *, time_s: Numbers) -> Numbers:
    """Tokens hit a second more for each token of capacity more.

    Parameters
    ----------
    loads : of one cache
    time_s : its characteristic time [s]

    Returns
    -------
    [1/s]; 0 where everything is held already

    Notes
    -----
    dH/dC = (dH/dT) / (dC/dT); of sessions R f(T) / (R (1 - F(T)) + D), the rate of return of the oldest entries.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (2), differentiated.

    >>> from planner.formulas.caching import Sessions
    >>> from planner.formulas.gaps import Exponential
    >>> print(round(marginal_hits_per_s([Sessions(Exponential(10.0), 80.0, 20.0)], time_s=0.001), 4))
    0.08
    """
    middle = np.asarray(time_s, dtype=float)
    finite = np.where(np.isfinite(middle), np.maximum(middle, 1e-9), 1.0)
    low, high = finite * (1 - _STEP), finite * (1 + _STEP)
    hits = sum(
        (load.hit_tokens_per_s(high) - load.hit_tokens_per_s(low) for load in loads), start=np.zeros(middle.shape)
    )
    room = np.asarray(total_occupancy_tokens(loads, time_s=high) - total_occupancy_tokens(loads, time_s=low))
    gained = np.isfinite(middle) & (room > 0)
    answer: Numbers = plain(np.where(gained, hits / np.where(room > 0, room, 1.0), 0.0))
    return answer


@dataclass(frozen=True, slots=True)
class PricedTier:
    """A tier that may be bought.

    Parameters
    ----------
    usd_per_token_month : price of the bytes of one token [USD/month]
    saved_usd_per_token : compute saved less what the fetch costs, for a token hit here [USD]
    """

    usd_per_token_month: float
    saved_usd_per_token: float


@dataclass(frozen=True, slots=True)
class TierMix:
    """What to buy.

    Parameters
    ----------
    capacity_tokens : of each tier, nearest first [tokens]
    usd_per_month : of all tiers
    saved_usd_per_month : by hits in what is bought
    hit_share : of the reusable tokens, with what was there before [1]
    """

    capacity_tokens: tuple[float, ...]
    usd_per_month: float
    saved_usd_per_month: float
    hit_share: float


def best_mix(
    tiers: Sequence[PricedTier],
    *,
    loads: Sequence[CachedLoad],
    held_tokens: float = 0.0,
    budget_usd_per_month: float = math.inf,
) -> TierMix:
    """Sizes of exclusive tiers that save most over their price, within a budget.

    Parameters
    ----------
    tiers : nearest first
    loads : that all tiers share
    held_tokens : cache that is there already and costs nothing more (GPU memory) [tokens]
    budget_usd_per_month : not to be exceeded

    Notes
    -----
    max sum_i v_i (H(X_i) - H(X_{i-1})) - m p_i (X_i - X_{i-1}) over X_0 <= X_1 <= ..., X_i the capacity of the first
    tiers together and H the hits of one LRU of it. Solved tier after tier on a grid of capacities; m = 1, or the least
    larger one whose answer fits the budget. At the optimum the last token of a tier earns m times its price.

    References
    ----------
    H. Everett, "Generalized Lagrange Multiplier Method for Solving Problems of Optimum Allocation of Resources",
    Operations Research 11(3), 1963; R. Bellman, "Dynamic Programming", 1957, chapter I.

    >>> from planner.formulas.caching import Sessions
    >>> from planner.formulas.gaps import Exponential
    >>> load = Sessions(Exponential(300.0), 800.0, 200.0)
    >>> best_mix([PricedTier(1.0, 1e-9)], loads=[load]).capacity_tokens
    (0.0,)
    """
    sizes = held_tokens + np.concatenate(([0.0], _sizes(loads, held_tokens=held_tokens)))
    times = characteristic_time_s(loads, capacity_tokens=sizes)
    shares = np.asarray(hit_share(loads, time_s=times))
    hits = shares * math.fsum(load.reusable_tokens_per_s for load in loads) * MONTH_S
    reach = _within_budget(tiers, sizes=sizes, hits=hits, budget=budget_usd_per_month)
    bought = np.diff(reach, prepend=held_tokens)
    reached_s = characteristic_time_s(loads, capacity_tokens=float(reach[-1]) if len(reach) else held_tokens)
    return TierMix(
        tuple(float(tokens) for tokens in bought),
        _spent(tiers, reach=reach, held_tokens=held_tokens),
        _saved(tiers, reach=reach, sizes=sizes, hits=hits),
        float(hit_share(loads, time_s=reached_s)),
    )


def _sizes(loads: Sequence[CachedLoad], *, held_tokens: float) -> Array:
    """Capacities worth a look: up to the one that hits all but one in a hundred thousand."""
    times = np.geomspace(1e-3, 1e12, 301)
    shares = np.asarray(hit_share(loads, time_s=times))
    enough = np.searchsorted(shares, _ALL * hit_share(loads, time_s=math.inf))
    most = float(total_occupancy_tokens(loads, time_s=times)[min(int(enough), len(times) - 1)]) - held_tokens
    return np.geomspace(most * 1e-5, most, _SIZES) if most > 0 else np.zeros(0)


def _within_budget(tiers: Sequence[PricedTier], *, sizes: Array, hits: Array, budget: float) -> Array:
    """Reach of each tier; between two answers of the grid, one beyond the budget, the mixture that meets it."""

    def spent(reach: Array) -> float:
        return _spent(tiers, reach=reach, held_tokens=float(sizes[0]))

    beyond = _best(tiers, sizes=sizes, hits=hits, multiplier=1.0)
    if spent(beyond) <= budget:
        return beyond
    within = np.full_like(beyond, sizes[0])
    low, high = 0.0, _MOST_DOUBLINGS
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = _best(tiers, sizes=sizes, hits=hits, multiplier=2.0**middle)
        if spent(tried) <= budget:
            within, high = tried, middle
        else:
            beyond, low = tried, middle
    part = (budget - spent(within)) / (spent(beyond) - spent(within))
    mixed: Array = within + part * (beyond - within)
    saved = {tuple(reach): _saved(tiers, reach=reach, sizes=sizes, hits=hits) for reach in (within, mixed)}
    return mixed if saved[tuple(mixed)] > saved[tuple(within)] else within


def _best(tiers: Sequence[PricedTier], *, sizes: Array, hits: Array, multiplier: float) -> Array:
    """Reach of each tier at the given worth of money."""
    value = np.where(np.arange(len(sizes)) == 0, 0.0, -np.inf)
    origins = []
    for tier in tiers:
        earned = tier.saved_usd_per_token * hits - multiplier * tier.usd_per_token_month * sizes
        before = value - earned
        best = np.maximum.accumulate(before)
        origins.append(np.maximum.accumulate(np.where(before >= best, np.arange(len(sizes)), 0)))
        value = best + earned
    picks = [int(np.argmax(value))] if tiers else []
    for origin in reversed(origins[1:]):
        picks.append(int(origin[picks[-1]]))
    return sizes[np.array(picks[::-1], dtype=np.intp)]


def _saved(tiers: Sequence[PricedTier], *, reach: Array, sizes: Array, hits: Array) -> float:
    gained = np.diff(np.interp(reach, sizes, hits), prepend=hits[0])
    return math.fsum(tier.saved_usd_per_token * float(each) for tier, each in zip(tiers, gained, strict=True))


def _spent(tiers: Sequence[PricedTier], *, reach: Array, held_tokens: float) -> float:
    bought = np.diff(reach, prepend=held_tokens)
    return math.fsum(tier.usd_per_token_month * float(each) for tier, each in zip(tiers, bought, strict=True))

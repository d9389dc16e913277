"""Eviction by value: what saves least per byte and second gives way.

Each class of entries (people's sessions, agents', one-shots) has its own time T_i; in the long run the oldest entries
of all classes are worth the same. With one class this is LRU; it gains where classes differ, are known, and the cache
is small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import CachedLoad, characteristic_time_s, hit_share
from planner.formulas.gaps import GapLaw, Numbers, plain
from planner.formulas.popularity import IndependentItems, SharedPrefixes

Array = NDArray[np.float64]
_AGES_S: Array = np.concatenate(([0.0], np.geomspace(1e-4, 1e10, 560)))
"""Ages at which the hits and the room of a class are known; straight lines in between."""


def return_rate_per_s(idle_s: Numbers, *, gaps: GapLaw, follow_share: float) -> Numbers:
    """Rate at which an idle session comes back; it may have ended.

    Parameters
    ----------
    idle_s : since its last turn [s]
    gaps : time from a turn to the next, if one follows
    follow_share : q, probability that one follows [1]

    Notes
    -----
    q f(t) / (q (1 - F(t)) + 1 - q): the hazard of the gap, thinned by the sessions that are over.

    References
    ----------
    D. R. Cox, "Regression Models and Life-Tables", Journal of the Royal Statistical Society B 34(2), 1972, eq. (1)
    (hazard); a cure model: J. W. Boag, Journal of the Royal Statistical Society B 11(1), 1949.

    >>> from planner.formulas.gaps import Exponential
    >>> print(round(return_rate_per_s(0.0, gaps=Exponential(10.0), follow_share=0.8), 6))
    0.08
    """
    left = np.asarray(follow_share * gaps.survival(idle_s) + (1.0 - follow_share))
    rate = follow_share * np.asarray(gaps.density_per_s(idle_s))
    answer: Numbers = plain(np.where(left > 0, rate / np.where(left > 0, left, 1.0), 0.0))
    return answer


def entry_value(return_rate_per_s: Numbers, *, saved_s: float, held_bytes: float) -> Numbers:
    """Prefill seconds that a byte of an entry saves a second.

    Parameters
    ----------
    return_rate_per_s : [1/s]
    saved_s : time to compute the entry less the time to fetch it; nothing is saved if it is negative [s]
    held_bytes : size of the entry [B]

    Notes
    -----
    v = r (t_compute - t_fetch) / bytes.

    References
    ----------
    P. Cao, S. Irani, "Cost-Aware WWW Proxy Caching Algorithms", USITS 1997 (cost over size); L. Cherkasova, "Improving
    WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy", HPL-98-69, 1998 (times frequency).

    >>> entry_value(0.5, saved_s=0.25, held_bytes=1e9)
    1.25e-10
    """
    return return_rate_per_s * (max(0.0, saved_s) / held_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class ValueRanked:
    """What a cache that evicts by value holds and hits, for every capacity.

    Parameters
    ----------
    filled_tokens : capacities at which the answer is known, from 0 on [tokens]
    held_tokens : of each load at each of them, loads along the last axis [tokens]
    hits_per_s : likewise, tokens hit [1/s]
    reusable_tokens_per_s : of all loads [1/s]
    """

    filled_tokens: Array
    held_tokens: Array
    hits_per_s: Array
    reusable_tokens_per_s: float

    def hit_tokens_per_s(self, capacity_tokens: Any) -> Array:
        """Hits of each load, along a last axis, at a capacity or many [1/s]."""
        return self._at(capacity_tokens, self.hits_per_s)

    def held_by_load_tokens(self, capacity_tokens: Any) -> Array:
        """Room that each load has, along a last axis, at a capacity or many [tokens]."""
        return self._at(capacity_tokens, self.held_tokens)

    def hit_share(self, capacity_tokens: Numbers) -> Numbers:
        """Share of the reusable tokens that is hit; 0 if none is reusable [1]."""
        hits = self.hit_tokens_per_s(capacity_tokens).sum(axis=-1)
        answer: Numbers = plain(hits / self.reusable_tokens_per_s if self.reusable_tokens_per_s > 0 else 0.0 * hits)
        return answer

    def _at(self, capacity_tokens: Any, known: Array) -> Array:
        wanted = np.asarray(capacity_tokens, dtype=float)
        columns = [np.interp(wanted, self.filled_tokens, column) for column in known.T]
        return np.stack(columns, axis=-1) if columns else np.zeros((*wanted.shape, 0))


def value_ranked(loads: Sequence[CachedLoad], *, saved_s_per_token: Sequence[float] = ()) -> ValueRanked:
    """Hits when each class of entries keeps its own time, so that the oldest of all classes are worth the same.

    Parameters
    ----------
    loads : each a class of its own; prefixes and items are ranked one by one
    saved_s_per_token : what a hit of each load saves, compute less fetch; equal if not given [s]

    Notes
    -----
    dh_i / dC_i = r_i(T_i) at the margin: room goes to the class with the greatest value, r_i(T) times what is saved,
    until the capacity is used up. A hazard that first rises with age counts as its maximum until that is passed,
    because only the oldest entry of each class is looked at. Prefixes are kept by their rate.

    References
    ----------
    N. C. Fofack et al., "Performance evaluation of hierarchical TTL-based cache networks", Computer Networks 65, 2014
    (hits and room of a timer); M. Dehghan et al., "A Utility Optimization Approach to Network Cache Design", IEEE/ACM
    Transactions on Networking 27(3), 2019 (a timer for each class, marginal values equal).

    >>> from planner.formulas.caching import OneShots, Sessions
    >>> from planner.formulas.gaps import Exponential
    >>> load = Sessions.of_turns(Exponential(10.0), sessions_per_s=1.0, turns=8, first_tokens=4000.0)
    >>> print(round(value_ranked([load, OneShots(1e9)]).hit_share(1e12), 6))
    1.0
    """
    saved = np.maximum(saved_s_per_token if len(saved_s_per_token) else np.ones(len(loads)), 0.0)
    parts = [_by_popularity(load) if _has_items(load) else _by_age(load) for load in loads]
    owner = np.repeat(np.arange(len(loads)), [len(keys) for keys, _, _ in parts])
    worth = np.concatenate([np.zeros(0), *(keys for keys, _, _ in parts)]) * saved[owner]
    order = np.argsort(-worth, kind="stable")
    held, hits = (_per_load([part[column] for part in parts], owner[order], order) for column in (1, 2))
    filled = np.maximum.accumulate(held.sum(axis=1))
    return ValueRanked(filled, held, hits, math.fsum(load.reusable_tokens_per_s for load in loads))


def gain_by_value(
    loads: Sequence[CachedLoad], *, capacity_tokens: Numbers, saved_s_per_token: Sequence[float] = ()
) -> Numbers:
    """Hit share by value less that of LRU.

    Parameters
    ----------
    loads, saved_s_per_token : as of `value_ranked`
    capacity_tokens : [tokens]

    Notes
    -----
    h_value(C) - h_LRU(C); 0 for a single class of sessions.

    References
    ----------
    M. Dehghan et al., "A Utility Optimization Approach to Network Cache Design", IEEE/ACM Transactions on Networking
    27(3), 2019.

    >>> from planner.formulas.caching import Sessions
    >>> from planner.formulas.gaps import LogNormal
    >>> load = Sessions.of_turns(LogNormal(120.0, 1.5), sessions_per_s=6.0, turns=5, first_tokens=4000.0)
    >>> print(round(abs(gain_by_value([load], capacity_tokens=2e6)), 3))
    0.0
    """
    by_time = hit_share(loads, time_s=characteristic_time_s(loads, capacity_tokens=capacity_tokens))
    return value_ranked(loads, saved_s_per_token=saved_s_per_token).hit_share(capacity_tokens) - by_time


def _has_items(load: CachedLoad) -> bool:
    return isinstance(load, SharedPrefixes | IndependentItems)


def _by_age(load: CachedLoad) -> tuple[Array, Array, Array]:
    """Steps of age: the most that a token's room is still worth from there on, its room, its hits."""
    room, hits = np.diff(load.occupancy_tokens(_AGES_S)), np.diff(load.hit_tokens_per_s(_AGES_S))
    rate = np.where(room > 0, hits / np.where(room > 0, room, 1.0), 0.0)
    return np.maximum.accumulate(rate[::-1])[::-1], room, hits


def _by_popularity(load: Any) -> tuple[Array, Array, Array]:
    """Items from the most popular on: rate of touches, room, hits."""
    order = np.argsort(-load.popularity.shares)
    shares, items = load.popularity.shares[order], load.popularity.items[order]
    tokens = load.prefix_tokens if isinstance(load, SharedPrefixes) else load.item_tokens
    rate = shares * (load.reusable_tokens_per_s / tokens if tokens > 0 else 0.0)
    return rate, items * tokens, items * tokens * rate


def _per_load(parts: Sequence[Array], owner: NDArray[np.intp], order: NDArray[np.intp]) -> Array:
    """Running sums of the steps in order, a column for each load."""
    steps = np.zeros((len(order) + 1, len(parts)))
    if len(order):
        steps[np.arange(1, len(order) + 1), owner] = np.concatenate(parts)[order]
    return np.cumsum(steps, axis=0)

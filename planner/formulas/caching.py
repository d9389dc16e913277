"""What an LRU cache hits: one characteristic time for all that share it.

An entry stays until it has not been touched for the characteristic time T; T is the one at which the entries then
held fill the capacity. Loads of several sorts (`Sessions`, `OneShots`, and those of `planner.formulas.popularity`)
share a cache by sharing T: their occupancies add. Capacities are in tokens here; any unit does (bytes, blocks) if the
loads are in the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.formulas.gaps import GapLaw, Numbers, plain

_STARTS_S = np.concatenate(([0.0], 10.0 ** np.arange(-4.0, 15.5, 0.5)))
"""Where Newton's method may start: the largest of these times that does not yet fill the capacity."""
_EACH = 6
_STEPS = 60
_CLOSE = 1e-13
_LAST = 1e-8


class CachedLoad(Protocol):
    """A stream into a cache: what it holds and hits when entries stay for a time after their last touch.

    Occupancy grows with the time and ever more slowly (it is concave); at an infinite time it is the working set,
    infinite for streams that bring new tokens without end.
    """

    @property
    def reusable_tokens_per_s(self) -> float:
        """Tokens a cache without limit would hit [1/s]."""

    def occupancy_tokens(self, time_s: Numbers) -> Numbers:
        """Held on average [tokens]."""

    def growth_tokens_per_s(self, time_s: Numbers) -> Numbers:
        """Derivative of the occupancy in the time [1/s]."""

    def hit_tokens_per_s(self, time_s: Numbers) -> Numbers:
        """Tokens found in the cache [1/s]."""


def mean_context_tokens(
    first_tokens: float, *, tokens_per_turn: float, follow_share: float, most_tokens: float = math.inf
) -> float:
    """Mean context of a turn when contexts grow by the same from turn to turn up to a limit.

    Parameters
    ----------
    first_tokens : context after the first turn, S_0 [tokens]
    tokens_per_turn : new tokens a turn, a [tokens]
    follow_share : q, probability that another turn follows [1]
    most_tokens : context limit [tokens]

    Returns
    -------
    [tokens]; infinite for sessions that never end and have no limit

    Notes
    -----
    S_k = min(S_0 + a k, S_max), mean (1 - q) sum_k q^k S_k = S_0 + a q (1 - q^n) / (1 - q), n = (S_max - S_0) / a.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section XI.2
    (geometric distribution).

    >>> print(round(mean_context_tokens(2000.0, tokens_per_turn=1000.0, follow_share=5 / 6), 6))
    7000.0
    """
    first = min(first_tokens, most_tokens)
    if tokens_per_turn <= 0 or follow_share <= 0:
        return first
    turns = (most_tokens - first) / tokens_per_turn
    if follow_share >= 1:
        return most_tokens
    grown = 1.0 if math.isinf(turns) else -math.expm1(turns * math.log(follow_share))
    return first + tokens_per_turn * follow_share / (1 - follow_share) * grown


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions whose turns reuse the whole context of the turn before; finished ones stay until they age out.

    Parameters
    ----------
    gaps : time from a turn to the next
    reusable_tokens_per_s : contexts of turns that another turn follows, times their rate [1/s]
    final_tokens_per_s : contexts of last turns, times their rate [1/s]

    Notes
    -----
    occupancy = R E[min(G, T)] + D T, hits = R F(T): an entry waits for the next turn or T, a finished one T.

    References
    ----------
    R. Fagin, "Asymptotic miss ratios over independent references", Journal of Computer and System Sciences 14, 1977
    (window and LRU agree); N. C. Fofack et al., "Performance evaluation of hierarchical TTL-based cache networks",
    Computer Networks 65, 2014, section 3 (renewal requests).

    >>> from planner.formulas.gaps import Exponential
    >>> load = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
    >>> print(round(load.occupancy_tokens(143.62421) / 1e7, 6))
    1.0
    """

    gaps: GapLaw
    reusable_tokens_per_s: float
    final_tokens_per_s: float

    @classmethod
    def geometric(cls, gaps: GapLaw, *, turns_per_s: float, follow_share: float, context_tokens: float) -> Sessions:
        """Sessions that end after each turn with the same probability 1 - q; mean context over all turns [tokens]."""
        tokens_per_s = turns_per_s * context_tokens if turns_per_s > 0 else 0.0
        return cls(gaps, tokens_per_s * follow_share, tokens_per_s * (1 - follow_share))

    @classmethod
    def of_turns(
        cls, gaps: GapLaw, *, sessions_per_s: float, turns: int, first_tokens: float, tokens_per_turn: float = 0.0
    ) -> Sessions:
        """Sessions of the same number of turns; context of turn k = 0, 1, ... is first + k per_turn [tokens]."""
        followed = (turns - 1) * first_tokens + tokens_per_turn * (turns - 1) * (turns - 2) / 2
        last = first_tokens + tokens_per_turn * (turns - 1)
        return cls(gaps, sessions_per_s * followed, sessions_per_s * last)

    def occupancy_tokens(self, time_s: Numbers) -> Numbers:
        ended = self.final_tokens_per_s * time_s if self.final_tokens_per_s > 0 else 0.0
        return self.reusable_tokens_per_s * self.gaps.mean_min_s(time_s) + ended

    def growth_tokens_per_s(self, time_s: Numbers) -> Numbers:
        return self.reusable_tokens_per_s * self.gaps.survival(time_s) + self.final_tokens_per_s

    def hit_tokens_per_s(self, time_s: Numbers) -> Numbers:
        return self.reusable_tokens_per_s * self.gaps.cdf(time_s)


@dataclass(frozen=True, slots=True)
class OneShots:
    """Requests that nothing follows: they fill a cache and hit nothing.

    >>> OneShots(1000.0).occupancy_tokens(60.0)
    60000.0
    """

    tokens_per_s: float

    @property
    def reusable_tokens_per_s(self) -> float:
        return 0.0

    def occupancy_tokens(self, time_s: Numbers) -> Numbers:
        return self.tokens_per_s * time_s if self.tokens_per_s > 0 else _nothing(time_s)

    def growth_tokens_per_s(self, time_s: Numbers) -> Numbers:
        return _nothing(time_s) + self.tokens_per_s

    def hit_tokens_per_s(self, time_s: Numbers) -> Numbers:
        return _nothing(time_s)


def characteristic_time_s(loads: Sequence[CachedLoad], *, capacity_tokens: Numbers) -> Numbers:
    """How long an untouched entry stays in an LRU cache that these loads share.

    Parameters
    ----------
    loads : of the same cache
    capacity_tokens : one capacity or many [tokens]

    Returns
    -------
    [s]; infinite where the capacity holds the working set, 0 without capacity

    Notes
    -----
    sum of occupancies(T) = C. The left side is concave, so Newton's method from below never oversteps and needs no
    bracket.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (2); C. Fricker, P. Robert, J. Roberts, "A versatile and accurate approximation for LRU cache
    performance", ITC 24, 2012, section 3.

    >>> from planner.formulas.gaps import Exponential
    >>> load = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
    >>> print(round(characteristic_time_s([load], capacity_tokens=1e7), 5))
    143.62421
    """
    if isinstance(capacity_tokens, int | float):
        return _time_of_one(loads, max(float(capacity_tokens), 0.0))
    wanted = np.atleast_1d(np.asarray(capacity_tokens, dtype=float))
    filled = np.isfinite(wanted) & (wanted < total_occupancy_tokens(loads, time_s=math.inf))
    times = np.where(filled, 0.0, np.inf)
    if filled.any():
        times[filled] = _newton(loads, np.maximum(wanted[filled], 0.0))
    answer: Numbers = plain(times.reshape(np.shape(capacity_tokens)))
    return answer


def _time_of_one(loads: Sequence[CachedLoad], wanted: float) -> float:
    """The time of one capacity: the same steps as `_newton`, with plain numbers."""
    if not math.isfinite(wanted) or not wanted < total_occupancy_tokens(loads, time_s=math.inf):
        return math.inf
    time_s = _below(loads, wanted)
    for _ in range(_STEPS):
        missing = wanted - float(total_occupancy_tokens(loads, time_s=time_s))
        if missing <= _CLOSE * wanted:
            break
        slope = 0.0
        for load in loads:
            slope += float(load.growth_tokens_per_s(time_s))
        step = missing / slope if slope > 0 else math.inf
        time_s, before_s = time_s + step, time_s
        # What is left after a step is about its square, as a share of the time.
        if step <= _LAST * before_s or math.isinf(time_s):
            break
    return time_s


def _below(loads: Sequence[CachedLoad], wanted: float) -> float:
    """The last time of the grid at which the capacity is not yet full: of every sixth first, then of those between."""
    coarse = _STARTS_S[::_EACH]
    place = int(np.searchsorted(total_occupancy_tokens(loads, time_s=coarse), wanted, side="right")) - 1
    fine = _STARTS_S[max(place, 0) * _EACH :][:_EACH]
    place = int(np.searchsorted(total_occupancy_tokens(loads, time_s=fine), wanted, side="right")) - 1
    return float(fine[max(place, 0)])


def _newton(loads: Sequence[CachedLoad], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    below = np.searchsorted(total_occupancy_tokens(loads, time_s=_STARTS_S), wanted, side="right") - 1
    times: NDArray[np.float64] = _STARTS_S[np.maximum(below, 0)]
    with np.errstate(over="ignore"):
        for _ in range(_STEPS):
            missing = wanted - total_occupancy_tokens(loads, time_s=times)
            slope = np.zeros_like(times)
            for load in loads:
                slope += load.growth_tokens_per_s(times)
            step = np.divide(missing, slope, out=np.full_like(times, np.inf), where=slope > 0)
            fills = missing > _CLOSE * wanted
            times = times + np.where(fills, step, 0.0)
            if not (fills & (step > _LAST * times) & (times < np.inf)).any():
                break
    return times


def total_occupancy_tokens(loads: Sequence[CachedLoad], *, time_s: Numbers) -> Numbers:
    """Held by all loads together when entries stay for ``time_s`` [tokens].

    >>> print(total_occupancy_tokens([OneShots(10.0), OneShots(20.0)], time_s=2.0))
    60.0
    """
    held = _nothing(time_s)
    for load in loads:
        held = held + load.occupancy_tokens(time_s)
    return held


def hit_share(loads: Sequence[CachedLoad], *, time_s: Numbers) -> Numbers:
    """Share of the reusable tokens of all loads that is hit when entries stay for ``time_s``; 0 if none is reusable.

    >>> print(hit_share([OneShots(10.0)], time_s=60.0))
    0.0
    """
    reusable = math.fsum(load.reusable_tokens_per_s for load in loads)
    if reusable <= 0:
        return _nothing(time_s)
    hits: Numbers = sum((load.hit_tokens_per_s(time_s) for load in loads), start=_nothing(time_s))
    return hits / reusable


def _nothing(time_s: Numbers) -> Numbers:
    if isinstance(time_s, float):
        return 0.0
    answer: Numbers = plain(np.zeros(np.shape(time_s)))
    return answer


def kept_s(time_s: Numbers, *, ttl_s: float) -> Numbers:
    """How long an untouched entry stays where it also expires after a fixed time.

    Parameters
    ----------
    time_s : characteristic time of the capacity [s]
    ttl_s : time to live, renewed by every touch [s]

    Notes
    -----
    min(TTL, T): what expires first frees the room that the capacity would have asked for.

    References
    ----------
    N. C. Fofack et al., "Performance evaluation of hierarchical TTL-based cache networks", Computer Networks 65, 2014,
    section 3.

    >>> print(kept_s(368.0, ttl_s=60.0))
    60.0
    """
    answer: Numbers = np.minimum(time_s, ttl_s)
    return answer

"""How unevenly items are asked for, and what a cache holds and hits of them.

A `Popularity` is kept short: sums over a hundred thousand items of Zipf's law are sums over three hundred classes.
`SharedPrefixes` and `IndependentItems` are loads of a cache, see `planner.formulas.caching`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas.gaps import GapLaw, Numbers, plain

_HEAD = 256
"""Items counted one by one; the tail behind them is smooth."""
_NODES = 48
"""Of the Gauss-Legendre rule in the logarithm of the rank: exact to 1e-12 for the sums a cache needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Popularity:
    """Items in classes of equal popularity.

    Parameters
    ----------
    shares : of all requests that go to one item of the class [1]
    items : items in the class; weights of a sum, so they need not be whole, nor all positive [1]
    """

    shares: NDArray[np.float64]
    items: NDArray[np.float64]

    @property
    def most(self) -> float:
        """Share of the requests that the most popular item gets [1]."""
        return float(self.shares.max(initial=0.0))

    @property
    def collision(self) -> float:
        """Sum of squared shares: probability that two requests ask for the same item [1]."""
        return float(np.sum(self.items * self.shares**2))


@lru_cache(maxsize=64)
def zipf(items: int, *, exponent: float) -> Popularity:
    """Zipf's law: the item of rank i gets a share proportional to i^-s.

    Parameters
    ----------
    items : > 0 [1]
    exponent : s; 0 makes all equal [1]

    Notes
    -----
    p_i = i^-s / sum_j j^-s. Ranks behind the first 256 are summed by the midpoint rule read backwards,
    sum_{i=a}^{b} f(i) = int_{a-1/2}^{b+1/2} f(x) dx - (f'(b + 1/2) - f'(a - 1/2)) / 24 + ..., the integral by
    Gauss-Legendre nodes in ln x and each slope by the difference of the ranks beside it.

    References
    ----------
    L. Breslau et al., "Web Caching and Zipf-like Distributions: Evidence and Implications", INFOCOM 1999, section II.
    M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, eq. (23.1.30) and (25.4.29).

    >>> print(round(zipf(2000, exponent=1.0).most, 4))
    0.1223
    """
    head = np.arange(1.0, min(items, _HEAD) + 1.0)
    ranks, counts = head, np.ones_like(head)
    if items > _HEAD:
        tail_ranks, tail_counts = _tail(_HEAD + 0.5, items + 0.5)
        ranks, counts = np.concatenate((head, tail_ranks)), np.concatenate((counts, tail_counts))
    weights = ranks**-exponent
    shares = weights / np.sum(counts * weights)
    for kept in (shares, counts):
        kept.setflags(write=False)
    return Popularity(shares, counts)


@cache
def _gauss_legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _tail(first: float, last: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = _gauss_legendre()
    half = np.log(last / first) / 2
    ranks = first * np.exp(half * (nodes + 1))
    ends = np.array([first - 0.5, first + 0.5, last - 0.5, last + 0.5])
    slopes = np.array([-1.0, 1.0, 1.0, -1.0]) / 24
    return np.concatenate((ranks, ends)), np.concatenate((weights * half * ranks, slopes))


@dataclass(frozen=True, slots=True)
class SharedPrefixes:
    """Prefixes that many sessions share (system prompts, documents), held once each.

    Parameters
    ----------
    popularity : of the prefixes among starting sessions
    prefix_tokens : length of a prefix [tokens]
    sessions_per_s : sessions that start with one of them [1/s]
    mean_turns : m, turns of such a session [1]
    gaps : time from a turn to the next

    Notes
    -----
    The touches of a session cover K(T) = (m - 1) E[min(G, T)] + T of time; starts of sessions are Poisson with rate
    v_g, so prefix g is absent with probability exp(-v_g K). First turns hit 1 - exp(-v_g K), later ones
    1 - (1 - F(T)) exp(-v_g K): either their own last turn was recent enough or another session's.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (1)-(4); P. Hall, "Introduction to the Theory of Coverage Processes", 1988, section 2.2 (vacancy
    of a Boolean model).

    >>> from planner.formulas.gaps import Exponential
    >>> one = SharedPrefixes(zipf(1, exponent=1.0), 2000.0, sessions_per_s=0.1, mean_turns=1.0, gaps=Exponential(60.0))
    >>> print(round(one.hit_tokens_per_s(10.0) / one.reusable_tokens_per_s, 6))
    0.632121
    """

    popularity: Popularity
    prefix_tokens: float
    sessions_per_s: float
    mean_turns: float
    gaps: GapLaw

    @property
    def reusable_tokens_per_s(self) -> float:
        return self.sessions_per_s * self.mean_turns * self.prefix_tokens

    def occupancy_tokens(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self.prefix_tokens * _sum(self.popularity.items, -np.expm1(-self._touches(time_s)))
        return answer

    def growth_tokens_per_s(self, time_s: Numbers) -> Numbers:
        coverage_growth = (self.mean_turns - 1) * self.gaps.survival(time_s) + 1.0
        weights = self.popularity.items * self.popularity.shares * self.sessions_per_s
        answer: Numbers = self.prefix_tokens * coverage_growth * _sum(weights, np.exp(-self._touches(time_s)))
        return answer

    def hit_tokens_per_s(self, time_s: Numbers) -> Numbers:
        absent = _sum(self.popularity.items * self.popularity.shares, np.exp(-self._touches(time_s)))
        later = (self.mean_turns - 1) * self.gaps.survival(time_s)
        answer: Numbers = self.sessions_per_s * self.prefix_tokens * (self.mean_turns - (1.0 + later) * absent)
        return answer

    def _touches(self, time_s: Any) -> Any:
        if self.sessions_per_s <= 0:
            return np.zeros((*np.shape(time_s), len(self.popularity.shares)))
        coverage_s = (self.mean_turns - 1) * self.gaps.mean_min_s(time_s) + time_s
        rates = self.popularity.shares * self.sessions_per_s
        return coverage_s * rates if isinstance(coverage_s, float) else np.multiply.outer(coverage_s, rates)


@dataclass(frozen=True, slots=True)
class IndependentItems:
    """Items asked for independently of what was asked before.

    Parameters
    ----------
    popularity : of the items
    requests_per_s : of all items; 1 counts the characteristic time in requests [1/s]
    item_tokens : size of an item [tokens]

    Notes
    -----
    occupancy sum_i (1 - exp(-p_i T)), hits sum_i p_i (1 - exp(-p_i T)): Che's approximation. Not for counts of a
    trace, whose requests are anything but independent.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (1)-(4).

    >>> items = IndependentItems(zipf(10_000, exponent=0.8))
    >>> print(round(items.hit_tokens_per_s(1472.4795), 5))
    0.43666
    """

    popularity: Popularity
    requests_per_s: float = 1.0
    item_tokens: float = 1.0

    @property
    def reusable_tokens_per_s(self) -> float:
        return self.requests_per_s * self.item_tokens

    def occupancy_tokens(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self.item_tokens * _sum(self.popularity.items, -np.expm1(-self._requests(time_s)))
        return answer

    def growth_tokens_per_s(self, time_s: Numbers) -> Numbers:
        rates = self.popularity.items * self.popularity.shares
        answer: Numbers = self.reusable_tokens_per_s * _sum(rates, np.exp(-self._requests(time_s)))
        return answer

    def hit_tokens_per_s(self, time_s: Numbers) -> Numbers:
        rates = self.popularity.items * self.popularity.shares
        answer: Numbers = self.reusable_tokens_per_s * _sum(rates, -np.expm1(-self._requests(time_s)))
        return answer

    def _requests(self, time_s: Any) -> Any:
        if self.requests_per_s <= 0:
            return np.zeros((*np.shape(time_s), len(self.popularity.shares)))
        return np.multiply.outer(np.asarray(time_s), self.popularity.shares * self.requests_per_s)


def _sum(weights: NDArray[np.float64], values: Any) -> Any:
    return plain(values @ weights)

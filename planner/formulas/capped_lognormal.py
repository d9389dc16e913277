"""Log-normal answer lengths that a limit cuts off: the answers beyond it end at the limit, truncated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

_NODES = 128
"""Of the Gauss-Legendre rule over the normal score: a maximum of two to a million answers to 1e-9."""
_NEGLIGIBLE = 38.0
"""Standard deviations past which a normal tail is zero in floating point."""
_ROOT_TWO = math.sqrt(2.0)
_LOWEST = -8.5
"""Normal score below which a length is never seen."""


@dataclass(frozen=True)
class CappedLognormal:
    """min(X, cap) with ln X normal.

    Parameters
    ----------
    median_tokens : of X [tokens]
    sigma : standard deviation of ln X, > 0 [1]
    cap_tokens : limit of an answer; infinity without one [tokens]

    Notes
    -----
    E[min(X, x)^k] = m^k exp(k^2 s^2 / 2) Phi(z - k s) + x^k Phi(-z), z = ln(x / m) / s.

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    eq. (14.34) (moments of a truncated log-normal number).

    >>> round(CappedLognormal(1000.0, 0.5).mean_tokens, 3)  # 1000 exp(1/8)
    1133.148
    """

    median_tokens: float
    sigma: float
    cap_tokens: float = math.inf

    @cached_property
    def mean_tokens(self) -> float:
        """Mean length of an answer after the cap [tokens]."""
        return float(self.limited_mean(self.cap_tokens))

    @cached_property
    def second_moment(self) -> float:
        """Mean squared length after the cap [tokens^2]."""
        return float(self.limited_second(self.cap_tokens))

    @property
    def share_at_cap(self) -> float:
        """Share of the answers that the cap cuts off [1]."""
        return float(ndtr(-self.score(self._ceiling)))

    def within(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Share of the answers not longer than this [1]."""
        asked = np.asarray(tokens, dtype=np.float64)
        return np.where(asked >= self.cap_tokens, 1.0, ndtr(self.score(asked)))

    def quantile(self, share: ArrayLike) -> NDArray[np.float64]:
        """Length that this share of the answers does not exceed [tokens]."""
        found: NDArray[np.float64] = np.minimum(self.median_tokens * np.exp(self.sigma * ndtri(share)), self._ceiling)
        return found

    def limited_mean(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Mean of what an answer has written after so many steps, E[min(L, x)] [tokens]."""
        return self._limited(tokens, power=1)

    def limited_second(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """E[min(L, x)^2] [tokens^2]."""
        return self._limited(tokens, power=2)

    def shortest_mean(self, share: float) -> float:
        """Mean length of the shortest answers, this share of all [tokens]."""
        score = min(float(ndtri(share)), float(self.score(self._ceiling)))
        below = self.median_tokens * math.exp(self.sigma**2 / 2) * float(ndtr(score - self.sigma))
        return (below + max(share - float(ndtr(score)), 0.0) * self._ceiling) / share

    def expected_maximum(self, count: float) -> float:
        """Expected longest of so many answers [tokens]."""
        return _longest(self, count=count)

    def expected_longest_residual(self, count: float) -> float:
        """Expected longest remainder of so many answers caught in the middle of their work [tokens]."""
        return _longest_residual(self, count=count)

    @property
    def _ceiling(self) -> float:
        return min(self.cap_tokens, self.median_tokens * math.exp(self.sigma * _NEGLIGIBLE))

    def score(self, tokens: Any) -> Any:
        """Standard deviations of a length above the median, in logarithms [1]."""
        return np.log(np.maximum(tokens, 1e-300) / self.median_tokens) / self.sigma

    def _limited(self, tokens: ArrayLike, *, power: int) -> NDArray[np.float64]:
        limit = np.clip(np.asarray(tokens, dtype=np.float64), 0.0, self._ceiling)
        score, tilt = self.score(limit), power * self.sigma
        whole = self.median_tokens**power * math.exp(tilt**2 / 2) * ndtr(score - tilt)
        found: NDArray[np.float64] = whole + limit**power * ndtr(-score)
        return found


@lru_cache(maxsize=256)
def capped_lognormal(*, mean_tokens: float, variation: float, cap_tokens: float = math.inf) -> CappedLognormal:
    """The law whose mean *after* the cap is this and whose coefficient of variation *before* it is that.

    Parameters
    ----------
    mean_tokens : mean length of an answer as it is counted, truncated ones included; below the cap [tokens]
    variation : standard deviation over mean of the lengths there would be without cap, > 0 [1]
    cap_tokens : [tokens]

    Returns
    -------
    CappedLognormal

    Notes
    -----
    s^2 = ln(1 + cv^2); the median solves E[min(X, cap)] = mean.

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    eq. (14.8) and (14.34).

    >>> round(capped_lognormal(mean_tokens=8000.0, variation=1.0).median_tokens)  # 8000 / sqrt(2)
    5657
    """
    if mean_tokens >= cap_tokens:
        raise ValueError(f"a mean of {mean_tokens:g} tokens does not fit under a cap of {cap_tokens:g}")
    sigma = math.sqrt(math.log1p(variation**2))
    free = mean_tokens * math.exp(-(sigma**2) / 2)
    if math.isinf(cap_tokens):
        return CappedLognormal(free, sigma)
    lowest, highest = math.log(free), math.log(cap_tokens) + _NEGLIGIBLE * sigma
    if _excess(lowest, sigma, cap_tokens, mean_tokens) >= 0:  # the cap is beyond what floating point sees of the tail
        return CappedLognormal(free, sigma, cap_tokens)
    median = brentq(_excess, lowest, highest, args=(sigma, cap_tokens, mean_tokens), xtol=1e-13)
    return CappedLognormal(math.exp(median), sigma, cap_tokens)


def _excess(logarithm: float, sigma: float, cap_tokens: float, mean_tokens: float) -> float:
    """E[min(X, cap)] less the mean asked for; in plain numbers, because a search asks for it dozens of times."""
    score = (math.log(cap_tokens) - logarithm) / sigma
    below = math.exp(logarithm + sigma**2 / 2) * math.erfc((sigma - score) / _ROOT_TWO) / 2
    return below + cap_tokens * math.erfc(score / _ROOT_TWO) / 2 - mean_tokens


@cache
def _gauss_legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _rule(
    law: CappedLognormal, *, lowest: float, count: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scores, lengths and weights of an integral from the score ``lowest`` to the cap (or to where nothing is left)."""
    reach = 8.0 + 2 * law.sigma + math.sqrt(2 * math.log(max(count, 1.0)))
    highest = min(math.log(law.cap_tokens / law.median_tokens) / law.sigma, reach)
    lowest = min(lowest, highest)
    nodes, weights = _gauss_legendre()
    half = (highest - lowest) / 2
    scores = lowest + half * (nodes + 1)
    tokens = law.median_tokens * np.exp(law.sigma * scores)
    return scores, tokens, weights * (half * law.sigma) * tokens


@lru_cache(maxsize=1024)
def _longest(law: CappedLognormal, *, count: float) -> float:
    """E[max] = integral of 1 - F^n, from where F^n begins to differ from zero."""
    if count <= 0:
        return 0.0
    lowest = max(float(ndtri(math.exp(-37 / count))), _LOWEST)
    scores, _tokens, weights = _rule(law, lowest=lowest, count=count)
    return _length_at(law, lowest) - float(weights @ np.expm1(count * np.log(ndtr(scores))))


@lru_cache(maxsize=1024)
def _longest_residual(law: CappedLognormal, *, count: float) -> float:
    """The same with the law of the remainder, F_e(x) = E[min(L, x)] / E[L]."""
    if count <= 0:
        return 0.0
    _scores, tokens, weights = _rule(law, lowest=_LOWEST, count=count)
    shares = np.minimum(law.limited_mean(tokens) / law.mean_tokens, 1.0)
    return _length_at(law, _LOWEST) + float(np.sum(weights * (1 - shares**count)))


def _length_at(law: CappedLognormal, score: float) -> float:
    return min(law.median_tokens * math.exp(law.sigma * score), law.cap_tokens)

"""Time between two turns of a session: laws with all that a cache asks of them.

A cache that keeps an entry for T after its last touch hits with probability F(T), holds it for min(G, T), and spends
E[G; G <= T] of reuse when it is flushed. Each law therefore gives these in closed form, for numbers and for arrays.
Times are >= 0 and may be infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Numbers = TypeVar("Numbers", float, NDArray[np.float64])
"""A number in, a number out; an array in, an array of its shape out."""

_TINY_S = 1e-300
_HALVINGS = 80
"""Of the logarithm of a time between 1e-12 and 1e18 s: to the last bit."""


def plain(values: Any) -> Any:
    """A number where an array has no dimension, the array otherwise."""
    return np.asarray(values)[()]


class GapLaw(ABC):
    """Law F of the gap G between a turn and the next one of its session.

    Notes
    -----
    E[min(G, t)] = int_0^t (1 - F) = E[G; G <= t] + t (1 - F(t)); hazard r = f / (1 - F).

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 2, 2nd ed., 1971, section V.6
    (expectations from tails, by parts).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def mean_s(self) -> float:
        """Mean gap [s]."""

    @abstractmethod
    def cdf(self, time_s: Numbers) -> Numbers:
        """F(t), the share of gaps not longer than ``time_s`` [1]."""

    @abstractmethod
    def density_per_s(self, time_s: Numbers) -> Numbers:
        """F'(t) [1/s]; 0 for a law without density."""

    @abstractmethod
    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        """E[G; G <= t], the part of the mean from gaps not longer than ``time_s`` [s]."""

    @abstractmethod
    def quantile_s(self, share: Numbers) -> Numbers:
        """The gap that this share does not exceed [s]."""

    def survival(self, time_s: Numbers) -> Numbers:
        """1 - F(t), the share of gaps longer than ``time_s`` [1]."""
        return 1.0 - self.cdf(time_s)

    def mean_min_s(self, time_s: Numbers) -> Numbers:
        """E[min(G, t)], how long an entry kept for ``time_s`` waits for its next touch or its end [s]."""
        finite = np.where(np.isinf(time_s), 0.0, time_s)
        answer: Numbers = plain(self.partial_mean_s(time_s) + finite * self.survival(time_s))
        return answer

    def hazard_per_s(self, time_s: Numbers) -> Numbers:
        """Rate of return of what has been idle for ``time_s`` [1/s]; 0 once every gap has ended."""
        alive = np.asarray(self.survival(time_s))
        answer: Numbers = plain(np.where(alive > 0, self.density_per_s(time_s) / np.where(alive > 0, alive, 1.0), 0.0))
        return answer


@dataclass(frozen=True, slots=True)
class Exponential(GapLaw):
    """Gaps without memory: what has been idle for long returns no later than what was just touched.

    Parameters
    ----------
    mean_s : mean gap, > 0 [s]

    Notes
    -----
    F = 1 - exp(-t / m); E[min(G, t)] = m F(t); E[G; G <= t] = m F(t) - t exp(-t / m).

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    chapter 19.

    >>> print(round(Exponential(300.0).cdf(143.62421), 6))
    0.380441
    """

    mean_s: float

    def cdf(self, time_s: Numbers) -> Numbers:
        answer: Numbers = -np.expm1(-time_s / self.mean_s)
        return answer

    def survival(self, time_s: Numbers) -> Numbers:
        answer: Numbers = np.exp(-time_s / self.mean_s)
        return answer

    def density_per_s(self, time_s: Numbers) -> Numbers:
        return self.survival(time_s) / self.mean_s

    def hazard_per_s(self, time_s: Numbers) -> Numbers:
        return 0.0 * self.survival(time_s) + 1.0 / self.mean_s

    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        finite = np.where(np.isinf(time_s), 0.0, time_s)
        answer: Numbers = plain(self.mean_s * self.cdf(time_s) - finite * self.survival(time_s))
        return answer

    def mean_min_s(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self.mean_s * self.cdf(time_s)
        return answer

    def quantile_s(self, share: Numbers) -> Numbers:
        with np.errstate(divide="ignore"):
            answer: Numbers = -self.mean_s * np.log1p(-share)
        return answer


@dataclass(frozen=True, slots=True)
class LogNormal(GapLaw):
    """Gaps whose logarithm is normal; of spread 0, one gap for all.

    Parameters
    ----------
    median_s : > 0 [s]
    sigma : standard deviation of the logarithm, >= 0 [1]

    Notes
    -----
    F = Phi(z), z = ln(t / M) / sigma; E[G; G <= t] = M exp(sigma^2 / 2) Phi(z - sigma).

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    chapter 14 (moments and partial moments).

    >>> print(LogNormal(120.0, 1.5).cdf(120.0))
    0.5
    """

    median_s: float
    sigma: float

    @classmethod
    def of_mean(cls, mean_s: float, *, sigma: float) -> LogNormal:
        """The law with this mean instead of this median [s]."""
        return cls(mean_s * math.exp(-sigma * sigma / 2), sigma)

    @property
    def mean_s(self) -> float:
        return self.median_s * math.exp(self.sigma * self.sigma / 2)

    def cdf(self, time_s: Numbers) -> Numbers:
        answer: Numbers = ndtr(self._score(time_s))
        return answer

    def survival(self, time_s: Numbers) -> Numbers:
        answer: Numbers = ndtr(-self._score(time_s))
        return answer

    def density_per_s(self, time_s: Numbers) -> Numbers:
        if self.sigma <= 0:
            return 0.0 * self.cdf(time_s)
        z = np.clip(self._score(time_s), -40.0, 40.0)
        scale = self.sigma * np.maximum(time_s, _TINY_S) * math.sqrt(2 * math.pi)
        answer: Numbers = plain(np.where(np.abs(z) < 39.0, np.exp(-z * z / 2), 0.0) / scale)
        return answer

    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self.mean_s * ndtr(self._score(time_s) - self.sigma)
        return answer

    def quantile_s(self, share: Numbers) -> Numbers:
        if self.sigma <= 0:
            return self.median_s + 0.0 * share
        answer: Numbers = self.median_s * np.exp(self.sigma * ndtri(share))
        return answer

    def _score(self, time_s: Numbers) -> Numbers:
        age = np.maximum(time_s, _TINY_S)
        if self.sigma > 0:
            answer: Numbers = np.log(age / self.median_s) / self.sigma
        else:
            answer = plain(np.where(age >= self.median_s, np.inf, -np.inf))
        return answer


@dataclass(frozen=True, slots=True)
class Mixture(GapLaw):
    """Gaps of several sorts of session, each with its share.

    Parameters
    ----------
    shares : of the gaps; they sum to one [1]
    laws : one a share

    Notes
    -----
    F = sum_i w_i F_i, and likewise every integral of F.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 2, 2nd ed., 1971, section II.5
    (mixtures).

    >>> mixed = Mixture((0.8, 0.2), (Exponential(10.0), Exponential(600.0)))
    >>> print(round(mixed.mean_s, 9))
    128.0
    """

    shares: tuple[float, ...]
    laws: tuple[GapLaw, ...]

    @property
    def mean_s(self) -> float:
        return math.fsum(share * law.mean_s for share, law in zip(self.shares, self.laws, strict=True))

    def cdf(self, time_s: Numbers) -> Numbers:
        return self._sum("cdf", time_s)

    def survival(self, time_s: Numbers) -> Numbers:
        return self._sum("survival", time_s)

    def density_per_s(self, time_s: Numbers) -> Numbers:
        return self._sum("density_per_s", time_s)

    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        return self._sum("partial_mean_s", time_s)

    def quantile_s(self, share: Numbers) -> Numbers:
        wanted = np.asarray(share, dtype=float)
        low, high = np.full(wanted.shape, math.log(1e-12)), np.full(wanted.shape, math.log(1e18))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = self.cdf(np.exp(middle)) >= wanted
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        answer: Numbers = plain(np.where(wanted >= 1.0, np.inf, np.where(wanted <= 0.0, 0.0, np.exp(high))))
        return answer

    def _sum(self, name: str, time_s: Numbers) -> Numbers:
        parts = [share * getattr(law, name)(time_s) for share, law in zip(self.shares, self.laws, strict=True)]
        answer: Numbers = sum(parts[1:], start=parts[0])
        return answer


def hyperexponential(shares: Sequence[float], *, means_s: Sequence[float]) -> Mixture:
    """Gaps of bursts and pauses: each exponential, with a mean drawn from a few.

    Parameters
    ----------
    shares : of the gaps; they sum to one [1]
    means_s : one a share [s]

    Notes
    -----
    F = sum_i w_i (1 - exp(-t / m_i)).

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 4.7 (parallel stages).

    >>> print(round(hyperexponential((0.8, 0.2), means_s=(10.0, 600.0)).cdf(60.0), 4))
    0.817
    """
    return Mixture(tuple(shares), tuple(Exponential(mean_s) for mean_s in means_s))

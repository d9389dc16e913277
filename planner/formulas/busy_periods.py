"""How long an adapter stays in its slot: from its first request until none of its requests runs.

Requests of an adapter come as a Poisson stream and do not wait for each other: a queue with infinitely many servers.
Those that came while the adapter waited for a slot start together with the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expi, ndtr

Array = NDArray[np.float64]

_MOST_LOAD = 600.0
"""Requests of one adapter at once; its busy period, exp(600), is for ever as well."""
_SMALL = 1e-6
_NODES = 40
_FIRST, _LAST = 1e-3, 40.0
"""Of the residence times that are summed, in means."""


class ResidenceLaw(Protocol):
    """Law of the time a request spends in the batch, in units of its mean."""

    def __hash__(self) -> int: ...

    @property
    def scv(self) -> float:
        """Squared coefficient of variation [1]."""

    def busy_period(self, load: Array, *, started: Array) -> Array:
        """Mean busy period in units of the mean residence.

        Parameters
        ----------
        load : x, requests of the adapter that run on average when it never waits [1]
        started : m, mean number of requests that start with the first, a Poisson number [1]
        """


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponential residence times.

    Notes
    -----
    B = int_0^1 exp(x v) (1 - (1 - v) exp(-m v)) / v dv = E(x) - E(x - m) + (exp(x - m) - 1) / (x - m), with
    E(z) = Ei(z) - ln |z| - gamma. It is the sum over k of P(n >= k) T_k, T_k = (1 + x T_(k+1)) / k, in closed form:
    the mean time to reach an empty system is exp(x) times the integral of how much less often it is empty than if it
    had started empty.

    References
    ----------
    J. Keilson, "Markov Chain Models: Rarity and Exponentiality", 1979, section 5 (passage times from the ergodic
    potential); M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, eq. (5.1.2) and (5.1.10).

    >>> import numpy as np
    >>> print(Exponential().busy_period(np.array([2.0]), started=np.zeros(1)).round(6))
    [3.194528]
    """

    @property
    def scv(self) -> float:
        return 1.0

    def busy_period(self, load: Array, *, started: Array) -> Array:
        x = np.minimum(load, _MOST_LOAD)
        less = x - started
        answer: Array = _entire(x) - _entire(less) + _growth(less)
        return answer


EXPONENTIAL = Exponential()


@dataclass(frozen=True, slots=True)
class Constant:
    """Residence times that are all the same: those that start together end together.

    Notes
    -----
    B = (exp(x) - 1) / x.

    References
    ----------
    L. Takacs, "Introduction to the Theory of Queues", 1962, section 3.1 (busy period of M/G/infinity).

    >>> import numpy as np
    >>> print(Constant().busy_period(np.array([2.0]), started=np.array([9.0])).round(6))
    [3.194528]
    """

    @property
    def scv(self) -> float:
        return 0.0

    def busy_period(self, load: Array, *, started: Array) -> Array:
        answer: Array = _growth(np.minimum(load, _MOST_LOAD) + np.zeros_like(started))
        return answer


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Lognormal residence times.

    Parameters
    ----------
    cv : coefficient of variation, > 0 [1]

    Notes
    -----
    B = int_0^inf exp(x (1 - H(t))) (1 - G(t) exp(-m (1 - G(t)))) dt, G the law of a residence time, H that of the time
    left of one, H(t) = int_0^t (1 - G). By the trapezoidal rule in ln t.

    References
    ----------
    L. Takacs, "Introduction to the Theory of Queues", 1962, section 3.1: from the probability that M/G/infinity is
    empty at t, started empty and started with requests.

    >>> import numpy as np
    >>> print(Lognormal(1.0).busy_period(np.array([2.0]), started=np.zeros(1)).round(2))
    [3.19]
    """

    cv: float

    @property
    def scv(self) -> float:
        return self.cv**2

    def busy_period(self, load: Array, *, started: Array) -> Array:
        late, terms = _lognormal(self.cv)
        x = np.minimum(np.asarray(load, dtype=np.float64), _MOST_LOAD)
        alone = np.exp(np.multiply.outer(x, terms.fresh)) * terms.weights
        together = np.exp(-np.multiply.outer(started, late))
        together *= alone * (1.0 - late)
        answer: Array = alone.sum(axis=-1) - together.sum(axis=-1)
        return answer


def law_of(cv: float) -> ResidenceLaw:
    """Residence times of this coefficient of variation; below a twentieth they are all the same.

    >>> law_of(0.0), law_of(0.8)
    (Constant(), Lognormal(cv=0.8))
    """
    return Constant() if cv < 1 / 20 else Lognormal(cv)


class _Terms(NamedTuple):
    """Of a sum over times: share of the time left that is past each, and weights; the first stands for all before."""

    fresh: Array
    weights: Array


@lru_cache(maxsize=64)
def _lognormal(cv: float) -> tuple[Array, _Terms]:
    """Share of the residence times longer than each time of the sum, and its terms."""
    sigma = math.sqrt(math.log1p(cv * cv))
    logs = np.linspace(math.log(_FIRST), math.log(_LAST), _NODES)
    times = np.exp(logs)
    z = (logs + sigma * sigma / 2) / sigma
    late = ndtr(-z)
    weights = times * (logs[1] - logs[0])
    weights[[0, -1]] /= 2
    weights[0] += _FIRST
    return late, _Terms(np.maximum(ndtr(sigma - z) - times * late, 0.0), weights)


def _entire(z: Array) -> Array:
    """Ei(z) - ln |z| - gamma, which is z near zero."""
    safe = np.where(np.abs(z) < _SMALL, _SMALL, z)
    answer: Array = np.where(np.abs(z) < _SMALL, z, expi(safe) - np.log(np.abs(safe)) - np.euler_gamma)
    return answer


def _growth(z: Array) -> Array:
    """(exp(z) - 1) / z."""
    safe = np.where(np.abs(z) < _SMALL, _SMALL, z)
    answer: Array = np.expm1(safe) / safe
    return answer

"""How long a session waits between two turns: laws to draw from, with the hazard that a clever eviction asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
_erfc = np.frompyfunc(math.erfc, 1, 1)


class GapLaw(Protocol):
    """A law of the gap G between two turns."""

    def draw(self, generator: np.random.Generator, *, count: int) -> Times:
        """``count`` gaps [s]."""

    def density(self, age_s: Times) -> Times:
        """Probability density at each age [1/s]."""

    def beyond(self, age_s: Times) -> Times:
        """P(G > age) at each age."""


@dataclass(frozen=True, slots=True)
class Exponential:
    """No memory: the hazard never changes."""

    mean_s: float

    def draw(self, generator: np.random.Generator, *, count: int) -> Times:
        return generator.exponential(self.mean_s, count)

    def density(self, age_s: Times) -> Times:
        return np.exp(-age_s / self.mean_s) / self.mean_s

    def beyond(self, age_s: Times) -> Times:
        return np.exp(-age_s / self.mean_s)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Half of the gaps are shorter than ``median_s``; ``sigma`` is the spread of their logarithm, 0 for equal gaps."""

    median_s: float
    sigma: float

    def draw(self, generator: np.random.Generator, *, count: int) -> Times:
        return self.median_s * np.exp(self.sigma * generator.standard_normal(count))

    def density(self, age_s: Times) -> Times:
        if self.sigma == 0:
            return np.zeros_like(age_s)
        age = np.maximum(age_s, 1e-12)
        z = np.log(age / self.median_s) / self.sigma
        return np.exp(-z * z / 2) / (age * self.sigma * math.sqrt(2 * math.pi))

    def beyond(self, age_s: Times) -> Times:
        if self.sigma == 0:
            return (age_s < self.median_s).astype(float)
        z = np.log(np.maximum(age_s, 1e-12) / self.median_s) / self.sigma
        return np.asarray(_erfc(z / math.sqrt(2)), float) / 2


@dataclass(frozen=True, slots=True)
class Hyperexponential:
    """Short gaps of mean ``short_s`` with probability ``short_share``, else long ones of mean ``long_s``."""

    short_share: float
    short_s: float
    long_s: float

    def draw(self, generator: np.random.Generator, *, count: int) -> Times:
        short = generator.random(count) < self.short_share
        return generator.standard_exponential(count) * np.where(short, self.short_s, self.long_s)

    def density(self, age_s: Times) -> Times:
        short, long = Exponential(self.short_s).density(age_s), Exponential(self.long_s).density(age_s)
        return self.short_share * short + (1 - self.short_share) * long

    def beyond(self, age_s: Times) -> Times:
        short, long = Exponential(self.short_s).beyond(age_s), Exponential(self.long_s).beyond(age_s)
        return self.short_share * short + (1 - self.short_share) * long


@dataclass(frozen=True, slots=True)
class Observed:
    """Gaps drawn from those seen in a trace [s]."""

    seen_s: tuple[float, ...]

    def draw(self, generator: np.random.Generator, *, count: int) -> Times:
        return np.asarray(self.seen_s)[generator.integers(0, len(self.seen_s), count)]

    def density(self, age_s: Times) -> Times:
        """From the slope of the distribution over a fifth of a decade around each age."""
        low, high = age_s * 10**-0.1, age_s * 10**0.1
        return (self.beyond(low) - self.beyond(high)) / np.maximum(high - low, 1e-12)

    def beyond(self, age_s: Times) -> Times:
        ordered = np.sort(np.asarray(self.seen_s))
        return 1.0 - np.searchsorted(ordered, age_s, side="right") / len(ordered)


def mean_s(law: GapLaw) -> float:
    """Mean gap [s], cut at some twelve days: ∫ P(G > t) dt over times from a microsecond on."""
    times = np.logspace(-6, 6, 4801)
    beyond = law.beyond(times)
    return float(times[0] + np.sum(np.diff(times) * (beyond[1:] + beyond[:-1]) / 2))


def return_rate(law: GapLaw, *, follow: float, age_s: Times) -> Times:
    """Rate at which a context of a given idle age is asked for again [1/s].

    Parameters
    ----------
    follow : probability that another turn follows at all.

    Notes
    -----
    q f(t) / (q (1 − F(t)) + 1 − q): the longer the silence, the likelier the session is over.
    """
    alive = follow * law.beyond(age_s)
    rate: Times = np.divide(
        follow * law.density(age_s), alive + (1 - follow), where=alive > 0, out=np.zeros_like(age_s)
    )
    return rate

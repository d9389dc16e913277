"""Rates of arrival over time, as pieces of constant rate: steady, by the hour of the day, in bursts, with a spike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import stream

Floats = NDArray[np.float64]
Pieces = tuple[Floats, Floats]
"""How long each piece lasts [s], and its rate [1/s]."""

DAY_S = 86_400.0
FOR_GOOD_S = 1e15
SINE_PIECES = 1440
_BLOCK = 512
_CALM, _BURST = 0, 1


class Rate(Protocol):
    """A rate over time, from 0 on and without end."""

    @property
    def mean_per_s(self) -> float:
        """In the long run."""

    def pieces(self, seed: int) -> Iterator[Pieces]:
        """The rate of one run, in blocks of pieces."""

    def expected(self) -> Iterator[Pieces]:
        """What the rate is on average over all runs."""


def expected_count(rate: Rate, *, until_s: float) -> float:
    """Requests that are expected by a moment."""
    begin_s, count = 0.0, 0.0
    for lengths, rates in rate.expected():
        ends = begin_s + np.cumsum(lengths)
        inside = np.clip(until_s - (ends - lengths), 0.0, lengths)
        count += float(inside @ rates)
        begin_s = float(ends[-1])
        if begin_s >= until_s:
            break
    return count


def expected_moment_s(rate: Rate, *, count: float) -> float:
    """The moment by which so many requests are expected; infinite where the rate is zero for good."""
    if rate.mean_per_s <= 0:
        return math.inf
    begin_s = 0.0
    for lengths, rates in rate.expected():
        areas = np.cumsum(lengths * rates)
        if areas[-1] >= count:
            place = int(np.searchsorted(areas, count))
            before = areas[place - 1] if place else 0.0
            return begin_s + float(lengths[:place].sum() + (count - before) / rates[place])
        count -= float(areas[-1])
        begin_s += float(lengths.sum())
    return math.inf


def highest_per_s(rate: Rate, *, until_s: float) -> float:
    """The highest expected rate before a moment."""
    begin_s, highest = 0.0, 0.0
    for lengths, rates in rate.expected():
        starts = begin_s + np.cumsum(lengths) - lengths
        highest = max(highest, float(rates[starts < until_s].max(initial=0.0)))
        begin_s += float(lengths.sum())
        if begin_s >= until_s:
            break
    return highest


@dataclass(frozen=True, slots=True)
class Steady:
    """The same rate all the time."""

    mean_per_s: float

    def pieces(self, seed: int) -> Iterator[Pieces]:  # noqa: ARG002 - no chance in it
        yield from self.expected()

    def expected(self) -> Iterator[Pieces]:
        while True:
            yield np.array([FOR_GOOD_S]), np.array([self.mean_per_s])


def sine_day(mean_to_peak: float, *, peak_h: float = 14.0) -> tuple[float, ...]:
    """A day by the minute, as multiples of its mean: highest at ``peak_h``, lowest twelve hours from it.

    Notes
    -----
    The mean plus a sine for a mean of half the peak or more. Below that a sine would fall under zero: then it is the
    raised cosine ((1 + cos θ)/2)^k, whose mean over a day is Γ(k + ½)/(√π·Γ(k + 1)), with the k that gives the mean.
    """
    if not 0 < mean_to_peak <= 1:
        raise ValueError(f"mean_to_peak must be above 0 and at most 1, is {mean_to_peak}")
    hours = (np.arange(SINE_PIECES) + 0.5) * 24 / SINE_PIECES
    raised = (1 + np.cos((hours - peak_h) * 2 * math.pi / 24)) / 2
    if mean_to_peak >= 0.5:
        shape = 2 * mean_to_peak - 1 + 2 * (1 - mean_to_peak) * raised
    else:
        shape = raised ** _power(mean_to_peak)
    return tuple((shape / shape.mean()).tolist())


def _power(mean: float) -> float:
    low, high = 1.0, 1.0 / mean**2
    for _ in range(100):
        k = (low + high) / 2
        found = math.exp(math.lgamma(k + 0.5) - math.lgamma(k + 1)) / math.sqrt(math.pi)
        low, high = (k, high) if found > mean else (low, k)
    return low


@dataclass(frozen=True, slots=True)
class Daily:
    """The same curve every day: ``shares`` are the rates of equal parts of a day, in any unit.

    ``start_s`` is the time of day at which the run begins; ``day_s`` how long a day lasts.
    """

    mean_per_s: float
    shares: tuple[float, ...]
    day_s: float = DAY_S
    start_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.shares or min(self.shares) < 0 or sum(self.shares) <= 0:
            raise ValueError("the parts of a day must be at least 0, and one of them more")
        if not (self.day_s > 0 and 0 <= self.start_s < self.day_s):
            raise ValueError(f"a run must begin within the day of {self.day_s:g} s, not at {self.start_s:g} s")

    def pieces(self, seed: int) -> Iterator[Pieces]:  # noqa: ARG002 - no chance in it
        yield from self.expected()

    def expected(self) -> Iterator[Pieces]:
        shares = np.asarray(self.shares, np.float64)
        rates = self.mean_per_s * shares / shares.mean()
        lengths = np.full(len(shares), self.day_s / len(shares))
        ends = np.cumsum(lengths)
        first = min(int(np.searchsorted(ends, self.start_s, side="right")), len(shares) - 1)
        rest = lengths[first:].copy()
        rest[0] = max(0.0, ends[first] - self.start_s)
        yield rest, rates[first:]
        while True:
            yield lengths, rates


@dataclass(frozen=True, slots=True)
class Bursts:
    """Calm and bursts in turn, each exponentially long: a Markov-modulated Poisson process of two states.

    Parameters
    ----------
    mean_per_s : over both.
    times : rate of a burst over that of the calm.
    burst_s, calm_s : mean lengths [s].
    """

    mean_per_s: float
    times: float
    burst_s: float
    calm_s: float

    def __post_init__(self) -> None:
        if not (self.times >= 0 and self.burst_s > 0 and self.calm_s > 0):
            raise ValueError("bursts need lengths above 0 and a rate of at least 0")

    @property
    def burst_share(self) -> float:
        """Of the time."""
        return self.burst_s / (self.burst_s + self.calm_s)

    @property
    def calm_per_s(self) -> float:
        """Rate between bursts."""
        return self.mean_per_s / (1 + (self.times - 1) * self.burst_share)

    def dispersion(self, *, window_s: float = math.inf) -> float:
        """Variance over mean of the number of requests in a window; 1 of a Poisson process.

        Notes
        -----
        The rate has variance v = p(1 − p)(b − c)² and correlation time τ = 1/(1/burst_s + 1/calm_s), so the count in
        a window of t has the variance m·t + 2vτ(t − τ(1 − exp(−t/τ))).

        References
        ----------
        Fischer and Meier-Hellstern, The Markov-modulated Poisson process (MMPP) cookbook, Performance Evaluation 18
        (1993), section 2.
        """
        if self.mean_per_s <= 0:
            return 1.0
        p, calm = self.burst_share, self.calm_per_s
        variance = p * (1 - p) * (self.times * calm - calm) ** 2
        tau_s = self.burst_s * self.calm_s / (self.burst_s + self.calm_s)
        begun = 0.0 if math.isinf(window_s) else tau_s / window_s * -math.expm1(-window_s / tau_s)
        return 1 + 2 * variance * tau_s / self.mean_per_s * (1 - begun)

    def pieces(self, seed: int) -> Iterator[Pieces]:
        chance = stream(seed, name="bursts")
        first = _BURST if chance.random() < self.burst_share else _CALM
        states = (np.arange(_BLOCK) + first) % 2
        means = np.where(states == _BURST, self.burst_s, self.calm_s)
        rates = np.where(states == _BURST, self.times, 1.0) * self.calm_per_s
        while True:
            yield chance.standard_exponential(_BLOCK) * means, rates

    def expected(self) -> Iterator[Pieces]:
        yield from Steady(self.mean_per_s).expected()


@dataclass(frozen=True, slots=True)
class Spike:
    """Another rate, ``times`` as high from ``from_s`` on for ``for_s``."""

    base: Rate
    times: float
    from_s: float
    for_s: float

    @property
    def mean_per_s(self) -> float:
        return self.base.mean_per_s

    def pieces(self, seed: int) -> Iterator[Pieces]:
        return self._spiked(self.base.pieces(seed))

    def expected(self) -> Iterator[Pieces]:
        return self._spiked(self.base.expected())

    def _spiked(self, blocks: Iterator[Pieces]) -> Iterator[Pieces]:
        begin_s, until_s = 0.0, self.from_s + self.for_s
        for lengths, rates in blocks:
            edges = begin_s + np.concatenate([[0.0], np.cumsum(lengths)])
            cuts = [each for each in (self.from_s, until_s) if edges[0] < each < edges[-1]]
            cut = np.sort(np.concatenate([edges, cuts]))
            within = np.clip(np.searchsorted(edges, cut[:-1], side="right") - 1, 0, len(rates) - 1)
            inside = (cut[:-1] >= self.from_s) & (cut[:-1] < until_s)
            yield np.diff(cut), rates[within] * np.where(inside, self.times, 1.0)
            begin_s = float(edges[-1])

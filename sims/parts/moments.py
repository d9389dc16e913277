"""Moments of arrivals: a process of rate one, stretched by the time change that gives it any rate over time.

All rates read the same stream, so runs at different rates, or with and without a spike, have the same luck. What is
drawn does not depend on how long the chunks are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.rates import Pieces, Rate, Steady

Moments = NDArray[np.float64]


def _summed(gaps: Moments, *, begin: float) -> Moments:
    """Moments from gaps, added one after the other across chunks as within them."""
    gaps[0] += begin
    return np.cumsum(gaps)


def poisson_moments(
    seed: int, *, rate_per_s: float, duration_s: float | None, requests: int | None
) -> Iterator[Moments]:
    """Moments of arrivals at a steady rate [s] until ``duration_s`` or ``requests`` of them, `CHUNK` at a time."""
    if rate_per_s > 0:
        yield from _cut(_poisson(seed, rate_per_s=rate_per_s), duration_s=duration_s, requests=requests)


def _poisson(seed: int, *, rate_per_s: float) -> Iterator[Moments]:
    gaps, now_s = stream(seed, name="arrivals"), 0.0
    while True:
        at_s = _summed(gaps.exponential(1.0 / rate_per_s, CHUNK), begin=now_s)
        now_s = float(at_s[-1])
        yield at_s


def _cut(chunks: Iterator[Moments], *, duration_s: float | None, requests: int | None) -> Iterator[Moments]:
    left = requests
    for at_s in chunks:
        keep = len(at_s) if left is None else min(len(at_s), left)
        if duration_s is not None:
            keep = min(keep, int(np.searchsorted(at_s, duration_s, side="right")))
        yield at_s[:keep]
        left = None if left is None else left - keep
        if keep < len(at_s) or left == 0:
            return


def unit_moments(seed: int, *, gap_cv: float = 1.0) -> Iterator[Moments]:
    """A renewal process of rate one, without end: gamma gaps with the coefficient of variation ``gap_cv``.

    Notes
    -----
    A gamma gap of mean 1 has the shape 1/cv² and the scale cv²; cv = 1 is the Poisson process, 0 a metronome. The
    number of requests in a long window has a variance of cv² times its mean. The first gap begins at 0.
    """
    gaps, now = stream(seed, name="arrivals"), 0.0
    while True:
        moments = _summed(_gaps(gaps, cv=gap_cv), begin=now)
        now = float(moments[-1])
        yield moments


def _gaps(chance: np.random.Generator, *, cv: float) -> Moments:
    if cv == 0.0:
        return np.ones(CHUNK)
    if cv == 1.0:
        return chance.standard_exponential(CHUNK)
    return chance.standard_gamma(1 / cv**2, CHUNK) * cv**2


def moments(
    seed: int, *, rate: Rate, gap_cv: float = 1.0, duration_s: float | None, requests: int | None
) -> Iterator[Moments]:
    """Moments of arrivals [s] until ``duration_s`` or ``requests`` of them, at most `CHUNK` at a time."""
    if isinstance(rate, Steady) and gap_cv == 1.0:
        yield from poisson_moments(seed, rate_per_s=rate.mean_per_s, duration_s=duration_s, requests=requests)
    elif rate.mean_per_s > 0:
        units = _cut(unit_moments(seed, gap_cv=gap_cv), duration_s=None, requests=requests)
        changed = _changed(units, pieces=rate.pieces(seed), until_s=np.inf if duration_s is None else duration_s)
        yield from _cut(changed, duration_s=duration_s, requests=None)


def _changed(units: Iterator[Moments], *, pieces: Iterator[Pieces], until_s: float) -> Iterator[Moments]:
    """The time change: the n-th moment is when the rate's integral reaches the n-th moment of the unit process."""
    edges, areas = np.zeros(1), np.zeros(1)
    for unit in units:
        edges, areas = _extended(edges, areas, pieces=pieces, area=float(unit[-1]), until_s=until_s)
        reached = int(np.searchsorted(unit, areas[-1], side="right"))
        yield np.interp(unit[:reached], areas, edges)
        if reached < len(unit):
            return
        past = max(0, int(np.searchsorted(areas, unit[-1], side="right")) - 1)
        edges, areas = edges[past:], areas[past:]


def _extended(
    edges: Moments, areas: Moments, *, pieces: Iterator[Pieces], area: float, until_s: float
) -> tuple[Moments, Moments]:
    """The table of the rate's integral, carried on until it reaches an area or a moment."""
    all_edges, all_areas = [edges], [areas]
    while all_areas[-1][-1] < area and all_edges[-1][-1] <= until_s:
        lengths, rates = next(pieces)
        all_areas.append(_summed(lengths * rates, begin=float(all_areas[-1][-1])))
        all_edges.append(_summed(lengths.copy(), begin=float(all_edges[-1][-1])))
    return np.concatenate(all_edges), np.concatenate(all_areas)

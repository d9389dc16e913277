"""Percentiles from a fixed log-spaced histogram: 256 bins a decade, merged by addition in any order.

A value is off by at most half a bin, 0.45 %. Percentiles are read from pooled histograms, never averaged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler

LOWEST_S = 1e-6
DECADES = 12
PER_DECADE = 256
BINS = DECADES * PER_DECADE
PER_E = PER_DECADE / math.log(10.0)


@handler
def bin_of(value):  # type: ignore[no-untyped-def]
    """The bin of a value; what lies outside the range goes to the first or last bin."""
    if value <= LOWEST_S:
        return 0
    return min(BINS - 1, int(math.log(value / LOWEST_S) * PER_E))


@handler
def record(histogram, value, weight):  # type: ignore[no-untyped-def]
    """Add ``weight`` observations of ``value``."""
    histogram[bin_of(value)] += weight


@handler
def record_ramp(histogram, first, growth, steps, weight):  # type: ignore[no-untyped-def]
    """Add ``weight`` of each of ``first + growth · j``, j = 0 … steps − 1, bin by bin."""
    done = 0
    for _ in range(BINS):
        if done >= steps:
            break
        index = bin_of(first + growth * done)
        upto = steps
        if growth > 0.0 and bin_of(first + growth * (steps - 1)) != index:
            edge = LOWEST_S * math.exp((index + 1) / PER_E)
            upto = min(steps, max(done + 1, math.ceil((edge - first) / growth)))
        histogram[index] += weight * (upto - done)
        done = upto


def edges() -> NDArray[np.float64]:
    """The ``BINS + 1`` bin edges, in the values' unit."""
    return LOWEST_S * 10.0 ** (np.arange(BINS + 1) / PER_DECADE)


def middles() -> NDArray[np.float64]:
    """A value in the middle of each bin, by ratio."""
    bounds = edges()
    return np.sqrt(bounds[1:] * bounds[:-1])


Histogram = NDArray[np.int64]


def percentile(histogram: Histogram, *, q: float) -> float | None:
    """The ``q``-quantile (0 … 1), interpolated within its bin; None when nothing was recorded."""
    cumulative = np.cumsum(histogram)
    total = float(cumulative[-1])
    if total <= 0:
        return None
    index = min(int(np.searchsorted(cumulative, q * total, side="left")), BINS - 1)
    below = float(cumulative[index - 1]) if index else 0.0
    inside = float(histogram[index])
    share = (q * total - below) / inside if inside else 0.5
    return float(LOWEST_S * 10.0 ** ((index + min(1.0, max(0.0, share))) / PER_DECADE))


def cdf(histogram: Histogram, *, points: int = 160) -> list[tuple[float, float]]:
    """(value, share at or below it) at the non-empty bins, thinned to at most about ``points``."""
    filled = np.flatnonzero(histogram)
    if not len(filled):
        return []
    cumulative = np.cumsum(histogram) / histogram.sum()
    if len(filled) > points:
        # Thin by share and by value, so that both the body and the tail keep their shape.
        wanted = np.searchsorted(cumulative, np.concatenate([np.linspace(0, 1, points), 1 - np.logspace(-4, 0, 40)]))
        filled = np.unique(np.concatenate([filled[[0, -1]], np.clip(wanted, filled[0], filled[-1])]))
    upper = edges()[1:]
    return [(float(upper[index]), min(1.0, float(cumulative[index]))) for index in filled]

"""Confidence intervals by batch means: centred on the pooled value, batches only for the spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

MIN_BATCHES = 10
MIN_SPAN_IN_RELAXATIONS = 20.0
ROUNDING = 1e-12
"""Batches that differ by less, relative, are the same: what is left of them says nothing about neighbours."""

# Two-sided 95 % quantiles of Student's t, by degrees of freedom; beyond the table the normal's is near enough.
T_95: tuple[float, ...] = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
T_95 += (2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


@dataclass(frozen=True, slots=True)
class Interval:
    """``low`` … ``high`` covers the true value in about 95 % of runs, unless it is ``unreliable``."""

    value: float
    low: float
    high: float
    batches: int
    reason: str = ""
    """Why the interval is not to be trusted; empty when it is."""

    @property
    def unreliable(self) -> bool:
        return bool(self.reason)

    def shifted(self, by: float) -> Interval:
        """The same with a constant added to what was measured."""
        return replace(self, value=self.value + by, low=self.low + by, high=self.high + by)


def _lag_one(values: Sequence[float], mean: float) -> float:
    spread = sum((value - mean) ** 2 for value in values)
    if spread == 0.0:
        return 0.0
    return sum((a - mean) * (b - mean) for a, b in pairwise(values)) / spread


def batch_interval(
    pooled: float, *, batches: Sequence[float], span_s: float | None = None, relaxation_s: float | None = None
) -> Interval:
    """The 95 % interval of ``pooled`` from the same statistic of each batch.

    Parameters
    ----------
    pooled : float
        The statistic of all observations together.
    batches : sequence of float
        The statistic of each batch that has one, in order of time.
    span_s, relaxation_s : float, optional
        Length of a batch and the time the system takes to forget its state [s].

    Notes
    -----
    Half-width t₉₅ · s / √n. Batches that are short against the relaxation time, or that resemble their
    neighbours (lag-one correlation above its own 95 % limit), understate the spread: the interval says so.
    """
    n = len(batches)
    if n < 2:
        return Interval(pooled, pooled, pooled, n, "fewer than two batches")
    mean = sum(batches) / n
    deviation = math.sqrt(sum((value - mean) ** 2 for value in batches) / (n - 1))
    half = (T_95[n - 2] if n - 2 < len(T_95) else 1.96) * deviation / math.sqrt(n)
    reason = ""
    if n < MIN_BATCHES:
        reason = f"only {n} batches"
    elif span_s is not None and relaxation_s is not None and span_s < MIN_SPAN_IN_RELAXATIONS * relaxation_s:
        reason = "batches are short against the time the system takes to forget its state"
    elif half > ROUNDING * abs(mean) and _lag_one(batches, mean) > 1.96 / math.sqrt(n):
        reason = "neighbouring batches are correlated"
    return Interval(pooled, pooled - half, pooled + half, n, reason)

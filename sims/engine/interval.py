"""Confidence intervals by batch means and by replications: centred on the pooled value, parts only for the spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scipy.special import fdtri, stdtrit

MIN_BATCHES = 10
ROUNDING = 1e-12
"""Batches that differ by less, relative, are the same: what is left of them says nothing about neighbours."""


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


def t_95(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return float(stdtrit(freedom, 0.975))


def _lag_one(values: Sequence[float], mean: float) -> float:
    spread = sum((value - mean) ** 2 for value in values)
    if spread == 0.0:
        return 0.0
    return sum((a - mean) * (b - mean) for a, b in pairwise(values)) / spread


def batch_interval(pooled: float, *, batches: Sequence[float]) -> Interval:
    """The 95 % interval of ``pooled`` from the same statistic of each batch.

    Parameters
    ----------
    pooled : float
        The statistic of all observations together.
    batches : sequence of float
        The statistic of each batch that has one, in order of time.

    Notes
    -----
    Half-width t₉₅ · s / √n. Batches that resemble their neighbours (lag-one correlation above its own 95 % limit)
    understate the spread: the interval says so.
    """
    n = len(batches)
    if n < 2:
        return Interval(pooled, pooled, pooled, n, "fewer than two batches")
    mean = sum(batches) / n
    deviation = math.sqrt(sum((value - mean) ** 2 for value in batches) / (n - 1))
    half = t_95(n - 1) * deviation / math.sqrt(n)
    reason = ""
    if n < MIN_BATCHES:
        reason = f"only {n} batches"
    elif half > ROUNDING * abs(mean) and _lag_one(batches, mean) > 1.96 / math.sqrt(n):
        reason = "neighbouring batches are correlated"
    return Interval(pooled, pooled - half, pooled + half, n, reason)


def replicated_interval(pooled: float, *, own: Sequence[float], batches: Sequence[Sequence[float]]) -> Interval:
    """The 95 % interval of ``pooled`` from independent replications, and from their batches where those can be used.

    Parameters
    ----------
    pooled : float
        The statistic of all observations of all replications together.
    own : sequence of float
        The statistic of each replication.
    batches : sequence of sequences of float
        The statistic of each batch of each replication; empty where batches tell nothing.

    Notes
    -----
    With r replications the half-width is t · s / √r, s the spread of their own values and t Student's with r − 1
    degrees of freedom: right whatever happens inside a replication [1]_. Two or three replications leave that very
    wide. So where the batches of every replication pass as independent, and the replications differ no more than
    their batches lead to expect (one-way analysis of variance: the mean squares between and within, an F test at
    5 %), both mean squares are pooled with r · b − 1 degrees of freedom: replicated batch means [2]_.

    References
    ----------
    .. [1] A. M. Law, "Simulation Modeling and Analysis", 5th ed., section 9.5: the replication/deletion approach.
    .. [2] N. T. Argon, S. Andradóttir, "Replicated batch means for steady-state simulations", Naval Research
       Logistics 53 (2006) 508-524.
    """
    if len(own) < 2:
        return batch_interval(pooled, batches=batches[0] if batches else own)
    between = _variance(own)
    half = t_95(len(own) - 1) * math.sqrt(between / len(own))
    within = [batch_interval(pooled, batches=each) for each in batches]
    if len(within) == len(own) and not any(each.unreliable for each in within):
        half = _pooled_half(between, batches=batches) or half
    return Interval(pooled, pooled - half, pooled + half, len(own) + sum(map(len, batches)))


def _pooled_half(between: float, *, batches: Sequence[Sequence[float]]) -> float | None:
    """Half-width by replicated batch means; None where replications differ by more than their batches explain."""
    count, runs = sum(map(len, batches)), len(batches)
    squares = sum((len(each) - 1) * _variance(each) for each in batches)
    # A replication's own value varies as the mean of its batches does.
    between_square, within_square = between * count / runs, squares / (count - runs)
    if between_square > within_square * float(fdtri(runs - 1, count - runs, 0.95)):
        return None
    pooled = ((runs - 1) * between_square + squares) / (count - 1)
    return t_95(count - 1) * math.sqrt(pooled / count)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)

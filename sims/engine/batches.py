"""Figures of a measuring window that is cut into batches, and whether what was measured was steady at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.interval import ROUNDING, Interval, batch_interval, replicated_interval
from sims.engine.run import FULL
from sims.engine.sketch import Histogram, middles, percentile

GROWTH_LIMIT = 0.02
"""Requests in the system may grow by this share of those that arrive; more is not a steady state."""
FEW_REQUESTS = 20
"""So many requests more than at the start do not matter, whatever share they are."""
FEWEST_SAMPLES = 9
FEWEST_BEYOND = 5
"""Observations of a batch beyond a quantile, at the least, for the batch to tell of it."""
TOO_FEW = "too few requests beyond the quantile"
FEWEST_INDEPENDENT_BEYOND = 0.5
"""The same of observations that do not depend on each other. Half of one at P99 are fifty in a batch."""
TOO_SHORT = "batches are short against the time the system takes to forget its state"

Numbers = NDArray[Any]


def pooled(histograms: Histogram) -> Histogram:
    """All batches of a histogram together."""
    total: Histogram = histograms.sum(axis=0)
    return total


def independent(histograms: Histogram) -> float:
    """As how many independent observations one batch counts, by the spread of the batches' means.

    Notes
    -----
    n_eff = σ² / s²: the variance of one observation over that of a batch's mean, which independent observations would
    have n times smaller [1]_. In M/M/1 it is the length of a batch in relaxation times, 1 / (1 − √ρ)² services.

    References
    ----------
    .. [1] C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992) 473-483, section 3.2.
    """
    counts, values = histograms.sum(axis=1), middles()
    seen = counts > 0
    if seen.sum() < 2:
        return float("inf")
    means, whole = (histograms[seen] @ values) / counts[seen], pooled(histograms)
    mean = float(whole @ values) / float(whole.sum())
    spread = float(np.var(means, ddof=1))
    one = float(whole @ (values - mean) ** 2) / float(whole.sum())
    return one / spread if spread > ROUNDING * mean**2 else float("inf")


def quantile(histograms: Histogram, *, q: float, runs: int = 1) -> Interval | None:
    """A quantile of one histogram a batch with its interval; None when nothing was observed.

    The batches of ``runs`` replications stand one after the other, as many of each. A quantile that lies beyond all but
    a few of the observations is not known from a batch, and still less where these depend on each other.
    """
    whole = pooled(histograms)
    value = percentile(whole, q=q)
    if value is None:
        return None
    each = [_known(percentile(batch, q=q) for batch in run) for run in np.split(histograms, runs)]
    long_enough = independent(histograms) * (1 - q) >= FEWEST_INDEPENDENT_BEYOND
    enough = whole.sum() / len(histograms) * (1 - q) >= FEWEST_BEYOND
    if runs > 1:
        return _of_runs(
            value,
            own=_known(percentile(pooled(run), q=q) for run in np.split(histograms, runs)),
            batches=each if enough and long_enough else [],
            sure=whole.sum() / runs * (1 - q) >= FEWEST_BEYOND,
        )
    found = batch_interval(value, batches=each[0])
    if found.unreliable or (enough and long_enough):
        return found
    return replace(found, reason=TOO_SHORT if enough else TOO_FEW)


def ratio(above: Numbers, *, below: Numbers, runs: int = 1) -> Interval | None:
    """A ratio of two tallies by batch with its interval; None when there is nothing below the line.

    The batches of ``runs`` replications stand one after the other, as many of each.
    """
    top, bottom = np.asarray(above, np.float64), np.asarray(below, np.float64)
    if bottom.sum() == 0:
        return None
    value, each = float(top.sum() / bottom.sum()), list(zip(np.split(top, runs), np.split(bottom, runs), strict=True))
    batches = [_ratios(*run) for run in each]
    if runs == 1:
        return batch_interval(value, batches=batches[0])
    own = _ratios(np.array([run.sum() for run, _ in each]), np.array([run.sum() for _, run in each]))
    return _of_runs(value, own=own, batches=batches)


def _of_runs(value: float, *, own: list[float], batches: list[list[float]], sure: bool = True) -> Interval:
    found = replicated_interval(value, own=own, batches=batches if len(batches) == len(own) else [])
    return found if found.unreliable or sure else replace(found, reason=TOO_FEW)


def _ratios(top: Numbers, bottom: Numbers) -> list[float]:
    seen = bottom > 0
    ratios: list[float] = (top[seen] / bottom[seen]).tolist()
    return ratios


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def growth_share(in_flight: Numbers, *, arrived: Numbers) -> float:
    """How much of what arrives in the last two thirds of the samples stays in the system: near 0 when steady."""
    if len(in_flight) < FEWEST_SAMPLES:
        return 0.0
    third = len(in_flight) // 3
    rise = in_flight[2 * third :].mean() - in_flight[third : 2 * third].mean()
    # The two means lie half of the last two thirds apart.
    return float(rise / max(1.0, (arrived[-1] - arrived[third]) / 2))


def is_steady(in_flight: Numbers, *, arrived: Numbers, ending: str) -> bool:
    """Whether the system kept up with what arrived."""
    if ending == FULL:
        return False
    rise = in_flight[-1] - in_flight[len(in_flight) // 3] if len(in_flight) else 0
    return bool(growth_share(in_flight, arrived=arrived) <= GROWTH_LIMIT or rise < FEW_REQUESTS)

"""Figures of a measuring window that is cut into batches, and whether what was measured was steady at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.interval import Interval, batch_interval
from sims.engine.run import FULL
from sims.engine.sketch import Histogram, percentile

GROWTH_LIMIT = 0.02
"""Requests in the system may grow by this share of those that arrive; more is not a steady state."""
FEW_REQUESTS = 20
"""So many requests more than at the start do not matter, whatever share they are."""
FEWEST_SAMPLES = 9
FEWEST_BEYOND = 5
"""Observations of a batch beyond a quantile, at the least, for the batch to tell of it."""

Numbers = NDArray[Any]


def pooled(histograms: Histogram) -> Histogram:
    """All batches of a histogram together."""
    total: Histogram = histograms.sum(axis=0)
    return total


def quantile(histograms: Histogram, *, q: float) -> Interval | None:
    """A quantile of one histogram a batch with its interval; None when nothing was observed."""
    whole = pooled(histograms)
    value = percentile(whole, q=q)
    if value is None:
        return None
    each = [percentile(histogram, q=q) for histogram in histograms]
    found = batch_interval(value, batches=[one for one in each if one is not None])
    if found.unreliable or whole.sum() / len(histograms) * (1 - q) >= FEWEST_BEYOND:
        return found
    return Interval(value, found.low, found.high, found.batches, "too few requests beyond the quantile")


def ratio(above: Numbers, *, below: Numbers) -> Interval | None:
    """A ratio of two tallies by batch with its interval; None when there is nothing below the line."""
    top, bottom = np.asarray(above, np.float64), np.asarray(below, np.float64)
    if bottom.sum() == 0:
        return None
    seen = bottom > 0
    return batch_interval(float(top.sum() / bottom.sum()), batches=(top[seen] / bottom[seen]).tolist())


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

"""How far a design's figures may be off: its uncertain inputs drawn together, with the spread of its calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core.batch import REFUSED, BatchResult
from planner.core.draws import CALIBRATION, NO_SPREAD, Array, Drawn, Spread, places
from planner.core.result import Metric, MetricDef, Result
from planner.core.variance import first_order, rank_correlation

BATCHES = 8
DRAWS = 512
MOST_DRAWS = 8192
AT_ONCE = 64
"""Draws between two looks at whether to go on."""
_SPREADING = ("measured", "calibrated", "extrapolated", "assumed")


@dataclass(frozen=True, slots=True)
class Estimated:
    """A statistic of the draws and its standard error, from batches that are independent of each other."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Chance:
    """How often an objective is met; ``limit`` is that of the design as it is."""

    definition: MetricDef
    limit: float
    probability: Estimated


@dataclass(frozen=True, slots=True)
class Part:
    """An input's share of the variance (first-order Sobol index) and which way it moves the figure."""

    name: str
    label: str
    index: float
    correlation: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Draws of one design, each the same place of the same laws as that of any other design with this seed.

    ``figures`` by metric are NaN where a draw has no figure; ``met`` tells of each draw whether an objective holds.
    """

    figures: Mapping[str, Array]
    met: Mapping[str, NDArray[np.bool_]]
    places: Mapping[str, Array]
    batches: int
    refused: int
    """Draws that are no designs."""
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.figures.values())))


@dataclass(frozen=True, slots=True)
class Spreading:
    """A figure over all draws: percentiles, the chance to meet what is asked for, and where the spread comes from."""

    metric: MetricDef
    value: float | None
    percentiles: Mapping[str, Estimated]
    mean: Estimated
    known: int
    chances: tuple[Chance, ...]
    all_met: Estimated
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Contest:
    """Two designs in the same draws: how far the second lies from the first, and how often the first is better."""

    percentiles: Mapping[str, Estimated]
    mean: Estimated
    first_is_better: Estimated
    apart_error: float
    """The standard error that the mean difference would have had with draws of their own."""


def draw(
    laws: Sequence[Drawn],
    *,
    result: Result,
    evaluate: Callable[[Mapping[str, Sequence[Any]]], BatchResult],
    seed: int,
    draws: int = DRAWS,
    done: Callable[[float], None] = lambda _share: None,
) -> Sample:
    """Draw all laws together and work out each draw; ``done`` is told the share now and then and may raise.

    ``result`` is the design as it is: the ranges of its figures, in proportion, are the spread of its calibration, one
    factor common to all of them and to all designs. Rates stated in place of a calibration are drawn with that factor
    instead, and no range is laid on top of them.
    """
    size = max(draws // BATCHES, 2)
    streams = dict.fromkeys((*(law.stream for law in laws), CALIBRATION))
    at = {name: places(name, seed=seed, batches=BATCHES, size=size) for name in streams}
    columns = {law.dial.name: law.at(at[law.stream]) for law in laws}
    found = []
    for first in range(0, BATCHES * size, AT_ONCE):
        rows = slice(first, min(first + AT_ONCE, BATCHES * size))
        found.append(evaluate(_typed(laws, columns, rows)))
        done(rows.stop / (BATCHES * size))
    states_rates = any(law.is_rate for law in laws)
    spreads = {} if states_rates else {name: spread_of(metric) for name, metric in result.metrics.items()}
    common = at[CALIBRATION]
    if not states_rates and all(spread == NO_SPREAD for spread in spreads.values()):
        del at[CALIBRATION]
    return _gathered(found, spreads=spreads, common=common, at=at)


def spread_of(metric: Metric) -> Spread:
    """The range of a figure in proportion to it: slower makes times and bills longer, and rates lower."""
    value, low, high = metric.value, metric.low, metric.high
    if not value or low is None or high is None or metric.basis not in _SPREADING:
        return NO_SPREAD
    slow, quick = (low, high) if metric.definition.direction == "higher" else (high, low)
    return Spread(slow / value, quick / value)


def summary(sample: Sample, *, metric: MetricDef, result: Result, labels: Mapping[str, str]) -> Spreading:
    """What the draws say of one figure."""
    values = sample.figures[metric.name]
    known = np.isfinite(values)
    chances = tuple(
        Chance(result.metrics[name].definition, result.metrics[name].objective or 0.0, share(met, sample.batches))
        for name, met in sample.met.items()
        if result.metrics[name].objective is not None
    )
    parts = [
        Part(
            name,
            labels.get(name, name),
            first_order(at[known], values[known]),
            rank_correlation(at[known], values[known]),
        )
        for name, at in sample.places.items()
    ]
    return Spreading(
        metric=metric,
        value=result.value(metric.name),
        percentiles={f"p{q}": quantile(values, q / 100, batches=sample.batches) for q in (5, 25, 50, 75, 95)},
        mean=_over_batches(values, np.mean, batches=sample.batches),
        known=int(known.sum()),
        chances=chances,
        all_met=share(_all_met(sample), sample.batches),
        parts=tuple(sorted(parts, key=lambda part: -part.index)),
    )


def contest(first: Sample, second: Sample, *, metric: MetricDef) -> Contest:
    """Second less first, draw by draw."""
    mine, theirs = first.figures[metric.name], second.figures[metric.name]
    apart = theirs - mine
    better = mine > theirs if metric.direction == "higher" else mine < theirs
    errors = [_over_batches(values, np.mean, batches=first.batches).error for values in (mine, theirs)]
    return Contest(
        percentiles={f"p{q}": quantile(apart, q / 100, batches=first.batches) for q in (5, 50, 95)},
        mean=_over_batches(apart, np.mean, batches=first.batches),
        first_is_better=share(better, first.batches),
        apart_error=math.hypot(*errors),
    )


def quantile(values: Array, at: float, *, batches: int) -> Estimated:
    """A quantile of the draws that have a figure."""
    return _over_batches(values, lambda batch: float(np.quantile(batch, at)), batches=batches)


def share(met: NDArray[np.bool_], batches: int) -> Estimated:
    """The share of draws in which something holds."""
    return _over_batches(met.astype(float), np.mean, batches=batches)


def _over_batches(values: Array, statistic: Callable[[Array], Any], *, batches: int) -> Estimated:
    """A statistic of all draws, and its standard error from those of the batches (batch means)."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Estimated(math.nan, math.nan)
    own = [float(statistic(mine)) for batch in np.split(values, batches) if len(mine := batch[np.isfinite(batch)])]
    error = float(np.std(own, ddof=1)) / math.sqrt(len(own)) if len(own) > 1 else math.nan
    return Estimated(float(statistic(known)), error)


def _all_met(sample: Sample) -> NDArray[np.bool_]:
    met = np.ones(len(sample), dtype=bool)
    for each in sample.met.values():
        met &= each
    return met


def _typed(laws: Sequence[Drawn], columns: Mapping[str, Array], rows: slice) -> dict[str, list[Any]]:
    kinds = {law.dial.name: int if law.dial.is_whole else float for law in laws}
    return {name: [kinds[name](value) for value in column[rows]] for name, column in columns.items()}


def _gathered(
    found: Sequence[BatchResult], *, spreads: Mapping[str, Spread], common: Array, at: Mapping[str, Array]
) -> Sample:
    figures, met = {}, {}
    objectives = {name for batch in found for name in batch.objectives}
    for name, definition in found[0].definitions.items():
        values = np.concatenate([np.where(b.figures[name].known, b.figures[name].values, np.nan) for b in found])
        values = values * spreads.get(name, NO_SPREAD).factors(common)
        figures[name] = np.rint(values) if definition.whole else values
        if name in objectives:
            limits = np.concatenate([_limits(batch, name) for batch in found])
            met[name] = _holds(definition, figures[name], limits)
    refused = sum(int(np.sum(batch.status == REFUSED)) for batch in found)
    reasons = dict.fromkeys(said for batch in found for said in batch.said)
    return Sample(figures, met, at, BATCHES, refused, tuple(reasons))


def _limits(batch: BatchResult, name: str) -> Array:
    if name not in batch.objectives:
        return np.full(len(batch), np.nan)
    column = batch.objectives[name]
    found: Array = np.where(column.known, column.values, np.nan)
    return found


def _holds(definition: MetricDef, values: Array, limits: Array) -> NDArray[np.bool_]:
    """Met, or not asked for; a figure that does not exist is not."""
    with np.errstate(invalid="ignore"):
        met = values >= limits if definition.direction == "higher" else values <= limits
    found: NDArray[np.bool_] = met | np.isnan(limits)
    return found

"""How far a design's figures may be off, as strict JSON: the draws of a Monte Carlo and what they say.

::

    kind, spec, metric {metric, label, unit, direction}, value, seed, draws, batches, known, refused, reasons
    percentiles   {p5, p25, p50, p75, p95: ESTIMATED}      mean ESTIMATED
    objectives    [{metric, label, unit, direction, limit, probability, error}]      all_met ESTIMATED
    inputs        [{FIELD, low, high, low_shown, high_shown, shape, source: usual|stated|given}]
    contributions [{name, label, index, correlation}]      noise: an index below twice this says nothing
    calibration   how the spread of the calibration went in: stated|ranges|none
    quantiles     {shares: [..], values: [..]}
    against       null or {name, spec, value, difference {p5, p50, p95, mean: ESTIMATED}, better ESTIMATED, apart_error,
                  quantiles}
    provenance

    ESTIMATED     {value, error}: the standard error by the means of independent batches; FIELD as in `sensitivity`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from planner import kinds
from planner.core.batch import BatchResult, one_by_one
from planner.core.dials import dial_of, dials
from planner.core.draws import CALIBRATION, Drawn
from planner.core.sensitivity import usual_span
from planner.core.text import gettext_noop as _
from planner.core.uncertainty import BATCHES, Contest, Estimated, Sample, Spreading, contest, draw, summary
from planner.core.variance import noise
from planner.designs.estimation import Estimate
from planner.designs.moving import metric_of, ranges_of
from planner.designs.sensitivity import field_json, metric_json
from planner.designs.serial import plain

USUAL, STATED = "usual", "stated"
_SHARES = np.linspace(0.0, 1.0, 101)
_CALIBRATED = _("Rates of the machine")


def laws_of(estimate: Estimate, *, ranges: Mapping[str, Any] | None = None) -> tuple[Drawn, ...]:
    """The laws of all inputs that are drawn; raises `InvalidField`.

    A tenth to either side for the inputs that are guesses by nature, the spec's own ± for rates it states, and the
    user's ranges, which go before both.
    """
    given = ranges_of(estimate, given=ranges or {})
    known = kinds.planning(estimate.kind.slug).uncertain
    found = {law.dial.name: law for law in _usual(estimate, known.fields)}
    found |= {law.dial.name: law for law in _stated(estimate, known.own(estimate.spec))}
    return tuple((found | given).values()) or (_still(estimate),)


def _usual(estimate: Estimate, fields: Sequence[str]) -> Iterator[Drawn]:
    for name in fields:
        dial = dial_of(estimate.spec, name)
        if dial is not None and not dial.is_choice and dial.value:
            span = usual_span(dial)
            yield Drawn(dial, span.low, span.high, "triangular", USUAL)


def _stated(estimate: Estimate, factors: Mapping[str, float]) -> Iterator[Drawn]:
    for name, factor in factors.items():
        dial = dial_of(estimate.spec, name)
        if dial is not None and dial.value:
            yield Drawn(dial, dial.value / factor, dial.value * factor, "lognormal", STATED, is_rate=True)


def _still(estimate: Estimate) -> Drawn:
    """An input that stays as it is, where only the calibration is uncertain."""
    dial = next(dial for dial in dials(estimate.spec)[0] if not dial.is_choice)
    return Drawn(dial, dial.value, dial.value, "uniform", USUAL)


def sample_of(
    estimate: Estimate, *, laws: Sequence[Drawn], seed: int, draws: int, done: Callable[[float], None]
) -> Sample:
    """Draw and work out."""
    batch = kinds.planning(estimate.kind.slug).batch

    def evaluate(columns: Mapping[str, Sequence[Any]]) -> BatchResult:
        if batch is not None:
            return batch(estimate.spec, columns, estimate.catalog)
        return one_by_one(estimate.kind, base=estimate.spec, columns=columns, catalog=estimate.catalog)

    return draw(laws, result=estimate.result, evaluate=evaluate, seed=seed, draws=draws, done=done)


def uncertainty(
    estimate: Estimate,
    *,
    metric: str,
    ranges: Mapping[str, Any],
    seed: int,
    draws: int,
    against: Estimate | None = None,
    against_name: str = "",
    done: Callable[[float], None] = lambda _share: None,
) -> dict[str, Any]:
    """The whole result; ``done`` is told the share that is done and may raise. Raises `InvalidField`."""
    definition = metric_of(estimate, name=metric)
    laws = laws_of(estimate, ranges=ranges)
    parts = 1 if against is None else 2
    sample = sample_of(estimate, laws=laws, seed=seed, draws=draws, done=lambda share: done(share / parts))
    labels = {law.dial.name: law.dial.label for law in laws} | {CALIBRATION: _CALIBRATED}
    told = summary(sample, metric=definition, result=estimate.result, labels=labels)
    return {
        "kind": estimate.kind.slug,
        "spec": estimate.spec_json,
        "metric": metric_json(definition),
        "value": told.value,
        "seed": seed,
        "draws": len(sample),
        "batches": BATCHES,
        "inputs": [_input(law) for law in laws if law.low < law.high],
        "calibration": _calibration(laws, sample),
        **_told(told, sample=sample),
        "against": None
        if against is None
        else _against(
            sample, against, name=against_name, metric=metric, ranges=ranges, seed=seed, draws=draws,
            done=lambda share: done((1 + share) / 2),
        ),
        "provenance": plain(estimate.result.provenance),
    }  # fmt: skip


def _told(told: Spreading, *, sample: Sample) -> dict[str, Any]:
    values = sample.figures[told.metric.name]
    known = values[np.isfinite(values)]
    return {
        "known": told.known,
        "refused": sample.refused,
        "reasons": list(sample.reasons)[:5],
        "percentiles": {name: _estimated(found) for name, found in told.percentiles.items()},
        "mean": _estimated(told.mean),
        "objectives": [
            {
                **metric_json(chance.definition),
                "limit": chance.limit,
                "probability": plain(chance.probability.value),
                "error": plain(chance.probability.error),
            }
            for chance in told.chances
        ],
        "all_met": _estimated(told.all_met) if told.chances else None,
        "contributions": [
            {"name": part.name, "label": part.label, "index": part.index, "correlation": part.correlation}
            for part in told.parts
        ],
        "noise": noise(told.known),
        "quantiles": _quantiles(known),
    }


def _against(
    mine: Sample, other: Estimate, *, name: str, metric: str, ranges: Mapping[str, Any], **how: Any
) -> dict[str, Any]:
    """The other design in the same draws: ranges in so far as it has those inputs, in proportion to nothing else."""
    definition = metric_of(other, name=metric)
    fields = type(other.spec).model_fields
    laws = laws_of(other, ranges={field: row for field, row in ranges.items() if field in fields})
    theirs = sample_of(other, laws=laws, **how)
    told: Contest = contest(mine, theirs, metric=definition)
    values = theirs.figures[definition.name]
    return {
        "name": name,
        "spec": other.spec_json,
        "value": other.result.value(definition.name),
        "difference": {part: _estimated(found) for part, found in told.percentiles.items()}
        | {"mean": _estimated(told.mean)},
        "better": _estimated(told.first_is_better),
        "apart_error": plain(told.apart_error),
        "quantiles": _quantiles(values[np.isfinite(values)]),
    }


def _quantiles(known: Any) -> dict[str, Any]:
    values = np.quantile(known, _SHARES) if len(known) else []
    return {"shares": [round(float(share), 4) for share in _SHARES], "values": [float(value) for value in values]}


def _input(law: Drawn) -> dict[str, Any]:
    ends = {"low": law.low, "high": law.high}
    shown = {f"{side}_shown": law.dial.said(end) for side, end in ends.items()}
    return {**field_json(law.dial), **ends, **shown, "shape": law.shape, "source": law.source}


def _calibration(laws: Sequence[Drawn], sample: Sample) -> str:
    if any(law.is_rate for law in laws):
        return "stated"
    return "ranges" if CALIBRATION in sample.places else "none"


def _estimated(found: Estimated) -> dict[str, float | None]:
    return {
        name: value if math.isfinite(value) else None
        for name, value in (("value", found.value), ("error", found.error))
    }

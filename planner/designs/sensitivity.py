"""Sensitivity of a design as strict JSON: what moves a figure, and what would change the decision.

::

    kind, spec, metric {metric, label, unit, direction}, value
    tornado   [{FIELD, kind: number|choice, swing, swing_share, elasticity,
                ends: [{value, shown, figure, status, reason, clipped}]}]           the widest first
    still     [FIELD]: they change nothing      refused [{FIELD, reason}]      unmoved [{name, label, why}]
    flips     [{FIELD, holds, at, at_shown, relative, sentence, turns: [{turn, name, sentence}], change}]
    steady    [FIELD]: nothing turns over from a quarter of them to four times
    rival     {label, change, metric, value} or null      provenance

    FIELD     {name, label, group, unit, shown_unit, value, shown}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from planner import kinds
from planner.core.compare import lacks
from planner.core.dials import Dial
from planner.core.fleet import Fleet
from planner.core.flip_judge import Judge, Rival
from planner.core.flips import Flip, flips
from planner.core.probing import Point, Probe
from planner.core.result import MetricDef, Result
from planner.core.sensitivity import Bar, End, Span, Tornado, tornado
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.moving import cost_metric, metric_of, ranges_of
from planner.designs.serial import plain

KEPT = 64


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its answer's key: equal keys, equal answers."""

    key: str
    by: Any
    """What works it out."""
    estimate: Estimate = field(compare=False)
    rival: Rival | None = field(default=None, compare=False)
    probes: list[Probe] = field(default_factory=list, compare=False)
    """The one to ask, while there are questions; not kept with the answer."""

    @property
    def probe(self) -> Probe:
        return self.probes[0] if self.probes else _probe(self.estimate)


def sensitivity(
    estimate: Estimate,
    *,
    metric: str = "",
    ranges: Mapping[str, Any] | None = None,
    rival: Estimate | None = None,
    rival_name: str = "",
) -> dict[str, Any]:
    """The whole answer; raises `InvalidField` for a metric or range that there is not."""
    probes = [_probe(estimate)]  # both look a tenth to either side
    try:
        return {
            **moved(estimate, metric=metric, ranges=ranges, probes=probes),
            **turning_points(estimate, rival=rival, rival_name=rival_name, probes=probes),
            "provenance": plain(estimate.result.provenance),
        }
    finally:
        probes.clear()


def moved(
    estimate: Estimate,
    *,
    metric: str = "",
    ranges: Mapping[str, Any] | None = None,
    probes: list[Probe] | None = None,
) -> dict[str, Any]:
    """The tornado of one metric. ``probes`` holds one that others ask as well."""
    definition = metric_of(estimate, name=metric)
    spans = {name: [law.low, law.high] for name, law in ranges_of(estimate, given=ranges or {}).items()}
    asked = _asked(estimate, definition.name, spans, probes=probes)
    return dict(_tornado(asked, definition, json.dumps(spans, sort_keys=True)))


def turning_points(
    estimate: Estimate, *, rival: Estimate | None = None, rival_name: str = "", probes: list[Probe] | None = None
) -> dict[str, Any]:
    """What would change the decision, held against another design of the kind or the variant nearest in cost."""
    other = None
    if rival is not None:
        mine, theirs = estimate.spec_json, rival.spec_json
        other = Rival(rival_name, {name: value for name, value in theirs.items() if mine.get(name) != value})
    change = plain(other.change) if other else None
    return dict(_flips(_asked(estimate, rival_name, change, rival=other, probes=probes)))


def _asked(estimate: Estimate, *parts: Any, rival: Rival | None = None, probes: list[Probe] | None = None) -> _Asked:
    made = [estimate.kind.slug, estimation.canonical(estimate.spec), estimate.catalog.digest, *parts]
    return _Asked(json.dumps(made, sort_keys=True), estimate.kind.estimate, estimate, rival, probes or [])


@lru_cache(maxsize=KEPT)
def _tornado(asked: _Asked, metric: MetricDef, spans: str) -> dict[str, Any]:
    estimate = asked.estimate
    given = {name: Span(low, high, is_given=True) for name, (low, high) in json.loads(spans).items()}
    found = tornado(asked.probe, metric=metric, spans=given)
    return {
        "kind": estimate.kind.slug,
        "spec": estimate.spec_json,
        "metric": metric_json(metric),
        "value": found.value,
        "tornado": [_bar(bar, of=found) for bar in found.bars],
        "still": [field_json(dial) for dial in found.still],
        "refused": [{**field_json(bar.dial), "reason": bar.ends[0].point.reason} for bar in found.refused],
        "unmoved": [{"name": each.name, "label": each.label, "why": each.why} for each in found.unmoved],
    }


@lru_cache(maxsize=KEPT)
def _flips(asked: _Asked) -> dict[str, Any]:
    estimate = asked.estimate
    probe, cost = asked.probe, cost_metric(estimate)
    rival = asked.rival or (_nearest_variant(estimate, probe=probe, cost=cost) if cost else None)
    found = flips(Judge(probe, fleet=_fleet(estimate), cost=cost, rival=rival))
    return {
        "flips": [_flip(each) for each in found.found],
        "steady": [field_json(dial) for dial in found.steady],
        "rival": _rival(rival, probe=probe, cost=cost),
    }


def _probe(estimate: Estimate) -> Probe:
    return Probe(estimate.spec, estimate=estimate.kind.estimate, catalog=estimate.catalog)


def _fleet(estimate: Estimate) -> Callable[[Point], Fleet] | None:
    counts: Callable[..., Fleet] | None = kinds.planning(estimate.kind.slug).fleet
    if counts is None:
        return None

    return lambda point: counts(point.spec, point.result, estimate.catalog)


def _nearest_variant(estimate: Estimate, *, probe: Probe, cost: str) -> Rival | None:
    """The variant nearest in cost among those that lack nothing this design does not lack."""
    mine, base = _lacking(estimate.result), estimate.result.value(cost)
    if not base:
        return None
    near: list[tuple[float, Rival]] = []
    for variant in estimate.kind.advice.variants(estimate.spec, estimate.result):
        point = probe.at(variant.change)
        value = point.value(cost)
        if point.result is not None and value and value != base and _lacking(point.result) <= mine:
            near.append((abs(value / base - 1), Rival(variant.label, dict(variant.change))))
    return min(near, key=lambda row: row[0])[1] if near else None


def _lacking(result: Result) -> set[str]:
    found = lacks(result)
    return {lack.metric.definition.name if lack.metric else "error" for lack in found}


def metric_json(metric: MetricDef) -> dict[str, Any]:
    return {"metric": metric.name, "label": metric.label, "unit": metric.unit, "direction": metric.direction}


def field_json(dial: Dial) -> dict[str, Any]:
    return {
        "name": dial.name,
        "label": dial.label,
        "group": dial.group,
        "unit": dial.unit,
        "shown_unit": dial.shown,
        "value": dial.value,
        "shown": dial.said(dial.value),
    }


def _bar(bar: Bar, *, of: Tornado) -> dict[str, Any]:
    return {
        **field_json(bar.dial),
        "kind": "choice" if bar.dial.is_choice else "number",
        "swing": bar.swing,
        "swing_share": bar.swing / abs(of.value) if of.value else None,
        "elasticity": bar.elasticity,
        "ends": [_end(end) for end in bar.ends],
    }


def _end(end: End) -> dict[str, Any]:
    return {
        "value": end.value,
        "shown": end.said,
        "figure": end.figure,
        "status": end.point.status,
        "reason": end.point.reason,
        "clipped": end.is_clipped,
    }


def _flip(flip: Flip) -> dict[str, Any]:
    value = flip.dial.within(flip.value)
    return {
        **field_json(flip.dial),
        "holds": flip.holds,
        "at": value,
        "at_shown": flip.dial.said(value),
        "relative": flip.relative,
        "sentence": flip.said,
        "turns": [{"turn": event.turn, "name": event.name, "sentence": event.said} for event in flip.events],
        "change": {flip.dial.name: value},
    }


def _rival(rival: Rival | None, *, probe: Probe, cost: str) -> dict[str, Any] | None:
    if rival is None:
        return None
    value = probe.at(rival.change).value(cost)
    return {"label": rival.label, "change": plain(rival.change), "metric": cost, "value": value}

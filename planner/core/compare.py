"""Designs side by side: inputs that differ, metrics with their deltas to the first, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planner.core.quantities import SAME
from planner.core.result import Metric, MetricDef, Result

Change = Literal["better", "worse", "same", "none"]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a design as a reader sees it."""

    name: str
    label: str
    group: str
    value: Any
    shown: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One design of a comparison."""

    name: str
    kind: str
    inputs: Mapping[str, Input]
    result: Result
    is_found: bool = False
    """Measured or simulated: of its inputs only those are known that it was run with."""


@dataclass(frozen=True, slots=True)
class Delta:
    """How a figure differs from the baseline's. ``relative`` is None where the baseline is zero."""

    absolute: float | None
    relative: float | None
    change: Change


@dataclass(frozen=True, slots=True)
class InputRow:
    """An input that all designs have; ``differs`` tells of each whether it departs from the first.

    None in the place of what was measured or simulated, where it does not say.
    """

    name: str
    label: str
    group: str
    inputs: tuple[Input | None, ...]
    differs: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of all designs; None where a design lacks it. ``best`` are the places of the best value."""

    definition: MetricDef
    metrics: tuple[Metric | None, ...]
    deltas: tuple[Delta | None, ...]
    best: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a design is not to be taken: a missed objective (``metric``) or an error finding (``message``)."""

    metric: Metric | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``suitable`` meet every objective without an error finding; ``best`` is the cheapest of them.

    ``cost`` is the metric they were ranked by, None when they share no price; then ``best`` is None too.
    """

    suitable: tuple[int, ...]
    best: int | None
    cost: MetricRow | None
    lacks: tuple[tuple[Lack, ...], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    items: tuple[Compared, ...]
    differing: tuple[InputRow, ...]
    equal: tuple[InputRow, ...]
    groups: Mapping[str, tuple[MetricRow, ...]]
    verdict: Verdict


def compare(items: Sequence[Compared]) -> Comparison:
    """Lay designs side by side; the first is the baseline.

    Designs of one kind show every metric any of them has; designs of different kinds only what all of them share
    (same name and unit).
    """
    if len(items) < 2:
        raise ValueError("a comparison needs two designs")
    inputs = _input_rows(items)
    rows = _metric_rows(items)
    return Comparison(
        items=tuple(items),
        differing=tuple(row for row in inputs if any(row.differs)),
        equal=tuple(row for row in inputs if not any(row.differs)),
        groups=_grouped(rows),
        verdict=_verdict(items, rows=rows),
    )


def difference(baseline: Metric | None, other: Metric | None) -> Delta | None:
    """How a metric differs from the baseline's; None where either has no value."""
    if baseline is None or other is None or baseline.value is None or other.value is None:
        return None
    absolute = other.value - baseline.value
    if not math.isfinite(absolute):
        return None
    if math.isclose(baseline.value, other.value, rel_tol=SAME):
        return Delta(absolute=0.0, relative=0.0, change="same")
    relative = absolute / abs(baseline.value) if baseline.value else None
    if relative is not None and not math.isfinite(relative):
        relative = None
    direction = other.definition.direction
    if direction == "none":
        return Delta(absolute=absolute, relative=relative, change="none")
    is_better = (absolute < 0) == (direction == "lower")
    return Delta(absolute=absolute, relative=relative, change="better" if is_better else "worse")


def lacks(result: Result) -> tuple[Lack, ...]:
    """What keeps a design from being taken: missed objectives, then error findings that are not about those."""
    missed = [metric for metric in result.metrics.values() if metric.met is False]
    told = {metric.definition.name for metric in missed}
    errors = [finding for finding in result.findings if finding.severity == "error" and finding.metric not in told]
    return (*(Lack(metric=metric) for metric in missed), *(Lack(message=finding.message) for finding in errors))


def _input_rows(items: Sequence[Compared]) -> list[InputRow]:
    have = [item.inputs for item in items if not item.is_found]
    shared = [name for name in (have[0] if have else ()) if all(name in inputs for inputs in have)]
    return [_input_row(tuple(item.inputs.get(name) for item in items)) for name in shared]


def _input_row(inputs: tuple[Input | None, ...]) -> InputRow:
    first = next(found for found in inputs if found is not None)
    differs = tuple(other is not None and other.value != first.value for other in inputs)
    return InputRow(name=first.name, label=first.label, group=first.group, inputs=inputs, differs=differs)


def _metric_rows(items: Sequence[Compared]) -> list[MetricRow]:
    definitions: dict[str, MetricDef] = {}
    for item in items:
        for name, metric in item.result.metrics.items():
            definitions.setdefault(name, metric.definition)
    if len({item.kind for item in items}) > 1:
        definitions = {name: found for name, found in definitions.items() if _is_shared(found, items=items)}
    return [_metric_row(definition, items=items) for definition in definitions.values()]


def _is_shared(definition: MetricDef, *, items: Sequence[Compared]) -> bool:
    found = [item.result.metrics.get(definition.name) for item in items]
    return all(metric is not None and metric.definition.unit == definition.unit for metric in found)


def _metric_row(definition: MetricDef, *, items: Sequence[Compared]) -> MetricRow:
    metrics = tuple(item.result.metrics.get(definition.name) for item in items)
    deltas = (None, *(difference(metrics[0], other) for other in metrics[1:]))
    return MetricRow(definition=definition, metrics=metrics, deltas=deltas, best=_best(definition, metrics=metrics))


def _best(definition: MetricDef, *, metrics: Sequence[Metric | None]) -> tuple[int, ...]:
    """Places of the best value; none when there is no direction or nothing to choose between."""
    values = {place: metric.value for place, metric in enumerate(metrics) if metric and metric.value is not None}
    if definition.direction == "none" or len(values) < 2:
        return ()
    best = min(values.values()) if definition.direction == "lower" else max(values.values())
    places = tuple(place for place, value in values.items() if math.isclose(value, best, rel_tol=SAME))
    return () if len(places) == len(values) else places


def _grouped(rows: Sequence[MetricRow]) -> dict[str, tuple[MetricRow, ...]]:
    names = dict.fromkeys(row.definition.group for row in rows)
    return {name: tuple(row for row in rows if row.definition.group == name) for name in names}


def _verdict(items: Sequence[Compared], *, rows: Sequence[MetricRow]) -> Verdict:
    missing = tuple(lacks(item.result) for item in items)
    suitable = tuple(place for place, found in enumerate(missing) if not found)
    cost = _cost_row(items, rows=rows)
    return Verdict(suitable=suitable, best=_cheapest(suitable, cost=cost), cost=cost, lacks=missing)


def _cheapest(places: Sequence[int], *, cost: MetricRow | None) -> int | None:
    if cost is None:
        return None
    priced = {place: metric.value for place in places if (metric := cost.metrics[place]) and metric.value is not None}
    return min(priced, key=lambda place: (priced[place], place)) if priced else None


def _cost_row(items: Sequence[Compared], *, rows: Sequence[MetricRow]) -> MetricRow | None:
    """The price all designs have: the headline if it is one, else the cost the answer names."""
    answer = items[0].result.answer
    by_name = {row.definition.name: row for row in rows}
    for name in (answer.metric, answer.cost_metric):
        row = by_name.get(name or "")
        if row and row.definition.unit.startswith(("USD", "$")) and all(metric is not None for metric in row.metrics):
            return row
    return None

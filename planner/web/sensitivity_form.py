"""What the sensitivity page is asked: a metric, and ends of inputs as people type them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.dials import Dial, dials
from planner.core.sensitivity import usual_span
from planner.designs.estimation import Estimate
from planner.designs.moving import ranges_of
from planner.designs.texts import InvalidField

SIDES = ("low", "high")


@dataclass(frozen=True, slots=True)
class Row:
    """One input: its value, what was typed for its ends, and the ends used where nothing was."""

    name: str
    label: str
    shown: str
    unit: str
    ends: tuple[tuple[str, str, str], ...]
    """Of each side: its name, what was typed, what stands for nothing."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked: ``ranges`` as the API takes them, ``query`` what a link or another form carries on."""

    metric: str
    ranges: Mapping[str, Mapping[str, float]]
    rows: tuple[Row, ...]
    query: Mapping[str, str]

    @property
    def wrong(self) -> list[Row]:
        return [row for row in self.rows if row.error]


def question_of(estimate: Estimate, *, data: Mapping[str, str]) -> Question:
    """Read the address; an input whose ends cannot be used keeps the usual ones and says why."""
    metric = data.get("metric", "")
    metric = metric if metric in estimate.result.metrics else estimate.result.answer.metric
    ranges: dict[str, Mapping[str, float]] = {}
    rows, query = [], {"metric": metric}
    for dial in dials(estimate.spec)[0]:
        if dial.is_choice:
            continue
        typed = {side: data.get(f"{side}-{dial.name}", "").strip() for side in SIDES}
        query |= {f"{side}-{dial.name}": text for side, text in typed.items() if text}
        error = ""
        if any(typed.values()):
            error = _into(ranges, estimate, dial=dial, typed=typed)
        rows.append(_row(dial, typed=typed, error=error))
    return Question(metric, ranges, tuple(rows), query)


def _into(ranges: dict[str, Mapping[str, float]], estimate: Estimate, *, dial: Dial, typed: Mapping[str, str]) -> str:
    """Add the range that was typed; what is wrong with it, if anything is."""
    usual = usual_span(dial)
    ends: dict[str, Any] = {"low": usual.low, "high": usual.high}
    try:
        ends |= {side: quantities.parse(text, dial.unit, dial.shown) for side, text in typed.items() if text}
        ranges_of(estimate, given={dial.name: ends})
    except InvalidField as invalid:
        return invalid.message
    except ValueError as problem:
        return str(problem)
    ranges[dial.name] = ends
    return ""


def _row(dial: Dial, *, typed: Mapping[str, str], error: str) -> Row:
    usual = usual_span(dial)
    used = zip(SIDES, (usual.low, usual.high), strict=True)
    ends = tuple((side, typed[side], _plain(dial, end)) for side, end in used)
    unit = quantities.shown_unit(dial.unit) if not dial.shown else dial.shown
    return Row(dial.name, dial.label, dial.said(dial.value), unit, ends, error)


def _plain(dial: Dial, value: float) -> str:
    """The number as one would type it."""
    unit = dial.shown or quantities.shown_unit(dial.unit)
    return f"{quantities.convert(value, dial.unit, unit):.6g}" if unit != dial.unit else f"{value:.6g}"


def metric_choices(estimate: Estimate) -> list[tuple[str, list[tuple[str, str]]]]:
    """Metrics that have a value, by group."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, metric in estimate.result.metrics.items():
        if metric.value is not None:
            groups.setdefault(metric.definition.group or _("Metrics"), []).append((name, metric.definition.label))
    return list(groups.items())

"""Rows of a sweep's form: a field with its values, a metric with its bound, as typed and as read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from planner.core import quantities
from planner.core.result import Metric
from planner.core.sweep_axes import MOST_FIELDS
from planner.designs.estimation import Estimate
from planner.web.fields import Field, NotRead, choice_key, number_text
from planner.web.sweep_start import first_values
from planner.web.sweep_values import choices_read, values_read, values_text

MOST_LIMITS = 4
SIDES = (("at_most", _("at most")), ("at_least", _("at least")))


@dataclass(frozen=True, slots=True)
class Row:
    """A varied field with its values as typed or picked; without a field, the row to choose one in."""

    place: int
    field: Field | None = None
    text: str = ""
    picked: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    error: str = ""

    @property
    def listed(self) -> bool:
        return self.field is not None and self.field.control != "number"

    @property
    def asked(self) -> dict[str, Any]:
        return {"field": self.field.name if self.field else "", "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A limit beside those of the design; without a metric, the row to choose one in."""

    place: int
    metric: Metric | None = None
    side: str = "at_most"
    shown: str = ""
    text: str = ""
    value: float | None = None
    error: str = ""

    @property
    def unit_text(self) -> str:
        return "/".join({"USD": "$", "bytes": "B"}.get(part, part) for part in self.shown.split("/"))

    @property
    def asked(self) -> dict[str, Any]:
        return {"metric": self.metric.definition.name if self.metric else "", self.side: self.value}


def row_of(place: int, estimate: Estimate, each: Field, *, values: Sequence[Any] | None = None) -> Row:
    """A row with values, else with those to start from."""
    known = tuple(values if values is not None else first_values(estimate, field=each))
    if each.control == "number":
        return Row(place, each, text=values_text(each, values=known), values=known)
    return Row(place, each, picked=tuple("" if one is None else choice_key(one) for one in known), values=known)


def rows_read(estimate: Estimate, fields: Mapping[str, Field], *, data: QueryDict) -> Iterator[Row]:
    place = 0
    for posted in range(MOST_FIELDS):
        each = fields.get(data.get(f"vary-{posted}-field", ""))
        if each is None:
            continue
        if data.get(f"vary-{posted}-shown", each.name) != each.name:
            yield row_of(place, estimate, each)
        else:
            yield _row_read(place, each, typed=data.getlist(f"vary-{posted}-values"))
        place += 1


def _row_read(place: int, each: Field, *, typed: Sequence[str]) -> Row:
    text, picked = (typed[0] if typed else "", ()) if each.control == "number" else ("", tuple(typed))
    row = Row(place, each, text=text, picked=picked)
    try:
        found = values_read(each, typed=text) if each.control == "number" else choices_read(each, picked=picked)
    except NotRead as problem:
        return replace(row, error=str(problem))
    return replace(row, values=tuple(found))


def limits_read(estimate: Estimate, *, data: QueryDict) -> Iterator[LimitRow]:
    place = 0
    for posted in range(MOST_LIMITS):
        metric = estimate.result.metrics.get(data.get(f"limit-{posted}-metric", ""))
        if metric is None:
            continue
        name = metric.definition.name
        if data.get(f"limit-{posted}-shown", name) != name:
            yield limit_of(place, metric, {"metric": name})
        else:
            yield _limit_read(
                place, metric, side=data.get(f"limit-{posted}-side", ""), text=data.get(f"limit-{posted}-value", "")
            )
        place += 1


def limit_of(place: int, metric: Metric, asked: Mapping[str, Any]) -> LimitRow:
    """A limit as asked; without a bound, the present figure."""
    higher = metric.definition.direction == "higher"
    side = next((name for name, _words in SIDES if asked.get(name) is not None), "at_least" if higher else "at_most")
    value = asked.get(side, metric.value if metric.objective is None else metric.objective)
    shown = _unit(metric)
    text = "" if value is None else number_text(float(f"{value:.4g}"), unit=metric.definition.unit, shown=shown)
    return LimitRow(place, metric, side=side, shown=shown, text=text, value=value)


def _limit_read(place: int, metric: Metric, *, side: str, text: str) -> LimitRow:
    row = LimitRow(place, metric, side=side if side in dict(SIDES) else "at_most", shown=_unit(metric), text=text)
    try:
        return replace(row, value=quantities.parse(text, metric.definition.unit, row.shown))
    except ValueError as problem:
        return replace(row, error=str(problem))


def _unit(metric: Metric) -> str:
    """Times as they are shown, ms or s; else the unit of forms."""
    unit = metric.definition.unit
    size = metric.objective if metric.value is None else metric.value
    return quantities.show_parts(abs(size or 1.0), unit)[1] if unit == "s" else quantities.shown_unit(unit)

"""The form of a sweep: up to four fields with their values, what is sought, and limits beside the design's own.

What was typed stays as it was typed; a row whose field has just been chosen gets values to start from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.result import Metric
from planner.core.sweep_axes import MOST_FIELDS, MOST_POINTS, BadSweep
from planner.core.sweep_goal import own_limits, read_goal
from planner.designs.estimation import Estimate
from planner.web.fields import Field, fields_of
from planner.web.forms import with_choices
from planner.web.sweep_rows import MOST_LIMITS, SIDES, LimitRow, Row, limit_of, limits_read, row_of, rows_read
from planner.web.sweep_start import VARIED, first_fields

VERIFY = (0, 1, 2, 3, 5, 8)
VERIFY_AT_FIRST = 3


@dataclass(frozen=True, slots=True)
class SweepForm:
    """The form with what is in it. ``reshaped``: its rows are others than those that were posted."""

    rows: tuple[Row, ...]
    limits: tuple[LimitRow, ...]
    objective: str
    against: str
    verify: int
    errors: Mapping[str, str] = field(default_factory=dict)
    """What is wrong beside the rows, by control."""
    reshaped: bool = False

    @property
    def filled(self) -> list[Row]:
        return [row for row in self.rows if row.field]

    @property
    def ok(self) -> bool:
        wrong = [row.error for row in self.rows] + [row.error for row in self.limits]
        return bool(self.filled) and not self.errors and not any(wrong)

    @property
    def count(self) -> int | None:
        """How many designs it makes; None where a field cannot be read."""
        if not self.filled or any(row.error for row in self.rows):
            return None
        return math.prod(len(row.values) for row in self.filled)

    @property
    def asked(self) -> dict[str, Any]:
        """What the API would be sent."""
        return {
            "vary": [row.asked for row in self.filled],
            "objective": self.objective,
            "against": self.against,
            "constraints": [row.asked for row in self.limits if row.metric],
            "verify": self.verify,
        }

    def failing(self, problem: BadSweep) -> SweepForm:
        """The form with what the sweep refused at its place: ``vary/0/values/2``, ``constraints/1``, ``objective``."""
        head, _slash, rest = problem.field.partition("/")
        place = int(rest.partition("/")[0]) if rest[:1].isdigit() else None
        if head == "vary" and place is not None:
            return replace(self, rows=_marked(self.rows, at=self.filled[place].place, message=problem.message))
        if head == "constraints" and place is not None:
            chosen = [row for row in self.limits if row.metric]
            return replace(self, limits=_marked(self.limits, at=chosen[place].place, message=problem.message))
        return replace(self, errors={**self.errors, head: problem.message})


def form_of(estimate: Estimate, *, asked: Mapping[str, Any] | None = None) -> SweepForm:
    """The form as it opens: with what advice proposes, or with what an earlier sweep was ``asked``."""
    fields = offered(estimate)
    asked = asked or {}
    pairs = [(one["field"], one.get("values")) for one in asked.get("vary") or [] if one["field"] in fields]
    pairs = pairs or [(name, None) for name in first_fields(estimate, fields=fields)]
    rows = [row_of(place, estimate, fields[name], values=values) for place, (name, values) in enumerate(pairs)]
    metrics = estimate.result.metrics
    known = [one for one in asked.get("constraints") or [] if one["metric"] in metrics]
    limits = [limit_of(place, metrics[one["metric"]], one) for place, one in enumerate(known)]
    goal = read_goal(estimate.kind, result=estimate.result)
    return SweepForm(
        rows=_with_blank(rows, most=MOST_FIELDS, blank=Row),
        limits=_with_blank(limits, most=MOST_LIMITS, blank=LimitRow),
        objective=asked.get("objective") or goal.objective.name,
        against=asked.get("against", goal.against.name if goal.against else ""),
        verify=asked.get("verify", VERIFY_AT_FIRST if estimate.kind.simulator else 0),
    )


def form_read(estimate: Estimate, *, data: QueryDict) -> SweepForm:
    """The form as it was posted."""
    fields = offered(estimate)
    rows, limits = list(rows_read(estimate, fields, data=data)), list(limits_read(estimate, data=data))
    posted = (
        [data.get(f"vary-{place}-shown") for place in range(MOST_FIELDS)],
        [data.get(f"limit-{place}-shown") for place in range(MOST_LIMITS)],
    )
    form = SweepForm(
        rows=_with_blank(_twice(rows), most=MOST_FIELDS, blank=Row),
        limits=_with_blank(limits, most=MOST_LIMITS, blank=LimitRow),
        objective=data.get("objective", ""),
        against=data.get("against", ""),
        verify=_verify(data.get("verify", "")),
    )
    form = replace(form, reshaped=posted != _shape(form))
    if not rows:
        form = replace(form, errors={"vary": _("Choose at least one field to vary.")})
    elif (form.count or 0) > MOST_POINTS:
        said = {"count": f"{form.count:,}", "most": f"{MOST_POINTS:,}"}
        form = replace(form, errors={"vary": _("%(count)s designs are too many: at most %(most)s.") % said})
    return _sought(form, estimate=estimate)


def offered(estimate: Estimate) -> dict[str, Field]:
    """The fields that can be varied, by name, entries with their choices."""
    found = [each for each in fields_of(estimate.kind) if each.control in VARIED and each.table != "workloads"]
    return {each.name: with_choices(each, catalog=estimate.catalog, team=None) for each in found}


def metrics_offered(estimate: Estimate) -> dict[str, list[Metric]]:
    """Metrics that are better high or low, by group."""
    groups: dict[str, list[Metric]] = {}
    for metric in estimate.result.metrics.values():
        if metric.definition.direction != "none":
            groups.setdefault(metric.definition.group, []).append(metric)
    return groups


def own_words(estimate: Estimate) -> list[dict[str, Any]]:
    """The objectives of the design itself, in words; a verdict, which has no unit, holds."""
    sides = dict(SIDES)
    return [
        {
            "label": one.metric.label,
            "words": f"{sides['at_most' if one.at_least is None else 'at_least']} "
            f"{quantities.show(one.bound, one.metric.unit)}"
            if one.metric.unit
            else _("holds"),
        }
        for one in own_limits(estimate.result)
    ]


def _sought(form: SweepForm, *, estimate: Estimate) -> SweepForm:
    try:
        constraints = [row.asked for row in form.limits if row.metric and row.value is not None]
        read_goal(
            estimate.kind,
            result=estimate.result,
            objective=form.objective,
            against=form.against,
            constraints=constraints,
        )
    except BadSweep as problem:
        return form.failing(problem) if problem.field in ("objective", "against") else form
    return form


def _twice(rows: Sequence[Row]) -> list[Row]:
    """A field is varied once."""
    seen: set[str] = set()
    found = []
    for row in rows:
        name = row.field.name if row.field else ""
        found.append(replace(row, error=_("This field is varied already.")) if name in seen else row)
        seen.add(name)
    return found


def _with_blank(rows: Sequence[Any], *, most: int, blank: Any) -> tuple[Any, ...]:
    return (*rows, blank(len(rows))) if len(rows) < most else tuple(rows[:most])


def _marked(rows: Sequence[Any], *, at: int, message: str) -> tuple[Any, ...]:
    return tuple(replace(row, error=message) if row.place == at else row for row in rows)


def _shape(form: SweepForm) -> tuple[list[str | None], list[str | None]]:
    """What is shown in each row, as the form posts it back."""
    vary = [row.field.name if row.field else "" for row in form.rows]
    limits = [row.metric.definition.name if row.metric else "" for row in form.limits]
    return ([*vary, *[None] * (MOST_FIELDS - len(vary))], [*limits, *[None] * (MOST_LIMITS - len(limits))])


def _verify(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and int(text) in VERIFY else 0

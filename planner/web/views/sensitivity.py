"""Sensitivity of a saved design: what moves a figure, what would change the decision, how far the figure may be off."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from planner.core.uncertainty import DRAWS
from planner.designs import sensitivity as sensitivities
from planner.designs.estimation import CANNOT_ANSWER, Estimate
from planner.designs.models import Design
from planner.designs.sensitivity_charts import claim, contributions_chart, distribution_chart, tornado_chart
from planner.designs.sensitivity_tables import of_sensitivity
from planner.designs.texts import InvalidField
from planner.jobs import selectors, uncertainties
from planner.jobs.models import Job, Purpose
from planner.reports.sheets import rows_csv
from planner.web.deciding import around, subject
from planner.web.security import TeamRequest, editor_required, member_required
from planner.web.sensitivity_form import Question, metric_choices, question_of
from planner.web.views.jobs import progress_of

MOST_FLIPS = 12


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def sensitivity(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The tornado at once; what would change the decision is asked for by the page, or by its link without a script."""
    design, estimate = subject(request, design_id)
    asked = question_of(estimate, data=request.GET.dict())
    context = around(request, design, page="design-sensitivity") | {
        "kind": estimate.kind,
        "asked": asked,
        "metrics": metric_choices(estimate),
        "carried": urlencode(asked.query),
    }
    if request.htmx.target == "uncertainty":
        return render(request, "designs/sensitivity.html#uncertainty", context | _drawn(request, design, asked=asked))
    if request.htmx.target == "flips":
        return render(request, "designs/sensitivity.html#flips", context | _flips(request, estimate))
    found = sensitivities.moved(estimate, metric=asked.metric, ranges=asked.ranges)
    context |= {
        "found": found,
        "tornado": tornado_chart(found),
        "sentence": claim(found),
        "lost": [bar for bar in found["tornado"] if any(end["figure"] is None for end in bar["ends"])],
        **_drawn(request, design, asked=asked),
        **(_flips(request, estimate) if "flips" in request.GET else {"flips": None}),
    }
    part = "#moved" if request.htmx.target == "sensitivity" else ""
    return render(request, f"designs/sensitivity.html{part}", context)


@require_POST
@editor_required
def draw(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Start the draws and come back to the page, which follows them."""
    design, estimate = subject(request, design_id)
    asked = question_of(estimate, data=request.POST.dict())
    here = f"{reverse('web:design-sensitivity', args=[design.id])}?{urlencode(asked.query)}#uncertainty"
    try:
        uncertainties.uncertainty_start(
            team=request.team,
            user=request.user,
            kind=design.kind,
            spec=design.spec,
            design=design,
            metric=asked.metric,
            ranges=asked.ranges,
        )
    except InvalidField as invalid:
        messages.error(request, f"{invalid.field}: {invalid.message}")
    except CANNOT_ANSWER as problem:
        messages.error(request, str(problem))
    return redirect(here)


@require_safe
@member_required
def sensitivity_csv(request: TeamRequest, design_id: UUID, table: str) -> HttpResponse:
    """The bars, or what would change the decision, a row each."""
    _design, estimate = subject(request, design_id)
    if table == "flips":
        found = sensitivities.turning_points(estimate)
    else:
        asked = question_of(estimate, data=request.GET.dict())
        found = sensitivities.moved(estimate, metric=asked.metric, ranges=asked.ranges)
    headers = {"Content-Disposition": f'attachment; filename="{table}.csv"'}
    content = rows_csv(of_sensitivity(found)[table])
    return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _flips(request: TeamRequest, estimate: Estimate) -> dict[str, Any]:
    found = sensitivities.turning_points(estimate)
    every = "all" in request.GET
    return {"flips": found, "told": found["flips"] if every else found["flips"][:MOST_FLIPS], "every": every}


def _drawn(request: TeamRequest, design: Design, *, asked: Question) -> dict[str, Any]:
    """The latest draws of this metric on these inputs and ranges, under way or done."""
    job = _latest(request, design, asked=asked)
    done = job.result if job is not None else None
    charts = [distribution_chart(done), contributions_chart(done)] if done else []
    return {
        "draws": DRAWS,
        "job": job,
        "row": selectors.job_row(job) if job else None,
        "progress": progress_of(selectors.job_row(job)) if job else "",
        "drawn": done,
        "drawn_charts": [chart for chart in charts if chart is not None],
    }


def _latest(request: TeamRequest, design: Design, *, asked: Question) -> Job | None:
    rows = selectors.jobs(request.team, purpose=Purpose.SENSITIVITY, design=design)
    wanted = {"metric": asked.metric, "ranges": dict(asked.ranges)}
    for row in rows.filter(design_revision=design.revision)[:20]:
        if all(row.request.get(name) == value for name, value in wanted.items()):
            return selectors.job(request.team, row.id)
    return None

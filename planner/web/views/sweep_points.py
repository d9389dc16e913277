"""What one does with the points of a sweep: open one as a design, compare a few, take all as a file."""

from __future__ import annotations

import json
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from planner import kinds
from planner.designs import services as designs
from planner.designs.estimation import CANNOT_ANSWER, parse_spec
from planner.designs.sharing import MOST_COMPARED
from planner.designs.texts import InvalidField
from planner.jobs import selectors
from planner.jobs.models import Job, Purpose
from planner.web import sweep_run
from planner.web.security import TeamRequest, editor_required, member_required


@require_safe
@member_required
def sweep_open(request: TeamRequest, job_id: UUID, place: int) -> HttpResponse:
    """A point in the editor: the base with its change, not saved; the answer there names what changed."""
    job = sweep_job(request, job_id)
    spec = sweep_run.spec_of(job, place=place)
    if spec is None:
        raise Http404
    design = job.design if job.design and not job.design.deleted_at else None
    kind = kinds.get(job.kind)
    start = design.spec if design else parse_spec(kind, spec={}).model_dump(mode="json")
    change = {name: value for name, value in spec.items() if start.get(name) != value}
    url = reverse("web:design", args=[design.id]) if design else reverse("web:new-kind", args=[kind.slug])
    return redirect(f"{url}?{urlencode({'set': json.dumps(change)})}" if change else url)


@require_POST
@editor_required
def sweep_compare(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """Points side by side; one alone is held against the present design."""
    job = sweep_job(request, job_id)
    places = [int(text) for text in dict.fromkeys(request.POST.getlist("place")) if text.isascii() and text.isdigit()]
    items = [
        {"kind": job.kind, "spec": spec, "name": sweep_run.name_of(job, place=place, team=request.team)}
        for place in places[: MOST_COMPARED + 1]
        if (spec := sweep_run.spec_of(job, place=place)) is not None
    ]
    if len(items) == 1 and job.design and not job.design.deleted_at:
        items.insert(0, {"design": str(job.design_id)})
    try:
        made = designs.comparison_create(
            team=request.team, user=request.user, items=items, name=sweep_run.heading(job)[:160]
        )
    except (InvalidField, *CANNOT_ANSWER) as problem:
        messages.error(request, getattr(problem, "message", "") or str(problem))
        return redirect(f"{sweep_run.url_of(job)}#points")
    return redirect("web:comparison", made.id)


@require_safe
@member_required
def sweep_points(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """All points as CSV: every digit, whatever the page shows of them."""
    from planner.reports.build import sweep_csv

    job = sweep_job(request, job_id)
    result = sweep_run.result_of(job)
    if result is None:
        raise Http404
    response = HttpResponse(sweep_csv(result), content_type="text/csv; charset=utf-8")
    name = f"sweep-{str(job_id)[:8]}.csv"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or ""
    return response


def sweep_job(request: TeamRequest, job_id: UUID) -> Job:
    try:
        job = selectors.job(request.team, job_id)
    except Job.DoesNotExist:
        raise Http404 from None
    if job.purpose != Purpose.SWEEP:
        raise Http404
    return job

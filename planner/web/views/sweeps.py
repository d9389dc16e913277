"""Sweeps of a saved design: the form, and the run that is followed until it has ended."""

from __future__ import annotations

from time import perf_counter
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from planner import kinds
from planner.accounts.selectors import allows
from planner.core.quantities import show
from planner.core.sweep_axes import BadSweep
from planner.designs.estimation import CANNOT_ANSWER, Estimate
from planner.designs.models import Design
from planner.designs.texts import InvalidField
from planner.jobs import selectors, services, sweeps
from planner.jobs.models import Job, Purpose
from planner.web import sweep_run
from planner.web.deciding import around, subject
from planner.web.security import TeamRequest, editor_required, member_required
from planner.web.sweep_form import VERIFY, SweepForm, form_of, form_read, metrics_offered, offered, own_words
from planner.web.sweep_rows import SIDES
from planner.web.views.sweep_points import sweep_job

SHOWN_EARLIER = 12
MANY_PER_S = 20_000
"""Points a second where a kind works out many at once."""


@require_http_methods(["GET", "HEAD", "POST"])
@member_required
def sweep(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The form with the last sweep of the design beside it; POST starts one."""
    design, estimate = subject(request, design_id)
    if request.method == "POST":
        return _start(request, design=design, estimate=estimate)
    last = _runs(request, design).first()
    return _page(request, design=design, estimate=estimate, job=selectors.job(request.team, last.id) if last else None)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def sweep_of(request: TeamRequest, design_id: UUID, job_id: UUID) -> HttpResponse:
    """One sweep of the design, the form filled with what it was asked."""
    design, estimate = subject(request, design_id)
    job = sweep_job(request, job_id)
    if job.design_id != design.id:
        raise Http404
    return _fragment(request, job=job, design=design) or _page(request, design=design, estimate=estimate, job=job)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def sweep_alone(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """A sweep that no saved design was asked for."""
    job = sweep_job(request, job_id)
    if (url := sweep_run.url_of(job)) != request.path:
        return redirect(url)
    context = _run_context(request, job=job, design=None)
    return _fragment(request, job=job, design=None) or render(request, "sweeps/alone.html", context)


@never_cache
@require_POST
@member_required
def sweep_count(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """How many designs the form makes, and what is wrong with it: fragments beside what is being typed."""
    design, estimate = subject(request, design_id)
    form = form_read(estimate, data=request.POST)
    context = _form_context(request, design=design, estimate=estimate, form=form)
    return render(request, "sweeps/form.html#live", context)


@require_POST
@editor_required
def sweep_cancel(request: TeamRequest, job_id: UUID) -> HttpResponse:
    job = sweep_job(request, job_id)
    services.job_cancel(job=job, user=request.user)
    return redirect(sweep_run.url_of(job))


@require_POST
@editor_required
def sweep_again(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """The same sweep of the design as it is now."""
    job = sweep_job(request, job_id)
    if job.design is None:
        raise Http404
    asked = {name: job.request[name] for name in ("objective", "against", "constraints", "verify", "preset")}
    vary = [] if job.request["preset"] else job.request["vary"]
    try:
        again = sweeps.sweep_start(
            team=request.team,
            user=request.user,
            kind=job.design.kind,
            spec=job.design.spec,
            design=job.design,
            vary=vary,
            **asked,
        )
    except (InvalidField, *CANNOT_ANSWER) as problem:
        messages.error(request, str(problem))
        return redirect(sweep_run.url_of(job))
    return redirect(sweep_run.url_of(again))


def _start(request: TeamRequest, *, design: Design, estimate: Estimate) -> HttpResponse:
    if not allows(request.role, "editor"):
        raise PermissionDenied(
            _("You may look at sweeps of this team, not start them. An admin can make you an editor.")
        )
    form = form_read(estimate, data=request.POST)
    preset = request.POST.get("preset", "")
    if preset:
        asked = {"preset": preset, "constraints": form.asked["constraints"]}
    elif form.ok:
        asked = form.asked
    else:
        return _page(request, design=design, estimate=estimate, form=form, status=422)
    try:
        job = sweeps.sweep_start(
            team=request.team, user=request.user, kind=design.kind, spec=design.spec, design=design, **asked
        )
    except InvalidField as invalid:
        form = form.failing(BadSweep(field=invalid.field, message=invalid.message))
        return _page(request, design=design, estimate=estimate, form=form, status=422)
    except CANNOT_ANSWER as problem:
        return _page(request, design=design, estimate=estimate, form=form, status=409, problem=str(problem))
    return redirect("web:design-sweep-run", design.id, job.id)


def _page(
    request: TeamRequest,
    *,
    design: Design,
    estimate: Estimate,
    job: Job | None = None,
    form: SweepForm | None = None,
    status: int = 200,
    problem: str = "",
) -> HttpResponse:
    form = form or form_of(estimate, asked=job.request if job else None)
    context = _form_context(request, design=design, estimate=estimate, form=form)
    if job:
        context |= _run_context(request, job=job, design=design)
    context |= {"problem": problem, "earlier": _earlier(request, design=design, current=job)}
    return render(request, "sweeps/sweep.html", context, status=status)


def _fragment(request: TeamRequest, *, job: Job, design: Design | None) -> HttpResponse | None:
    """The part that htmx asked for: the run while it is followed, or the table under a filter."""
    part = {"sweep-run": "sweeps/run.html#run", "points": "sweeps/points.html#points"}.get(request.htmx.target or "")
    if request.htmx.target == "sweep-checks":
        context = _run_context(request, job=job, design=design)
        if context["run"]["checking"]:
            return render(request, "sweeps/run.html#checks", context)
        response = render(request, "sweeps/run.html#run", context)
        response["HX-Retarget"] = "#sweep-run"
        return response
    if part is None:
        return None
    context = _run_context(request, job=job, design=design)
    if design and part.endswith("#run"):
        context["earlier"] = _earlier(request, design=design, current=job)
    return render(request, part, context)


def _run_context(request: TeamRequest, *, job: Job, design: Design | None) -> dict[str, Any]:
    context = sweep_run.run_context(job, team=request.team, design=design, data=request.GET)
    return {**context, "editable": allows(request.role, "editor")}


def _form_context(request: TeamRequest, *, design: Design, estimate: Estimate, form: SweepForm) -> dict[str, Any]:
    groups: dict[str, list[Any]] = {}
    for each in offered(estimate).values():
        groups.setdefault(each.group, []).append(each)
    return {
        **around(request, design, page="design-sweep"),
        "title": _("Sweep: %(name)s") % {"name": design.name},
        "heading": _("Sweep"),
        "form": form,
        "oob": bool(request.htmx),
        "field_groups": list(groups.items()),
        "metric_groups": list(metrics_offered(estimate).items()),
        "own": own_words(estimate),
        "sides": SIDES,
        "verify_choices": VERIFY,
        "can_verify": estimate.kind.simulator is not None,
        "has_search": kinds.planning(design.kind).search is not None,
        "count_words": _count_words(estimate, form=form),
    }


def _count_words(estimate: Estimate, *, form: SweepForm) -> str:
    """ "144 designs, under 1 s": as long as one takes, measured now, where a kind has no quicker way for many."""
    if form.count is None:
        return _("cannot be counted yet")
    said = ngettext("%(n)s design", "%(n)s designs", form.count) % {"n": f"{form.count:,}"}
    seconds = form.count / MANY_PER_S
    if kinds.planning(estimate.kind.slug).batch is None:
        begun = perf_counter()
        estimate.kind.estimate(estimate.spec, estimate.catalog)
        seconds = form.count * (perf_counter() - begun)
    about = _("under 1 s") if seconds < 1 else _("about %(time)s") % {"time": show(float(f"{seconds:.1g}"), "s")}
    return f"{said}, {about}"


def _earlier(request: TeamRequest, *, design: Design, current: Job | None) -> list[dict[str, Any]]:
    rows = _runs(request, design)[:SHOWN_EARLIER]
    shown = current.id if current else None
    return [{**sweep_run.run_row(job, design=design), "current": job.id == shown} for job in rows]


def _runs(request: TeamRequest, design: Design) -> QuerySet[Job]:
    return selectors.jobs(request.team, purpose=Purpose.SWEEP, design=design)

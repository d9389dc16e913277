"""What one does with a design: simulate it, share it, print it, keep its workload."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from planner.catalog.services import ImportProblem
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.designs import services
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.models import Design
from planner.designs.services import InvalidField
from planner.jobs import drills
from planner.jobs import services as jobs
from planner.web import run_form, share_links, workload_source
from planner.web.deciding import design_of
from planner.web.editing import Draft, draft_read, origin_of
from planner.web.security import TeamRequest, editor_required
from planner.web.views.editor import page


@require_POST
@editor_required
def simulate(request: TeamRequest, kind: str) -> HttpResponse:
    """Simulate the form as it stands, saved or not, and go to the job."""
    draft = _posted(request, kind)
    if not draft.answered:
        return page(request, draft=draft)
    simulator = draft.origin.kind.simulator
    try:
        job = jobs.simulation_start(
            team=request.team,
            user=request.user,
            kind=kind,
            spec=draft.form.spec,
            design=None if draft.dirty else draft.origin.design,
            **run_form.read(request.POST, simulator=simulator),
        )
    except InvalidField as invalid:
        problem = run_form.refusal(invalid, simulator=simulator)
        return page(request, draft=draft, status=422, problem=problem, run_failed=True)
    except (MissingFigure, UnknownEntry) as missing:
        return page(request, draft=draft, status=409, problem=str(missing), run_failed=True)
    return redirect("web:job", job.id)


@require_POST
@editor_required
def drill(request: TeamRequest, kind: str) -> HttpResponse:
    """Play a drill on the form as it stands, saved or not, and go to its page."""
    draft = _posted(request, kind)
    if not draft.answered:
        return page(request, draft=draft)
    try:
        started = drills.drill_start(
            team=request.team,
            user=request.user,
            kind=kind,
            spec=draft.form.spec,
            name=request.POST.get("drill", ""),
            design=None if draft.dirty else draft.origin.design,
        )
    except InvalidField as invalid:
        return page(request, draft=draft, status=422, problem=f"{invalid.field}: {invalid.message}")
    except CANNOT_ANSWER as problem:
        return page(request, draft=draft, status=409, problem=str(problem))
    return redirect("web:drill", started.comparison_id)


@require_POST
@editor_required
def share(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """A link to the design as it is saved now."""
    design = design_of(request, design_id)
    try:
        expires_at = share_links.expiry_read(request)
        made = services.share_create(team=request.team, user=request.user, design=design, expires_at=expires_at)
    except InvalidField as invalid:
        messages.error(request, invalid.message)
        return redirect(_at_shares(design))
    except CANNOT_ANSWER as problem:
        messages.error(request, _("A design without an answer cannot be shared: %(problem)s") % {"problem": problem})
        return redirect("web:design", design.id)
    link = share_links.address_of(request, made)
    messages.success(
        request, _("Anyone with this link sees r%(number)d: %(link)s") % {"number": design.revision, "link": link}
    )
    return redirect(_at_shares(design))


@require_POST
@editor_required
def share_revoke(request: TeamRequest, design_id: UUID, share_id: UUID) -> HttpResponse:
    design = design_of(request, design_id)
    share_links.revoke(request, share_id, design=design)
    messages.success(request, _("The link no longer opens."))
    return redirect(_at_shares(design))


@require_POST
@editor_required
def report(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Make the PDF of the saved design; a job, which is done at once where nothing has changed."""
    design = design_of(request, design_id)
    try:
        job = jobs.report_start(
            team=request.team, user=request.user, design=design, paper=request.POST.get("paper", "a4")
        )
    except InvalidField as invalid:
        messages.error(request, invalid.message)
        return redirect("web:design", design.id)
    return redirect("web:job", job.id)


@require_POST
@editor_required
def keep_workload(request: TeamRequest, kind: str) -> HttpResponse:
    """Keep the workload of the form as a profile that other designs can start from."""
    draft = _posted(request, kind)
    if not draft.form.ok:
        return page(request, draft=draft)
    name = request.POST.get("profile_name", "")
    try:
        row = workload_source.keep(
            draft.origin.kind, spec=draft.form.spec, name=name, team=request.team, user_id=request.user.pk
        )
    except ImportProblem as problem:
        return page(request, draft=draft, status=422, problem=_("Workload profile: %(why)s") % {"why": problem})
    said = _("Workload “%(name)s” is kept; designs with these inputs can start from it.") % {"name": row.name}
    return page(request, draft=draft, said=said)


def _posted(request: TeamRequest, kind: str) -> Draft:
    origin = origin_of(
        kind, team=request.team, design_id=request.POST.get("design", ""), example=request.POST.get("example", "")
    )
    return draft_read(origin, data=request.POST)


def _at_shares(design: Design) -> str:
    return f"{reverse('web:design', args=[design.id])}#share"

"""Fleet plans: designs joined to one fleet, with one bill and one list of findings."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from pydantic import ValidationError

from planner import kinds
from planner.accounts.selectors import allows
from planner.charts.table import inert
from planner.core.quantities import full
from planner.designs import plans as services
from planner.designs import selectors
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.models import FleetPlan
from planner.designs.plan_body import MOST
from planner.designs.plan_view import plan_view
from planner.designs.texts import InvalidField
from planner.web.plan_form import body_of, form_of
from planner.web.security import TeamRequest, editor_required, member_required


@require_safe
@member_required
def plans(request: TeamRequest) -> HttpResponse:
    """The team's plans, the worked ones, and designs to join."""
    context = {
        "plans": selectors.plans(request.team)[:100],
        "examples": kinds.example_plans(),
        "designs": selectors.designs(request.team)[:100],
        "kinds": {kind.slug: kind.label for kind in kinds.all_kinds().values()},
        "most": MOST,
        "editable": allows(request.role, "editor"),
    }
    return render(request, "plans/plans.html", context)


@require_POST
@editor_required
def plan_new(request: TeamRequest) -> HttpResponse:
    """A plan of the chosen designs with every join there can be, or a worked one."""
    wanted = request.POST.get("example", "")
    try:
        if wanted:
            example = next((plan for plan in kinds.example_plans() if plan.slug == wanted), None)
            if example is None:
                raise Http404
            saved = services.example_open(example, team=request.team, user=request.user)
        else:
            saved = services.plan_of(
                request.POST.getlist("d"), name=request.POST.get("name", ""), team=request.team, user=request.user
            )
    except InvalidField as invalid:
        messages.error(request, invalid.message)
        return redirect("web:plans")
    return redirect("web:plan", saved.id)


@require_safe
@member_required
def plan(request: TeamRequest, plan_id: UUID) -> HttpResponse:
    """A plan with today's catalog and its designs as they are now."""
    return _page(request, _plan(request, plan_id))


@require_POST
@editor_required
def plan_save(request: TeamRequest, plan_id: UUID) -> HttpResponse:
    """Save members, joins and night as the form says them."""
    saved = _plan(request, plan_id)
    name, body = request.POST.get("name", ""), body_of(request.POST)
    try:
        services.plan_update(plan=saved, user=request.user, name=name, body=body)
    except InvalidField as invalid:
        return _page(request, _plan(request, plan_id), problem=invalid.message, status=422)
    except ValidationError:
        return _page(request, _plan(request, plan_id), problem=_("A member's inputs are no longer valid."), status=422)
    return redirect("web:plan", saved.id)


@require_POST
@editor_required
def plan_delete(request: TeamRequest, plan_id: UUID) -> HttpResponse:
    saved = _plan(request, plan_id)
    services.plan_delete(plan=saved, user=request.user)
    messages.success(request, _("Deleted: %(name)s. Its designs stay.") % {"name": saved.name})
    return redirect("web:plans")


@require_safe
@member_required
def plan_export(request: TeamRequest, plan_id: UUID) -> HttpResponse:
    """The lines of the bill as CSV."""
    saved = _plan(request, plan_id)
    try:
        view = plan_view(saved.body, team=request.team)
    except (InvalidField, *CANNOT_ANSWER):
        raise Http404 from None
    response = HttpResponse(_csv(view), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename="plan.csv") or ""
    return response


def _csv(view: Mapping[str, Any]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(("member", "name", "label", "usd_per_h"))
    for part in view["total"]["parts"]:
        texts = (inert(part["member"]), part["name"], inert(part["label"]))
        writer.writerow((*texts, "" if part["usd_per_h"] is None else full(part["usd_per_h"])))
    writer.writerow(("total", "", "", "" if view["total"]["usd_per_h"] is None else full(view["total"]["usd_per_h"])))
    return written.getvalue()


def _page(request: TeamRequest, saved: FleetPlan, *, problem: str = "", status: int = 200) -> HttpResponse:
    view: dict[str, Any] | None = None
    try:
        view = plan_view(saved.body, team=request.team)
    except InvalidField as invalid:
        problem = problem or invalid.message
    except CANNOT_ANSWER as error:
        problem = problem or _("A member has no answer: %(reason)s") % {"reason": error}
    context = {
        "plan": saved,
        "view": view,
        "form": form_of(saved, team=request.team),
        "problem": problem,
        "editable": allows(request.role, "editor"),
        "told": [row for row in view["findings"] if row["severity"] != "info" or not row["member"]] if view else [],
        "notes": [row for row in view["findings"] if row["severity"] == "info" and row["member"]] if view else [],
    }
    return render(request, "plans/plan.html", context, status=status)


def _plan(request: TeamRequest, plan_id: UUID) -> FleetPlan:
    try:
        return selectors.plan(request.team, plan_id)
    except FleetPlan.DoesNotExist:
        raise Http404 from None

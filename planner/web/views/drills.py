"""A drill: what happens to a design and a sturdier one, side by side; the page follows the runs until they end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from pydantic import ValidationError

from planner.accounts.selectors import allows
from planner.designs import selectors
from planner.designs.compare import differing_inputs
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.models import Drill
from planner.designs.texts import InvalidField
from planner.jobs import drills
from planner.jobs.drilled import drill_view
from planner.jobs.models import State
from planner.web import share_links
from planner.web.security import TeamRequest, editor_required, member_required
from planner.web.views.jobs import progress_of


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def drill(request: TeamRequest, drill_id: UUID) -> HttpResponse:
    """The answer with what shows it; until the runs have ended, how far each of them is."""
    found = _drill(request, drill_id)
    view = drill_view(found)
    context = {
        "drill": found,
        "view": view,
        "runs": [_run(run) for run in view["runs"]],
        "inputs": differing_inputs(found.comparison),
        "editable": allows(request.role, "editor"),
        "shares": share_links.share_rows(request, comparison=found.comparison),
        "share_days": share_links.SHARE_DAYS,
        "failed": view["state"] in (State.FAILED, State.CANCELLED),
        "title": f"{view['percent']} % · {view['title']}" if view["is_active"] else view["title"],
    }
    return render(request, "drills/drill.html#live" if request.htmx.target == "drill" else "drills/drill.html", context)


@require_POST
@editor_required
def drill_again(request: TeamRequest, drill_id: UUID) -> HttpResponse:
    """Run again what failed or was cancelled."""
    found = _drill(request, drill_id)
    try:
        found = drills.drill_again(drill=found, user=request.user)
    except InvalidField as invalid:
        messages.error(request, f"{invalid.field}: {invalid.message}")
    except ValidationError:
        messages.error(request, _("Its inputs no longer fit this version of the planner."))
    except CANNOT_ANSWER as problem:
        messages.error(request, str(problem))
    return redirect("web:drill", found.comparison_id)


@require_safe
@member_required
def drill_export(request: TeamRequest, drill_id: UUID) -> HttpResponse:
    """What the runs have found, as CSV; only the names of the columns until all are done."""
    from planner.reports.build import drill_csv

    view = drill_view(_drill(request, drill_id))
    response = HttpResponse(drill_csv(view), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename="drill.csv") or ""
    return response


def _drill(request: TeamRequest, drill_id: UUID) -> Drill:
    try:
        return selectors.drill(request.team, drill_id)
    except Drill.DoesNotExist:
        raise Http404 from None


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with where it stands, in words."""
    job = run["job"]
    return {**run, "state_words": State(job["state"]).label if job else "", "progress": progress_of(job) if job else ""}

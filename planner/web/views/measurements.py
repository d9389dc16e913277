"""Result files of load generators, taken in and forgotten again where comparisons are made."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from planner.catalog.importers import ImportProblem
from planner.designs.equal import AS_IS
from planner.designs.measurements import measurement, measurement_delete, measurement_import
from planner.designs.models import Measurement
from planner.designs.sharing import MOST_COMPARED
from planner.designs.texts import InvalidField
from planner.web.comparing import address, chooser, items_of, marked
from planner.web.security import TeamRequest, editor_required


@require_POST
@editor_required
def measurement_add(request: TeamRequest) -> HttpResponse:
    """Take a result file; back to where things are chosen, with its runs ticked."""
    chosen = items_of(request.POST.getlist("d"))
    file = request.FILES.get("file")
    if file is None or (file.size or 0) > settings.UPLOAD_MAX_BYTES:
        return chooser(request, chosen=chosen, problem=_("Choose a result file that is not too large."), status=422)
    try:
        rows = measurement_import(
            team=request.team,
            user=request.user,
            data=file.read(),
            filename=file.name or "",
            name=request.POST.get("name", ""),
        )
    except (ImportProblem, InvalidField) as problem:
        return chooser(request, chosen=chosen, problem=_refused(problem), status=422)
    messages.success(request, _("Kept: %(names)s.") % {"names": ", ".join(row.name for row in rows[:3])})
    marks = [marked(item) for item in chosen] + [f"m-{row.id}" for row in rows]
    return redirect(address(marks[:MOST_COMPARED], mode=AS_IS))


@require_POST
@editor_required
def measurement_remove(request: TeamRequest, measurement_id: UUID) -> HttpResponse:
    try:
        row = measurement(request.team, measurement_id)
    except Measurement.DoesNotExist:
        raise Http404 from None
    measurement_delete(measurement=row, user=request.user)
    messages.success(request, _("Deleted: %(name)s. Kept comparisons hold its figures.") % {"name": row.name})
    return redirect("web:compare")


def _refused(problem: Exception) -> str:
    return _("The file cannot be read: %(reason)s.") % {"reason": str(problem).rstrip(".")}

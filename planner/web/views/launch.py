"""What starts a design: its commands, its manifests to take away, and where each setting comes from."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from planner import kinds
from planner.core.launch import UnknownTarget
from planner.designs import launches
from planner.designs.models import Design
from planner.web import deciding
from planner.web.launch_rows import setting_groups
from planner.web.security import TeamRequest, member_required


@require_safe
@member_required
def launch(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The page; a setting that would not fit stands on top of it, with what to change."""
    design, found = _found(request, design_id)
    groups = setting_groups(found["settings"])
    context = {
        **deciding.around(request, design, page="design-launch"),
        "launch": found,
        "kind": kinds.get(design.kind),
        "groups": groups,
        "count": sum(len(group["rows"]) for group in groups),
        "label": next(each["label"] for each in found["targets"] if each["slug"] == found["target"]),
    }
    return render(request, "designs/launch.html", context)


@require_safe
@member_required
def manifest(request: TeamRequest, design_id: UUID, filename: str) -> HttpResponse:
    """One manifest as a file."""
    _design, found = _found(request, design_id)
    chosen = next((each for each in found["manifests"] if each["filename"] == filename), None)
    if chosen is None:
        raise Http404
    response = HttpResponse(chosen["text"], content_type=f"{chosen['media_type']}; charset=utf-8")
    disposition = content_disposition_header(as_attachment=True, filename=filename)
    response["Content-Disposition"] = disposition or "attachment"
    return response


def _found(request: TeamRequest, design_id: UUID) -> tuple[Design, dict[str, Any]]:
    design, answered = deciding.subject(request, design_id)
    try:
        found = launches.launch(answered, target=request.GET.get("target", ""))
    except UnknownTarget:
        raise Http404 from None
    if found is None:
        raise Http404
    return design, found

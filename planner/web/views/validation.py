"""Validation: what stands behind the figures today, said plainly."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.kinds import all_kinds
from planner.web.security import TeamRequest, member_required


@require_safe
@member_required
def validation(request: TeamRequest) -> HttpResponse:
    return render(request, "validation/validation.html", {"kinds": list(all_kinds().values())})

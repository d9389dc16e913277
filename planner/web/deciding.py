"""Pages that turn a saved design into a decision: which there are, and what each of them shows around its content."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy

from planner.accounts.selectors import allows
from planner.designs import estimation, selectors
from planner.designs.estimation import Estimate
from planner.designs.models import Design
from planner.web.security import TeamRequest

# Name of the route, label.
PAGES = (
    ("design", gettext_lazy("Design")),
    ("design-sweep", gettext_lazy("Sweep")),
    ("design-money", gettext_lazy("Money")),
    ("design-reliability", gettext_lazy("Reliability")),
    ("design-sensitivity", gettext_lazy("Sensitivity")),
    ("design-launch", gettext_lazy("Launch")),
)


def design_of(request: TeamRequest, design_id: UUID, *, deleted: bool = False) -> Design:
    """The team's design; a stranger's is not there."""
    try:
        return selectors.design(request.team, design_id, deleted=deleted)
    except Design.DoesNotExist:
        raise Http404 from None


def subject(request: TeamRequest, design_id: UUID) -> tuple[Design, Estimate]:
    """The team's design, answered; one that has no answer any more is not there: its editor says why."""
    design = design_of(request, design_id)
    try:
        return design, estimation.estimate(kind=design.kind, spec=design.spec, team=request.team)
    except estimation.CANNOT_ANSWER:
        raise Http404 from None


def around(request: TeamRequest, design: Design, *, page: str) -> dict[str, Any]:
    """Context of a page: the design, the ways to the other pages, and whether the reader may change things."""
    return {"design": design, "deciding": ways(design, page=page), "editable": allows(request.role, "editor")}


def ways(design: Design, *, page: str) -> list[dict[str, Any]]:
    """Links to the pages of a design; ``page`` is the one shown now."""
    rows = []
    for name, label in PAGES:
        try:
            url = reverse(f"web:{name}", args=[design.id])
        except NoReverseMatch:
            continue
        rows.append({"label": label, "url": url, "current": name == page})
    return rows

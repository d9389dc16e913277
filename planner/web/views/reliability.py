"""Reliability of a saved design: terms on the left; what carries the peak, and what another unit adds, beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.core.kind import Terms
from planner.core.reliability import ReliabilityTerms
from planner.designs import reliability as planning
from planner.designs.models import Design
from planner.designs.reliability_view import reliability_view
from planner.web.deciding import around, subject
from planner.web.forms import SpecForm, form_read
from planner.web.security import TeamRequest, member_required

TERMS = Terms(ReliabilityTerms)
START = ReliabilityTerms().model_dump(mode="json")


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def reliability(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The plan by the terms in the address; by the usual ones where those cannot be read."""
    design, estimate = subject(request, design_id)
    form = form_read(TERMS, data=request.GET.dict(), base=START, team=request.team)
    terms = ReliabilityTerms.model_validate(form.spec if form.ok else START)
    view = reliability_view(planning.reliability(estimate, terms=terms))
    context = {
        **around(request, design, page="design-reliability"),
        "form": form,
        "draft": None,
        "kind": estimate.kind,
    }
    context["view"] = _linked(view, design=design, form=form, terms=terms, editable=context["editable"])
    live = request.htmx.target == "reliability"
    response = render(
        request, "designs/reliability.html#live" if live else "designs/reliability.html", context,
        status=200 if form.ok else 422,
    )  # fmt: skip
    if live and not form.ok:
        # Only the messages go in; the last valid answer stays.
        response["HX-Reswap"] = "none"
    return response


def _linked(
    view: dict[str, Any], *, design: Design, form: SpecForm, terms: ReliabilityTerms, editable: bool
) -> dict[str, Any]:
    """With the address in the editor of each change, for who may make it, and of each other placement on this page."""
    editor, here = reverse("web:design", args=[design.id]), reverse("web:design-reliability", args=[design.id])

    def opened(change: Mapping[str, Any] | None) -> str:
        return f"{editor}?{urlencode({'set': json.dumps(change)})}" if change and editable else ""

    typed = {field.name: field.text for field in form.fields if field.changed and not field.error}
    for row in (*view["findings"], *(each for pool in view["pools"] for each in (*pool["levels"], *pool["ways"]))):
        row["url"] = opened(row.get("change"))
    for row in view["placements"]:
        dealt = {**typed, "zones": row["zones"], "racks": max(terms.racks, row["zones"])}
        row["url"] = f"{here}?{urlencode(dealt)}"
    return view

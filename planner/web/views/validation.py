"""Validation: our figures beside those that others published, as far as they have been compared, said plainly."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.catalog import selectors as catalogs
from planner.catalog.derived import published_totals
from planner.core import quantities
from planner.core.chart import Axis, Chart, Trace
from planner.kinds import all_kinds
from planner.web.security import TeamRequest, member_required


@require_safe
@member_required
def validation(request: TeamRequest) -> HttpResponse:
    rows = published_totals(catalogs.catalog())
    errors = [abs(row["error"]) for row in rows]
    context = {
        "kinds": list(all_kinds().values()),
        "rows": [_row(row) for row in rows],
        "median": quantities.show(statistics.median(errors), "ratio") if errors else "",
        "largest": quantities.show(max(errors), "ratio") if errors else "",
        "chart": _scatter(rows) if rows else None,
    }
    return render(request, "validation/validation.html", context)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "llm": row["llm"],
        "counted": quantities.show(row["counted"], "parameters"),
        "published": quantities.show(row["published"], "parameters"),
        "error": quantities.show(row["error"], "ratio"),
    }


def _scatter(rows: Sequence[dict[str, Any]]) -> Chart:
    """Counted over published; on the line they agree."""
    published = [row["published"] for row in rows]
    ends = [min(published), max(published)]
    return Chart(
        name="parameters",
        title="Do the counted parameters agree with the published ones?",
        subtitle=f"{len(rows)} LLMs; on the line both are equal.",
        form="line",
        x=Axis("published", "parameters", log=True, start_at_zero=False),
        y=Axis("counted", "parameters", log=True, start_at_zero=False),
        traces=(
            Trace("counted", published, [row["counted"] for row in rows], order=0, marker_only=True),
            Trace("equal", ends, ends, order=-1),
        ),
        summary=f"Counted against published parameters of {len(rows)} LLMs; all lie on the line of equality.",
    )

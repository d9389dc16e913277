"""One search over designs, catalog, workloads and jobs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner import kinds
from planner.catalog import selectors as catalogs
from planner.designs import selectors as designs
from planner.jobs import selectors as jobs
from planner.web.security import TeamRequest, member_required

TABLES = ("gpus", "llms", "engines", "links", "prices", "api_prices")
MOST = 12


@require_safe
@member_required
def search(request: TeamRequest) -> HttpResponse:
    query = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    found = _found(request, query=query) if query else {}
    total = sum(len(rows) for rows in found.values())
    context = {"query": query, "found": found, "total": total, "most": MOST}
    return render(request, "search/search.html", context)


def _found(request: TeamRequest, *, query: str) -> dict[str, Any]:
    low = query.lower()
    return {
        "designs": list(designs.designs(request.team, q=query)[:MOST]),
        "examples": [row for row in kinds.examples() if low in row.name.lower() or low in row.description.lower()],
        "entries": [
            (table, row) for table in TABLES for row in list(catalogs.entries(table, team=request.team, q=query))[:MOST]
        ],
        "workloads": [row for row in catalogs.workloads(request.team) if low in row.name.lower() or low in row.slug][
            :MOST
        ],
        "jobs": list(jobs.jobs(request.team).filter(title__icontains=query)[:MOST]),
    }

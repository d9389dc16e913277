"""How an address names what is compared, the page to choose it on, and what could be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.selectors import allows
from planner.designs import selectors
from planner.designs.equal import AS_IS
from planner.designs.measurements import load_text, measurements
from planner.designs.sharing import MOST_COMPARED
from planner.jobs.models import Job, Purpose, State
from planner.jobs.selectors import jobs
from planner.web.security import TeamRequest

MARKS = {"measurement": "m-", "simulation": "s-"}
MOST_LISTED = 30


def items_of(values: Sequence[str]) -> list[dict[str, str]]:
    """Items by their marks: ``m-`` a measurement, ``s-`` a simulation, without one a design."""
    return [_item_of(value) for value in dict.fromkeys(values) if value]


def _item_of(value: str) -> dict[str, str]:
    name = next((name for name, mark in MARKS.items() if value.startswith(mark)), "design")
    return {name: value.removeprefix(MARKS.get(name, ""))}


def marked(item: Mapping[str, Any]) -> str:
    """How the address names an item; "" for one that was never saved."""
    name = next((name for name in ("design", *MARKS) if name in item), "")
    return f"{MARKS.get(name, '')}{item[name]}" if name else ""


def address(marks: Sequence[str], *, mode: str) -> str:
    query = [("d", one) for one in marks] + ([("mode", mode)] if mode != AS_IS else [])
    return f"{reverse('web:compare')}?{urlencode(query)}"


def chooser(
    request: TeamRequest, *, chosen: Sequence[Mapping[str, str]], problem: str = "", status: int = 200
) -> HttpResponse:
    marks = {marked(item) for item in chosen}
    context = {
        "designs": [(design, str(design.id) in marks) for design in selectors.designs(request.team)[:100]],
        "measurements": [
            (row, f"m-{row.id}", f"m-{row.id}" in marks, load_text(row.load))
            for row in measurements(request.team)[:MOST_LISTED]
        ],
        "simulations": [(job, f"s-{job.id}", f"s-{job.id}" in marks) for job in _simulations(request)],
        "saved": list(selectors.comparisons(request.team)[:20]),
        "kinds": {kind.slug: kind.label for kind in kinds.all_kinds().values()},
        "problem": problem,
        "most": MOST_COMPARED,
        "editable": allows(request.role, "editor"),
    }
    return render(request, "compare/choose.html", context, status=status)


def _simulations(request: TeamRequest) -> list[Job]:
    return list(jobs(request.team, state=State.SUCCEEDED, purpose=Purpose.SIMULATION)[:MOST_LISTED])


def others(request: TeamRequest, *, marks: Sequence[str]) -> list[tuple[str, str]]:
    """What could be added, by its mark and its name: designs, measurements, finished simulations."""
    if len(marks) >= MOST_COMPARED:
        return []
    found = [(str(design.id), design.name) for design in selectors.designs(request.team)[:50]]
    measured = [
        (f"m-{row.id}", _("measured: %(name)s") % {"name": row.name}) for row in measurements(request.team)[:20]
    ]
    simulated = [
        (f"s-{job.id}", _("simulated: %(name)s, %(at)s") % {"name": job.title, "at": f"{job.created_at:%d %b %H:%M}"})
        for job in _simulations(request)[:20]
    ]
    return [row for row in (*found, *measured, *simulated) if row[0] not in marks]

"""Jobs: the list, and the page of one that follows it until it has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from pydantic import ValidationError

from planner.accounts.selectors import allows
from planner.charts.board import board, clock
from planner.core import quantities
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.designs import selectors as design_selectors
from planner.designs import serial
from planner.designs.models import Comparison, Design
from planner.designs.texts import InvalidField
from planner.jobs import retrying, selectors, services, warming
from planner.jobs.models import Job, Purpose, State
from planner.jobs.timelines import board_of, board_view
from planner.kinds import UnknownKind
from planner.web.job_load import load_of
from planner.web.security import TeamRequest, editor_required, member_required

PAGE_SIZE = 30
GONE = (Design.DoesNotExist, Comparison.DoesNotExist)
CANNOT_RUN = (InvalidField, MissingFigure, UnknownEntry, UnknownKind, retrying.NotRetryable)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def jobs(request: TeamRequest) -> HttpResponse:
    """The team's jobs, newest first; the list follows them while any of them runs."""
    states = [("active", _("under way")), ("finished", _("ended")), *State.choices]
    asked = {
        name: _one_of(request.GET.get(name, ""), choices)
        for name, choices in (("state", states), ("purpose", Purpose.choices))
    }
    found = selectors.jobs(request.team, state=asked["state"], purpose=asked["purpose"])
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [selectors.job_row(job) for job in page]
    context = {
        "page": page,
        "rows": [_line(row) for row in rows],
        "asked": asked,
        "filtered": any(asked.values()),
        "states": states,
        "purposes": Purpose.choices,
        "running": any(row["is_active"] for row in rows),
    }
    return render(request, "jobs/jobs.html#rows" if request.htmx.target == "rows" else "jobs/jobs.html", context)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def job(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """One job. The fragment carries its trigger only while the job is under way: polling ends with it."""
    found = _job(request, job_id)
    view = selectors.job_view(found)
    context = {
        "job": found,
        "view": view,
        "board": _board(found, view=view),
        "drill": design_selectors.drill_of(request.team, key=found.key),
        "progress": progress_of(view),
        "facts": _facts(view),
        "groups": _side_by_side(view),
        "load": load_of(view, team=request.team) if view["purpose"] == Purpose.SIMULATION else None,
        "exports": found.purpose == Purpose.SWEEP and found.state == State.SUCCEEDED,
        "editable": allows(request.role, "editor"),
        "title": _title(view),
    }
    return render(request, "jobs/job.html#live" if request.htmx.target == "job" else "jobs/job.html", context)


@require_POST
@editor_required
def job_cancel(request: TeamRequest, job_id: UUID) -> HttpResponse:
    services.job_cancel(job=_job(request, job_id), user=request.user)
    return redirect("web:job", job_id)


@require_POST
@editor_required
def job_retry(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """Run it again, as a new job with the same inputs."""
    try:
        again = retrying.job_retry(job=_job(request, job_id), user=request.user)
    except GONE:
        messages.error(request, _("What it was made for has been deleted."))
        return redirect("web:job", job_id)
    except ValidationError:
        messages.error(request, _("Its inputs no longer fit this version of the planner."))
        return redirect("web:job", job_id)
    except CANNOT_RUN as problem:
        messages.error(request, str(problem))
        return redirect("web:job", job_id)
    return redirect("web:job", again.id)


@require_safe
@member_required
def job_document(request: TeamRequest, job_id: UUID) -> HttpResponse:
    """The file a report job made."""
    found = _job(request, job_id)
    content = selectors.document(found)
    if content is None or not found.result:
        raise Http404
    response = HttpResponse(content, content_type=found.result["media_type"])
    inline = content_disposition_header(as_attachment=False, filename=found.result["filename"])
    response["Content-Disposition"] = inline or "inline"
    return response


@require_safe
@member_required
def job_export(request: TeamRequest, job_id: UUID, form: str) -> HttpResponse:
    """The result as JSON; the metrics of a simulation or the points of a sweep as CSV."""
    found = _job(request, job_id)
    if not found.result or "metrics" not in found.result or form not in ("csv", "json"):
        raise Http404
    name = f"{found.purpose}-{str(found.id)[:8]}.{form}"
    if form == "json":
        written = json.dumps(selectors.result(found), allow_nan=False, indent=1)
        response = HttpResponse(written, content_type="application/json")
    else:
        response = HttpResponse(_csv(found), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or ""
    return response


def _csv(found: Job) -> str:
    from planner.reports import build

    if found.purpose == Purpose.SWEEP:
        return build.sweep_csv(selectors.result(found))
    return build.simulation_csv(selectors.job_view(found))


def _job(request: TeamRequest, job_id: UUID) -> Job:
    try:
        return selectors.job(request.team, job_id)
    except Job.DoesNotExist:
        raise Http404 from None


def _one_of(asked: str, choices: Sequence[tuple[str, Any]]) -> str:
    """A filter that exists; none for any other word."""
    return asked if asked in dict(choices) else ""


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    """A job in the list, its state and purpose in words."""
    words = {"state_words": State(row["state"]).label, "purpose_words": Purpose(row["purpose"]).label}
    return {**row, **words, "progress": progress_of(row)}


def _title(view: Mapping[str, Any]) -> str:
    """What the tab says: the percentage while it runs."""
    return f"{view['percent']} % · {view['title']}" if view["is_active"] else str(view["title"])


def progress_of(row: Mapping[str, Any]) -> str:
    """Where the job stands, in a line: what it waits for, else the simulated clock, its speed and the time left."""
    if row["state"] == State.QUEUED:
        if warming.is_under_way():
            return _("waiting for a worker, which is getting its simulators ready: up to a minute after an update")
        return _("waiting for a worker")
    if row["state"] == State.CANCELLING:
        return _("stopping")
    if row["state"] != State.RUNNING:
        return str(row["message"])
    known = [_points(row), _clock(row), _speed(row)]
    if row["eta_s"] is not None:
        known.append(_("%(left)s left") % {"left": quantities.show(row["eta_s"], "s")})
    return ", ".join(part for part in known if part)


def _points(row: Mapping[str, Any]) -> str:
    """ "1,200 designs looked at": a sweep counts those."""
    if row["purpose"] != Purpose.SWEEP or not row["events"]:
        return ""
    return _("%(count)s designs looked at") % {"count": f"{row['events']:,}"}


def _clock(row: Mapping[str, Any]) -> str:
    """ "simulated 00:12:40 of 01:00:00"."""
    if not row["simulated_s"]:
        return ""
    of_s = row["horizon_s"]
    at = clock(row["simulated_s"], of_s=of_s)
    return (
        _("simulated %(at)s of %(all)s") % {"at": at, "all": clock(of_s)}
        if of_s
        else _("simulated %(at)s") % {"at": at}
    )


def _speed(row: Mapping[str, Any]) -> str:
    speed = row["simulated_s_per_s"]
    return _("%(times)s × real time") % {"times": quantities.show(speed, "")} if speed else ""


def _board(found: Job, *, view: Mapping[str, Any]) -> dict[str, Any] | None:
    """The course of the run: as far as it got, in the end all of it, to be read off at any moment."""
    if not view["metrics"]:
        so_far = selectors.course_so_far(found)
        drawn = board({"": so_far}, end_s=view["horizon_s"]) if so_far else None
        return {**board_view(drawn), "grows": True} if drawn else None
    drawn = board_of({"": serial.result_from(found.result or {})})
    return board_view(drawn) if drawn else None


def _facts(view: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and figure of what is known about a run."""
    is_sweep = view["purpose"] == Purpose.SWEEP
    known = (
        (_("Designs") if is_sweep else _("Events"), view["events"] or None, ""),
        (_("Designs a second") if is_sweep else _("Events a second"), view["events_per_s"], ""),
        (_("Elapsed"), view["elapsed_s"], "s"),
        (_("Left"), view["eta_s"], "s"),
    )
    facts = [(label, quantities.show(value, unit)) for label, value, unit in known if value is not None]
    if view["simulated_s"]:
        facts.insert(0, (_("Simulated"), clock(view["simulated_s"])))
    if view["is_active"] and view["simulated_s_per_s"]:
        facts.insert(1, (_("Speed"), _speed(view)))
    return facts + [(row["label"], row["text"]) for row in view["now"] if view["is_active"]]


def _side_by_side(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was simulated by group, each figure with its estimate where there is one; so far, what there is."""
    beside = {row["name"]: row for row in view["beside"]}
    groups = view["metrics"] or [{"name": "", "rows": [row["simulated"] for row in view["beside"]]}]
    return [
        {
            "name": group["name"],
            "rows": [{"simulated": row, **_estimated(beside.get(row["name"]))} for row in group["rows"]],
        }
        for group in groups
        if group["rows"]
    ]


def _estimated(row: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"estimate": row["estimate"], "delta": row["delta"]} if row else {"estimate": None, "delta": None}

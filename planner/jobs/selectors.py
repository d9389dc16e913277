"""Reads of jobs, and the picture of one for page and API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from planner import kinds
from planner.accounts.models import Team
from planner.accounts.selectors import row_id, scoped
from planner.core.result import Column, Metric, MetricDef, Series
from planner.core.simulated import NOW
from planner.designs import figures, serial, snapshot
from planner.designs.models import Design
from planner.jobs import states, verification
from planner.jobs.models import Job, JobLogLine, Purpose, State

_ONLY_GROW = ("requests_arrived", "requests_finished")
"""Sums: a line of them says nothing."""

ESTIMABLE_FRACTION = 0.01
"""Below this share done the time left is anybody's guess."""


def jobs(
    team: Team, *, state: str = "", purpose: str = "", kind: str = "", design: Design | UUID | str | None = None
) -> QuerySet[Job]:
    """Jobs of a team, newest first, without their (large) results. ``state`` may be ``active`` or ``finished``."""
    found = scoped(Job.objects.all(), team)
    if state:
        found = found.filter(state__in={"active": states.ACTIVE, "finished": states.FINISHED}.get(state, (state,)))
    if purpose:
        found = found.filter(purpose=purpose)
    if kind:
        found = found.filter(kind=kind)
    if design is not None:
        found = found.filter(design_id=design.id if isinstance(design, Design) else row_id(design))
    rows = found.select_related("design", "created_by").defer("result", "document", "partial")
    return rows.order_by("-created_at", "id")


def job(team: Team, id: UUID | str) -> Job:
    """One job; raises `Job.DoesNotExist` for a stranger's or an unknown one."""
    found = scoped(Job.objects.select_related("team", "design", "created_by"), team).defer("document")
    return found.get(id=row_id(id))


def document(job: Job) -> bytes | None:
    """The file a job made."""
    written = Job.objects.filter(id=job.id).values_list("document", flat=True).first()
    return bytes(written) if written is not None else None


def result(job: Job) -> dict[str, Any]:
    """The result of a finished job; of a sweep with how the simulations of its best points went by now."""
    found: dict[str, Any] = job.result or {}
    if job.purpose != Purpose.SWEEP or "points" not in found:
        return found
    rows = verification.told(found, team=job.team)
    return {**found, "verified": rows, "answer": verification.answered(found, rows)}


def log_lines(job: Job) -> list[JobLogLine]:
    """The log, oldest first."""
    return list(JobLogLine.objects.filter(job=job).order_by("at", "id"))


def job_row(job: Job, *, now: datetime | None = None) -> dict[str, Any]:
    """State and progress: a line of the list, and the head of the page."""
    now = now or timezone.now()
    elapsed_s = elapsed(job, now=now)
    return {
        "id": str(job.id),
        "purpose": job.purpose,
        "title": job.title,
        "kind": job.kind,
        "design_id": str(job.design_id) if job.design_id else None,
        "design_revision": job.design_revision,
        "state": job.state,
        "is_active": job.state in states.ACTIVE,
        "can_cancel": job.state in (State.QUEUED, State.RUNNING),
        "can_retry": job.state in (State.FAILED, State.CANCELLED),
        "fraction": job.fraction,
        "percent": int(job.fraction * 100),
        "eta_s": eta(job, elapsed_s=elapsed_s),
        "elapsed_s": elapsed_s,
        "simulated_s": job.simulated_s,
        "horizon_s": horizon(job),
        "events": job.events,
        "events_per_s": job.events / elapsed_s if elapsed_s and job.events else None,
        "simulated_s_per_s": job.simulated_s / elapsed_s if elapsed_s and job.simulated_s else None,
        "message": job.message,
        "error": job.error,
        "worker": job.worker,
        "attempts": job.attempts,
        "created_by": job.created_by.get_username() if job.created_by else "",
        "created_at": job.created_at.isoformat(),
        "started_at": job.started_at.isoformat() if job.started_at else None,
        "finished_at": job.finished_at.isoformat() if job.finished_at else None,
    }


def job_view(job: Job, *, now: datetime | None = None) -> dict[str, Any]:
    """The whole picture::

        job_row + request {seed, duration_s, requests, workload, options, made_by, paper, …}
        + beside   [{name, label, estimate: ROW or null, simulated: ROW or null, delta or null}]  so far or in the end
        + metrics  [{name: group, rows: [ROW]}]   all that was simulated, once finished
        + findings, charts (as `charts.codec` reads), answer, provenance   once finished
        + log      [{at, event, text}]
        + partial  what the simulator last told, or null
        + now      [ROW]   of the moment that a running job has reached: what has arrived, queues, runs
        + document {filename, media_type, bytes} or null
        + replications {asked, done} or null where there is one

    ROW as in `designs.snapshot`.
    """
    result = job.result or {}
    simulated = simulated_metrics(job)
    return {
        **job_row(job, now=now),
        "request": {name: value for name, value in job.request.items() if name not in ("estimate", "spec")},
        "spec": job.request.get("spec"),
        "beside": beside(job, simulated=simulated),
        "metrics": snapshot.metric_groups(list(simulated.values())) if simulated and result else [],
        "findings": result.get("findings", []),
        "charts": result.get("charts", []),
        "answer": result.get("answer"),
        "provenance": result.get("provenance", {}),
        "partial": job.partial,
        "now": now_rows(job),
        "log": [{"at": line.at.isoformat(), "event": line.event, "text": line.text} for line in log_lines(job)],
        "document": {name: result[name] for name in ("filename", "media_type", "bytes")}
        if "filename" in result
        else None,
        "replications": replications(job),
    }


def replications(job: Job) -> dict[str, int] | None:
    """How many replications were asked for and how many are done; None for a job that runs once."""
    asked = int(job.request.get("replications") or 1)
    if asked == 1:
        return None
    is_done = job.state == State.SUCCEEDED
    return {"asked": asked, "done": asked if is_done else job.parts.filter(state=State.SUCCEEDED).count()}


def now_rows(job: Job) -> list[dict[str, Any]]:
    """The state of the system at the moment a running job has reached."""
    told = job.partial or {}
    values = {name: told.get(name) for name in NOW}
    return [
        figures.figure_row(Metric(NOW[name], value, basis="simulated"))
        for name, value in values.items()
        if isinstance(value, int | float)
    ]


def course_so_far(job: Job) -> Series | None:
    """What a running job has told, over simulated time; None before there is a line to draw."""
    told = (job.partial or {}).get("course") or {}
    known = {**_definitions(job), **NOW}
    if len(told.get("time_s", ())) < 2:
        return None
    columns = [
        Column(name, known[name].label, known[name].unit, values)
        for name, values in told.items()
        if name in known and name not in _ONLY_GROW
    ]
    order = list(NOW)
    columns.sort(key=lambda column: order.index(column.name) if column.name in order else len(order))
    return Series("timeline", "", (Column("time_s", "", "s", told["time_s"]), *columns))


def elapsed(job: Job, *, now: datetime) -> float | None:
    """Seconds since the present run started, or that it took; None before it started."""
    if job.started_at is None:
        return None
    return max((job.finished_at or now).timestamp() - job.started_at.timestamp(), 0.0)


def eta(job: Job, *, elapsed_s: float | None) -> float | None:
    """Seconds left at the pace so far; None when not running or too early to tell."""
    if job.state != State.RUNNING or elapsed_s is None or job.fraction < ESTIMABLE_FRACTION:
        return None
    return elapsed_s * (1 - job.fraction) / job.fraction


def horizon(job: Job) -> float | None:
    """How long the run is in simulated time [s]; None where that is not known, as of several runs in turn."""
    if job.fraction < ESTIMABLE_FRACTION or not job.simulated_s:
        return None
    reached_s = job.simulated_s / job.fraction
    asked_s = job.request.get("duration_s")
    if asked_s is None:
        return reached_s
    return float(asked_s) if abs(reached_s - asked_s) <= 0.1 * asked_s else None


def beside(job: Job, *, simulated: Mapping[str, Metric]) -> list[dict[str, Any]]:
    """What is both estimated and simulated, side by side; partial figures while the job runs."""
    written = job.request.get("estimate") or {}
    rows = []
    for name, found in simulated.items():
        if name not in written:
            continue
        estimated = serial.metric_from(name, written[name])
        rows.append(
            {
                "name": name,
                "label": estimated.definition.label,
                "estimate": figures.figure_row(estimated),
                "simulated": figures.figure_row(found),
                "delta": figures.delta_view(estimated, found),
            }
        )
    return rows


def simulated_metrics(job: Job) -> dict[str, Metric]:
    """Simulated metrics in the order of the kind (JSONB keeps none)."""
    kind = kinds.all_kinds().get(job.kind)
    places = {metric.name: place for place, metric in enumerate(kind.metrics)} if kind else {}
    found = _stored(job)
    return {name: found[name] for name in sorted(found, key=lambda name: (places.get(name, len(places)), name))}


def _stored(job: Job) -> dict[str, Metric]:
    """Metrics of the result, else those told so far; a sweep has those of its points."""
    kept = (job.result or {}).get("metrics")
    if isinstance(kept, list):
        return {}
    if kept is not None:
        return {name: serial.metric_from(name, written) for name, written in kept.items()}
    written = (job.partial or {}).get("metrics", job.partial or {})
    if not isinstance(written, Mapping):
        return {}
    known = _definitions(job)
    values = {name: value.get("value") if isinstance(value, Mapping) else value for name, value in written.items()}
    told = [name for name in values if _is_told(name, values, known)]
    return {name: Metric(known[name], values[name], basis="simulated") for name in told}


def _is_told(name: str, values: Mapping[str, Any], known: Mapping[str, MetricDef]) -> bool:
    value = values[name]
    return name in known and (value is None or (isinstance(value, int | float) and not isinstance(value, bool)))


def _definitions(job: Job) -> dict[str, MetricDef]:
    """Metric definitions by name: of the kind, else (a kind that is gone) of the stored estimate."""
    stored = {
        name: serial.metric_from(name, row).definition for name, row in (job.request.get("estimate") or {}).items()
    }
    kind = kinds.all_kinds().get(job.kind)
    return stored | ({metric.name: metric for metric in kind.metrics} if kind else {})

"""Writes of jobs: start, cancel, and what beat does about the silent. The row comes first, then the queue."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from planner.accounts.models import Team, User
from planner.accounts.services import audit
from planner.catalog import selectors as catalog_selectors
from planner.catalog.models import Workload
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.models import Comparison, Design
from planner.designs.texts import InvalidField
from planner.jobs import parts, states
from planner.jobs import requests as asked
from planner.jobs.journal import log
from planner.jobs.models import Job, Purpose, State
from planner.jobs.parts import MOST_ATTEMPTS, QUEUE, UNTAKEN_AFTER
from planner.jobs.reasons import lost_twice

logger = structlog.get_logger(__name__)

PAPERS = ("a4", "letter")


def simulation_start(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    design: Design | None = None,
    workload: Workload | str | None = None,
    duration_s: float | None = None,
    requests: int | None = None,
    seed: int = 1,
    replications: int = 1,
    options: Mapping[str, Any] | None = None,
    title: str = "",
) -> Job:
    """Ask for a simulation and return its job.

    The estimate is made first: what it refuses (`UnknownKind`, ValidationError, `UnknownEntry`, `MissingFigure`,
    `InvalidField`) is refused at once. The same inputs as a finished simulation of the team give a job that has
    already succeeded with the stored result; the same inputs as one the user is waiting for give that job.
    """
    estimate = estimation.estimate(kind=kind, spec=spec, team=team)
    request = asked.simulation_request(
        estimate,
        workload=asked.find_workload(workload, team=team),
        duration_s=duration_s,
        requests=requests,
        seed=seed,
        replications=replications,
        options=options or {},
    )
    return start(
        team=team,
        user=user,
        purpose=Purpose.SIMULATION,
        title=title[:200] or _title(estimate, design=design),
        design=design,
        revision=design.revision if design and design.spec == estimate.spec_json else None,
        kind=kind,
        key=asked.simulation_key(request),
        request=request | {"language": get_language()},
        parts_count=asked.replications(request),
    )


def report_start(
    *,
    team: Team,
    user: User | None,
    design: Design | None = None,
    comparison: Comparison | None = None,
    paper: str = "a4",
) -> Job:
    """Ask for the PDF of a design or comparison; the stored one comes back where nothing has changed since."""
    if (design is None) == (comparison is None):
        raise ValueError("report on one design or one comparison")
    if paper not in PAPERS:
        raise InvalidField(field="paper", message=_("Choose a4 or letter."))
    request = {
        "design": str(design.id) if design else None,
        "revision": design.revision if design else None,
        "comparison": str(comparison.id) if comparison else None,
        "paper": paper,
        "language": get_language(),
    }
    made_of = _design_content(design) if design else _comparison_content(comparison)
    made_by = {"code": settings.VERSION, "catalog": catalog_selectors.catalog(team).digest}
    return start(
        team=team,
        user=user,
        purpose=Purpose.REPORT,
        title=design.name if design else (comparison.name if comparison else "") or _("Comparison"),
        design=design,
        revision=design.revision if design else None,
        kind=design.kind if design else "",
        key=asked.key_of(purpose="report", content=made_of, **made_by, **request),
        request=request,
    )


@transaction.atomic
def job_cancel(*, job: Job, user: User | None) -> Job:
    """Cancel: a queued job at once, a running one at its next slice. A finished job stays as it is."""
    now = timezone.now()
    if states.move(job.id, source=State.QUEUED, target=State.CANCELLED, finished_at=now, cancel_requested_at=now):
        log(job.id, event="cancelled", text=_("before it started"))
    elif states.move(job.id, source=State.RUNNING, target=State.CANCELLING, cancel_requested_at=now):
        log(job.id, event="cancelling", text=_("asked to stop"))
        if parts.are_missing(job.id) and parts.none_runs(job.id):
            parts.end_cancelled(job.id, now=now)
    else:
        return Job.objects.get(id=job.id)
    audit(team=job.team, user=user, action="cancelled", subject="job", subject_id=str(job.id), summary=job.title)
    return Job.objects.get(id=job.id)


def requeue_silent(*, now: datetime) -> int:
    """See to jobs nobody works on; returns how many were touched.

    A running job without a heartbeat is queued again once, then failed; a cancelling one is cancelled; a queued one
    nobody took is put on the queue again (the broker may have lost it), at growing intervals. A job that waits for its
    parts has no worker of its own: its parts are seen to.
    """
    touched = parts.see_to(now=now)
    silent = Job.objects.filter(heartbeat_at__lt=now - timedelta(seconds=settings.JOB_SILENT_AFTER_S))
    alone = silent.filter(state=State.RUNNING).exclude(parts__state__in=parts.UNFINISHED)
    touched += sum(_revive(job, now=now) for job in alone.defer("result", "document"))
    for job in silent.filter(state=State.CANCELLING).defer("result", "document"):
        touched += _give_up_cancelling(job, now=now)
    untaken = Job.objects.filter(state=State.QUEUED, created_at__lt=now - UNTAKEN_AFTER)
    alone = untaken.exclude(parts__state__in=parts.UNFINISHED).defer("result", "document")
    return touched + sum(_offer_again(job, now=now) for job in alone)


def requeue_orphans(*, worker: str, now: datetime) -> int:
    """Take back what a worker of this name was running before it restarted, without waiting for its silence."""
    left = Job.objects.filter(worker=worker).defer("result", "document")
    touched = parts.take_back(worker=worker, now=now)
    touched += sum(_revive(job, now=now) for job in left.filter(state=State.RUNNING))
    return touched + sum(_give_up_cancelling(job, now=now) for job in left.filter(state=State.CANCELLING))


def enqueue(job_id: UUID) -> None:
    """Put the id on the queue. A broker that is down is no fault of the caller: beat offers the job again."""
    from planner.jobs.tasks import run_job

    try:
        run_job.apply_async(kwargs={"job_id": str(job_id)}, queue=QUEUE, retry=False)
    except OperationalError as error:
        logger.warning("job_not_enqueued", job=str(job_id), error=str(error))


@transaction.atomic
def start(
    *, team: Team, user: User | None, key: str, revision: int | None, parts_count: int = 1, **columns: Any
) -> Job:
    """Save the job, already done if its key is known; ``revision`` is None for a spec the design was not saved with.

    A job of several parts is offered part by part.
    """
    waiting = Job.objects.filter(team=team, key=key, created_by=user, state__in=(State.QUEUED, State.RUNNING)).first()
    if waiting is not None:
        return waiting
    job = Job(team=team, created_by=user, design_revision=revision, key=key, **columns)
    stored = Job.objects.filter(team=team, key=key, state=State.SUCCEEDED).order_by("-finished_at").first()
    if stored is not None:
        return _finished(job, stored=stored)
    job.save()
    log(job.id, event="queued", text=f"key {key[:8]}")
    if parts_count > 1:
        parts.lay_out(job, count=parts_count)
        parts.top_up(job.id, now=job.created_at)
    else:
        transaction.on_commit(lambda: enqueue(job.id))
    return job


def _finished(job: Job, *, stored: Job) -> Job:
    """The job, done: its inputs have been run before."""
    now = timezone.now()
    job.state, job.fraction, job.started_at, job.finished_at = State.SUCCEEDED, 1.0, now, now
    job.simulated_s, job.events = stored.simulated_s, stored.events
    job.result, job.document = stored.result, stored.document
    job.message = _("Same inputs: stored result.")
    job.save()
    log(job.id, event="stored", text=f"key {job.key[:8]}: result of job {stored.id}")
    return job


def _title(estimate: Estimate, *, design: Design | None) -> str:
    return (design.name if design else estimate.kind.label)[:200]


def _design_content(design: Design) -> dict[str, Any]:
    shown = {
        "name": design.name,
        "description": design.description,
        "tags": design.tags,
        "saved": design.updated_at.isoformat(),
    }
    return {"kind": design.kind, "spec": design.spec, **shown}


def _comparison_content(comparison: Comparison | None) -> list[Any]:
    """What a comparison shows: its name and each item as it is now, and what has been simulated up to now."""
    if comparison is None:
        return []
    runs = Job.objects.filter(team=comparison.team, purpose=Purpose.SIMULATION, state=State.SUCCEEDED)
    simulated_at = runs.aggregate(last=Max("finished_at"))["last"]
    ids = [item["design"] for item in comparison.items if "design" in item]
    found = {str(row.id): _design_content(row) for row in Design.objects.filter(id__in=ids, deleted_at=None)}
    items = [found.get(item.get("design", ""), item) for item in comparison.items]
    return [comparison.name, items, simulated_at and simulated_at.isoformat()]


def _revive(job: Job, *, now: datetime) -> bool:
    if job.attempts >= MOST_ATTEMPTS:
        error = lost_twice(job.purpose)
        moved = states.move(
            job.id, source=State.RUNNING, target=State.FAILED, attempt=job.attempts, error=error, finished_at=now
        )
        if moved:
            log(job.id, event="failed", text=error["message"])
        return moved
    moved = states.move(
        job.id, source=State.RUNNING, target=State.QUEUED, attempt=job.attempts, heartbeat_at=now, fraction=0.0
    )
    if moved:
        log(job.id, event="requeued", text=_("no sign of life from %(worker)s") % {"worker": job.worker or "—"})
        transaction.on_commit(lambda: enqueue(job.id))
    return moved


def _give_up_cancelling(job: Job, *, now: datetime) -> bool:
    moved = states.move(job.id, source=State.CANCELLING, target=State.CANCELLED, finished_at=now)
    if moved:
        log(job.id, event="cancelled", text=_("the worker had already gone"))
    return moved


def _offer_again(job: Job, *, now: datetime) -> bool:
    """Enqueue again when the last offer is old; for a queued job ``heartbeat_at`` is the time of that offer."""
    last = job.heartbeat_at or job.created_at
    wait = max(UNTAKEN_AFTER, last - job.created_at)
    if now - last < wait:
        return False
    offered = Job.objects.filter(id=job.id, state=State.QUEUED, heartbeat_at=job.heartbeat_at).update(heartbeat_at=now)
    if offered:
        transaction.on_commit(lambda: enqueue(job.id))
    return bool(offered)

"""Runs a job: ordinary Python, called by the Celery task and by tests.

Idempotent: a second delivery finds the job taken and does nothing, unless the worker that took it has gone silent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from pydantic import ValidationError

from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.simulation import Cancelled
from planner.designs.texts import InvalidField
from planner.jobs import parts, states, work
from planner.jobs.hooks import JobHooks, Superseded, beating
from planner.jobs.journal import log
from planner.jobs.models import Job, JobPart, State
from planner.jobs.parts import MOST_ATTEMPTS
from planner.jobs.reasons import smaller
from planner.kinds import UnknownKind

logger = structlog.get_logger(__name__)
Clock = Callable[[], datetime]


def run(
    job_id: UUID, *, clock: Clock = timezone.now, worker: str = "", time_limits: tuple[type[Exception], ...] = ()
) -> None:
    """Claim the job, do its work, store what came of it. ``time_limits`` are the exceptions of a run cut short."""
    job = claim(job_id, now=clock(), worker=worker)
    if job is None:
        return
    log(job.id, event="started", text=_("by %(worker)s, run %(run)d") % {"worker": worker or "—", "run": job.attempts})
    with translation.override(job.request.get("language") or settings.LANGUAGE_CODE), beating(job):
        _attempt(job, clock=clock, time_limits=time_limits)


def claim(job_id: UUID, *, now: datetime, worker: str = "") -> Job | None:
    """Take a queued job, or one whose worker went silent in its first run; None if it is not to be had.

    A job whose parts are not all there is not.
    """
    silent = now - timedelta(seconds=settings.JOB_SILENT_AFTER_S)
    free = Q(state=State.QUEUED) | Q(state=State.RUNNING, heartbeat_at__lt=silent, attempts__lt=MOST_ATTEMPTS)
    # A job in parts has begun with the first of them.
    is_in_parts = JobPart.objects.filter(job_id=job_id).exists()
    anew = {} if is_in_parts else {"started_at": now, "fraction": 0.0, "partial": None}
    taken = (
        Job.objects.filter(free, id=job_id)
        .exclude(parts__state__in=parts.UNFINISHED)
        .update(state=State.RUNNING, attempts=F("attempts") + 1, heartbeat_at=now, worker=worker[:120], **anew)
    )
    return Job.objects.select_related("team", "design").get(id=job_id) if taken else None


def _attempt(job: Job, *, clock: Clock, time_limits: tuple[type[Exception], ...]) -> None:
    try:
        values = work.do(job, hooks=JobHooks(job, clock=clock))
    except Superseded:
        logger.warning("job_superseded", job=str(job.id), attempt=job.attempts)
    except Cancelled as error:
        if not cancel(job, now=clock()):
            fail(job, error=error, time_limits=time_limits, now=clock())
    except Exception as error:
        fail(job, error=error, time_limits=time_limits, now=clock())
    else:
        _succeeded(job, values=values, now=clock())


def _succeeded(job: Job, *, values: dict[str, Any], now: datetime) -> None:
    done = {"fraction": 1.0, "finished_at": now, "partial": None, **values}
    if states.move(job.id, source=State.RUNNING, target=State.SUCCEEDED, attempt=job.attempts, **done):
        log(job.id, event="done", text=_("in %(seconds).1f s") % {"seconds": _seconds(job, now=now)})
    else:
        cancel(job, now=now)


def cancel(job: Job, *, now: datetime) -> bool:
    """Stop if asked to. What was computed so far stays to be looked at as ``partial``."""
    moved = states.move(job.id, source=State.CANCELLING, target=State.CANCELLED, attempt=job.attempts, finished_at=now)
    if moved:
        log(job.id, event="cancelled", text=_("after %(seconds).1f s") % {"seconds": _seconds(job, now=now)})
    return moved


def fail(job: Job, *, error: Exception, time_limits: tuple[type[Exception], ...], now: datetime) -> None:
    """End a run in failure, with the reason in the user's words."""
    reason = _explained(job, error=error, time_limits=time_limits)
    for source in (State.RUNNING, State.CANCELLING):
        moved = states.move(
            job.id, source=source, target=State.FAILED, attempt=job.attempts, error=reason, finished_at=now
        )
        if moved:
            log(job.id, event="failed", text=reason["message"])


def _explained(job: Job, *, error: Exception, time_limits: tuple[type[Exception], ...]) -> dict[str, str]:
    """The reason and the next step, for the user; the exception itself goes to the log, once."""
    context = {"job": str(job.id), "purpose": job.purpose, "kind": job.kind}
    if isinstance(error, time_limits):
        logger.warning("job_time_limit", **context)
        minutes = settings.CELERY_TASK_SOFT_TIME_LIMIT // 60
        message = _("It took longer than the limit of %(minutes)d minutes.") % {"minutes": minutes}
        return {"message": message, "suggestion": smaller(job.purpose)}
    if isinstance(error, MemoryError):
        logger.warning("job_out_of_memory", **context)
        return {"message": _("It ran out of memory."), "suggestion": smaller(job.purpose)}
    if isinstance(error, ValidationError):
        logger.info("job_refused", **context, error=str(error))
        return {
            "message": _("The inputs are no longer valid."),
            "suggestion": _("Open the design and check its inputs."),
        }
    if isinstance(error, MissingFigure | UnknownEntry | UnknownKind):
        logger.info("job_refused", **context, error=str(error))
        return {"message": _sentence(error), "suggestion": _("Add the figure to the catalog, or choose another entry.")}
    if isinstance(error, ValueError | InvalidField):
        logger.warning("job_refused", **context, exc_info=error)
        return {"message": _sentence(error), "suggestion": _("Change the inputs or options and start it again.")}
    logger.error("job_failed", **context, exc_info=error)
    reference = str(job.id)[:8]
    return {
        "message": _("Something went wrong in our program, not in your inputs."),
        "suggestion": _("Try again; if it happens again, report it with the reference %(id)s.") % {"id": reference},
    }


def _sentence(error: Exception) -> str:
    text = getattr(error, "message", "") or str(error) or _("It cannot be run.")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."[:300]


def _seconds(job: Job, *, now: datetime) -> float:
    return (now - job.started_at).total_seconds() if job.started_at else 0.0

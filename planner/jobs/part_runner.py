"""Runs one part of a job; the worker that finishes the last one puts them together."""

from __future__ import annotations

from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone, translation

from planner.core.simulation import Cancelled
from planner.jobs import parts, runner, states, work
from planner.jobs.hooks import PartHooks, Superseded, beating
from planner.jobs.models import JobPart, State

logger = structlog.get_logger(__name__)


def run_part(
    job_id: UUID,
    *,
    place: int,
    clock: runner.Clock = timezone.now,
    worker: str = "",
    time_limits: tuple[type[Exception], ...] = (),
) -> None:
    """Claim a part and run it; then offer the next, or finish the job when this was the last."""
    part = parts.claim(job_id, place=place, now=clock(), worker=worker)
    if part is None:
        return
    with translation.override(part.job.request.get("language") or settings.LANGUAGE_CODE), beating(part):
        _attempt(part, clock=clock, time_limits=time_limits)
    if parts.top_up(job_id, now=clock()) or parts.are_missing(job_id):
        work.tell_so_far(part)
        return
    # From here it is a job like any other: whoever claims it puts the parts together.
    if states.move(job_id, source=State.RUNNING, target=State.QUEUED, attempt=0):
        runner.run(job_id, clock=clock, worker=worker, time_limits=time_limits)


def _attempt(part: JobPart, *, clock: runner.Clock, time_limits: tuple[type[Exception], ...]) -> None:
    try:
        columns = work.observe(part.job, place=part.place, hooks=PartHooks(part, clock=clock))
    except Superseded:
        logger.warning("part_superseded", job=str(part.job_id), place=part.place, attempt=part.attempts)
        parts.stop(part)
    except Cancelled as error:
        _stopped(part, error=error, clock=clock, time_limits=time_limits)
    except Exception as error:
        parts.stop(part)
        runner.fail(part.job, error=error, time_limits=time_limits, now=clock())
    else:
        parts.keep(part, now=clock(), **columns)
        _end_if_asked(part, clock=clock)


def _stopped(part: JobPart, *, error: Exception, clock: runner.Clock, time_limits: tuple[type[Exception], ...]) -> None:
    parts.stop(part)
    part.job.refresh_from_db(fields=["state"])
    if part.job.state == State.RUNNING:
        runner.fail(part.job, error=error, time_limits=time_limits, now=clock())
    _end_if_asked(part, clock=clock)


def _end_if_asked(part: JobPart, *, clock: runner.Clock) -> None:
    """The last part at work ends a job that was asked to stop."""
    if parts.none_runs(part.job_id):
        parts.end_cancelled(part.job_id, now=clock())

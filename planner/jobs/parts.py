"""Parts of a job as rows of their own: offered a few at a time, each run by whichever worker is free.

A part is a replication of a simulation, or some of the points of a sweep. The job's row stays the truth: a part runs
only while its job is under way, and the job is run as ever, to put its parts together, once all of them are there. So
no worker waits for another. A part that was lost is run again; what a part has found is kept until the job has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from celery import group
from django.conf import settings
from django.db import transaction
from django.db.models import Avg, F, Q, Sum
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from planner.jobs import states
from planner.jobs.journal import log
from planner.jobs.models import Job, JobPart, State
from planner.jobs.reasons import lost_twice

logger = structlog.get_logger(__name__)

QUEUE = "jobs"
MOST_ATTEMPTS = 2
AT_ONCE = 8
"""Parts of one job on the queue or running: more would make everybody else's jobs wait for all of them."""
UNTAKEN_AFTER = timedelta(seconds=30)
UNFINISHED = (State.QUEUED, State.RUNNING)


def lay_out(job: Job, *, count: int) -> None:
    """Make the rows of a job's parts."""
    JobPart.objects.bulk_create(JobPart(job=job, place=place) for place in range(count))


def are_missing(job_id: UUID) -> bool:
    """Whether a job still waits for some of its parts."""
    return JobPart.objects.filter(job_id=job_id, state__in=UNFINISHED).exists()


@transaction.atomic
def top_up(job_id: UUID, *, now: datetime) -> int:
    """Put parts on the queue that were not there yet, as many as may be under way at once; how many."""
    job = Job.objects.select_for_update().filter(id=job_id, state__in=(State.QUEUED, State.RUNNING)).first()
    if job is None:
        return 0
    mine = JobPart.objects.filter(job_id=job_id)
    under_way = mine.filter(Q(state=State.RUNNING) | Q(state=State.QUEUED, heartbeat_at__isnull=False)).count()
    fresh = mine.filter(state=State.QUEUED, heartbeat_at__isnull=True).order_by("place")
    places = list(fresh.values_list("place", flat=True)[: max(AT_ONCE - under_way, 0)])
    mine.filter(place__in=places).update(heartbeat_at=now)
    if places:
        transaction.on_commit(lambda: enqueue(job_id, places=places))
    return len(places)


@transaction.atomic
def claim(job_id: UUID, *, place: int, now: datetime, worker: str = "") -> JobPart | None:
    """Take a part of a job that is under way; None if it is not to be had. The first one starts the job."""
    job = Job.objects.select_for_update().filter(id=job_id, state__in=(State.QUEUED, State.RUNNING)).first()
    silent = Q(state=State.RUNNING, heartbeat_at__lt=_silent_since(now), attempts__lt=MOST_ATTEMPTS)
    free = JobPart.objects.filter(Q(state=State.QUEUED) | silent, job_id=job_id, place=place)
    values = {"attempts": F("attempts") + 1, "started_at": now, "heartbeat_at": now, "worker": worker[:120]}
    if job is None or not free.update(state=State.RUNNING, fraction=0.0, **values):
        return None
    if states.move(job_id, source=State.QUEUED, target=State.RUNNING, started_at=now, heartbeat_at=now):
        log(job_id, event="started", text=_("%(count)d parts") % {"count": job.parts.count()})
    return JobPart.objects.select_related("job__team", "job__design").get(job_id=job_id, place=place)


def keep(part: JobPart, *, now: datetime, **columns: Any) -> bool:
    """Keep what a part has found; whether it was still this run's to keep."""
    if not _running(part).update(state=State.SUCCEEDED, fraction=1.0, finished_at=now, **columns):
        return False
    share(part.job_id, now=now)
    seconds = (now - part.started_at).total_seconds() if part.started_at else 0.0
    said = {"number": part.place + 1, "seconds": seconds, "worker": part.worker or "—"}
    log(part.job_id, event="part", text=_("part %(number)d done in %(seconds).1f s by %(worker)s") % said)
    return True


def found(job_id: UUID) -> list[bytes]:
    """What the finished parts have found, in the order of their places."""
    rows = JobPart.objects.filter(job_id=job_id, state=State.SUCCEEDED, observed__isnull=False).order_by("place")
    return [bytes(observed) for observed in rows.values_list("observed", flat=True) if observed is not None]


@transaction.atomic
def show(job_id: UUID, *, partial: dict[str, Any], of: int) -> None:
    """Show figures of so many finished parts, unless there are more by now."""
    job = Job.objects.select_for_update().filter(id=job_id, state=State.RUNNING)
    if job.exists() and JobPart.objects.filter(job_id=job_id, state=State.SUCCEEDED).count() == of:
        job.update(partial=partial)


def share(job_id: UUID, *, now: datetime) -> None:
    """Write into the job how far its parts are together: the mean of their progress, the events of all."""
    sums = JobPart.objects.filter(job_id=job_id).aggregate(
        fraction=Avg("fraction"), simulated_s=Avg("simulated_s"), events=Sum("events")
    )
    Job.objects.filter(id=job_id, state__in=(State.RUNNING, State.CANCELLING)).update(heartbeat_at=now, **sums)


def stop(part: JobPart) -> None:
    """Mark a part that gave up."""
    _running(part).update(state=State.CANCELLED)


@transaction.atomic
def none_runs(job_id: UUID) -> bool:
    """Whether no part of the job is at work, nor can begin while the caller's transaction lasts."""
    Job.objects.select_for_update().filter(id=job_id).first()
    return not JobPart.objects.filter(job_id=job_id, state=State.RUNNING).exists()


def end_cancelled(job_id: UUID, *, now: datetime) -> bool:
    """End a job that was asked to stop and none of whose parts is at work any more."""
    moved = states.move(job_id, source=State.CANCELLING, target=State.CANCELLED, finished_at=now)
    if moved:
        log(job_id, event="cancelled", text=_("all parts have stopped"))
    return moved


def see_to(*, now: datetime) -> int:
    """See to parts nobody works on or that nobody was offered; how many were touched."""
    under_way = JobPart.objects.filter(job__state__in=(State.QUEUED, State.RUNNING)).select_related("job")
    touched = sum(
        _revive(part, now=now)
        for part in _light(under_way.filter(state=State.RUNNING, heartbeat_at__lt=_silent_since(now)))
    )
    untaken = under_way.filter(state=State.QUEUED, heartbeat_at__lt=now - UNTAKEN_AFTER)
    touched += sum(_offer_again(part, now=now) for part in _light(untaken))
    waiting = under_way.filter(state=State.QUEUED, heartbeat_at__isnull=True).values_list("job_id", flat=True)
    return touched + sum(top_up(job_id, now=now) for job_id in waiting.distinct())


def take_back(*, worker: str, now: datetime) -> int:
    """Take back what a worker of this name was running before it restarted."""
    left = JobPart.objects.filter(worker=worker, state=State.RUNNING).select_related("job")
    return sum(_revive(part, now=now) for part in _light(left))


def enqueue(job_id: UUID, *, places: Sequence[int]) -> None:
    """Put parts on the queue, as a group. A broker that is down is no fault of the caller: beat offers them again."""
    from planner.jobs.tasks import run_part

    offered = group(run_part.s(job_id=str(job_id), place=place) for place in places)
    try:
        offered.apply_async(queue=QUEUE, retry=False)
    except OperationalError as error:
        logger.warning("parts_not_enqueued", job=str(job_id), places=list(places), error=str(error))


def _revive(part: JobPart, *, now: datetime) -> bool:
    if part.job.state == State.CANCELLING:
        _running(part).update(state=State.CANCELLED)
        return none_runs(part.job_id) and end_cancelled(part.job_id, now=now)
    if part.attempts >= MOST_ATTEMPTS:
        error = lost_twice(part.job.purpose)
        moved = states.move(part.job_id, source=State.RUNNING, target=State.FAILED, error=error, finished_at=now)
        if moved:
            log(part.job_id, event="failed", text=error["message"])
        return moved
    if not _running(part).update(state=State.QUEUED, heartbeat_at=now, fraction=0.0):
        return False
    said = {"number": part.place + 1, "worker": part.worker or "—"}
    log(part.job_id, event="requeued", text=_("part %(number)d: no sign of life from %(worker)s") % said)
    transaction.on_commit(lambda: enqueue(part.job_id, places=[part.place]))
    return True


def _offer_again(part: JobPart, *, now: datetime) -> bool:
    """Enqueue again at growing intervals; for a queued part ``heartbeat_at`` is the time of the last offer."""
    last = part.heartbeat_at or now
    if now - last < max(UNTAKEN_AFTER, last - part.job.created_at):
        return False
    mine = JobPart.objects.filter(id=part.id, state=State.QUEUED, heartbeat_at=part.heartbeat_at)
    offered = mine.update(heartbeat_at=now)
    if offered:
        transaction.on_commit(lambda: enqueue(part.job_id, places=[part.place]))
    return bool(offered)


def _running(part: JobPart) -> Any:
    return JobPart.objects.filter(id=part.id, attempts=part.attempts, state=State.RUNNING)


def _light(rows: Any) -> Any:
    return rows.defer("observed", "job__result", "job__document", "job__partial")


def _silent_since(now: datetime) -> datetime:
    return now - timedelta(seconds=settings.JOB_SILENT_AFTER_S)

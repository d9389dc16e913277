"""How a run speaks to its row: progress at most twice a second, cancellation at its next look, a sign of life."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone

from planner.designs.serial import plain
from planner.jobs import parts
from planner.jobs.models import Job, JobPart, State

WRITE_EVERY_S = 0.5
LOOK_EVERY_S = 0.2
BEAT_EVERY_S = 10.0
ALIVE = (State.RUNNING, State.CANCELLING)


class Superseded(Exception):
    """The job was given to another worker while this one was silent; whatever this run finds is dropped."""


class JobHooks:
    """The hooks of one run of one job. A run is told from an earlier one by ``attempt``."""

    def __init__(self, job: Job, *, clock: Callable[[], datetime]) -> None:
        self._id, self._attempt, self._clock = job.id, job.attempts, clock
        self._wrote = self._looked = float("-inf")
        self._is_cancelled = False

    def progress(
        self, fraction: float, *, simulated_s: float = 0.0, events: int = 0, partial: Mapping[str, Any] | None = None
    ) -> None:
        """Write how far the run is, unless it did so less than half a second ago."""
        if monotonic() - self._wrote < WRITE_EVERY_S:
            return
        self._wrote = monotonic()
        values: dict[str, Any] = {
            "fraction": min(max(float(fraction), 0.0), 1.0),
            "simulated_s": float(simulated_s),
            "events": int(events),
            "heartbeat_at": self._clock(),
        }
        if partial is not None:
            values["partial"] = plain(partial)
        if not self._write(values):
            raise Superseded

    def cancelled(self) -> bool:
        """Whether the user asked to stop; the row is read at most five times a second."""
        if not self._is_cancelled and monotonic() - self._looked >= LOOK_EVERY_S:
            self._looked = monotonic()
            state = self._state()
            if state is None:
                raise Superseded
            self._is_cancelled = state == State.CANCELLING
        return self._is_cancelled

    def _write(self, values: dict[str, Any]) -> bool:
        return bool(_of_job(self._id, attempt=self._attempt).update(**values))

    def _state(self) -> str | None:
        found: str | None = _of_job(self._id, attempt=self._attempt).values_list("state", flat=True).first()
        return found


class PartHooks(JobHooks):
    """The hooks of one run of one part: its job shows how far all of them are."""

    def __init__(self, part: JobPart, *, clock: Callable[[], datetime]) -> None:
        super().__init__(part.job, clock=clock)
        self._part = part

    def _write(self, values: dict[str, Any]) -> bool:
        so_far = values.pop("partial", None)
        if not _of_part(self._part).update(**values):
            return False
        parts.share(self._id, now=values["heartbeat_at"])
        if so_far is not None and self._part.place == 0:
            # The first part speaks for all until one of them is finished.
            alone = Job.objects.filter(id=self._id).exclude(parts__state=State.SUCCEEDED)
            alone.update(partial=so_far)
        return True

    def _state(self) -> str | None:
        found: str | None = _of_part(self._part).values_list("job__state", flat=True).first()
        return found if found in ALIVE else None


def _of_job(job_id: UUID, *, attempt: int) -> QuerySet[Job]:
    return Job.objects.filter(id=job_id, attempts=attempt, state__in=ALIVE)


def _of_part(part: JobPart) -> QuerySet[JobPart]:
    return JobPart.objects.filter(id=part.id, attempts=part.attempts, state=State.RUNNING)


@contextmanager
def beating(row: Job | JobPart) -> Iterator[None]:
    """Keep the heartbeat while a run is too busy to call its hooks (compiling a kernel, drawing a report)."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(row, stop), name=f"heartbeat-{row.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(row: Job | JobPart, stop: threading.Event) -> None:
    try:
        while not stop.wait(BEAT_EVERY_S):
            if isinstance(row, JobPart):
                _of_part(row).update(heartbeat_at=timezone.now())
            else:
                _of_job(row.id, attempt=row.attempts).update(heartbeat_at=timezone.now())
    finally:
        connections.close_all()

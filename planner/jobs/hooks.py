"""How a run speaks to its row: progress at most twice a second, cancellation at its next look, a sign of life."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Any

from django.db import connections
from django.utils import timezone

from planner.designs.serial import plain
from planner.jobs.models import Job, State

WRITE_EVERY_S = 0.5
LOOK_EVERY_S = 0.2
BEAT_EVERY_S = 10.0


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
        if not self._mine().update(**values):
            raise Superseded

    def cancelled(self) -> bool:
        """Whether the user asked to stop; the row is read at most five times a second."""
        if not self._is_cancelled and monotonic() - self._looked >= LOOK_EVERY_S:
            self._looked = monotonic()
            state = self._mine().values_list("state", flat=True).first()
            if state is None:
                raise Superseded
            self._is_cancelled = state == State.CANCELLING
        return self._is_cancelled

    def _mine(self) -> Any:
        states = (State.RUNNING, State.CANCELLING)
        return Job.objects.filter(id=self._id, attempts=self._attempt, state__in=states)


@contextmanager
def beating(job: Job) -> Iterator[None]:
    """Keep the heartbeat while a run is too busy to call its hooks (compiling a kernel, drawing a report)."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(job, stop), name=f"heartbeat-{job.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(job: Job, stop: threading.Event) -> None:
    try:
        while not stop.wait(BEAT_EVERY_S):
            mine = Job.objects.filter(id=job.id, attempts=job.attempts, state__in=(State.RUNNING, State.CANCELLING))
            mine.update(heartbeat_at=timezone.now())
    finally:
        connections.close_all()

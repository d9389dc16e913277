"""The states of a job and the only ways between them.

::

    queued ──► running ──► succeeded | failed
      │          │  ▲ silent once: queued again
      │          └─► cancelling ──► cancelled
      └─► cancelled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from planner.jobs.models import Job, JobPart, State

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.RUNNING, State.CANCELLED}),
    State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLING, State.QUEUED}),
    State.CANCELLING: frozenset({State.CANCELLED, State.FAILED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
ACTIVE = (State.QUEUED, State.RUNNING, State.CANCELLING)
FINISHED = tuple(state for state, onward in TRANSITIONS.items() if not onward)


class IllegalTransition(ValueError):
    """The table has no such way: a fault of the caller."""

    def __init__(self, *, source: State, target: State) -> None:
        super().__init__(f"a job cannot go from {source} to {target}")
        self.source, self.target = source, target


def move(job_id: UUID, *, source: State, target: State, attempt: int | None = None, **values: Any) -> bool:
    """Move a job if it is in ``source`` (and in its ``attempt``-th run, if given); whether it moved.

    One conditional UPDATE: of two movers exactly one wins. ``values`` are columns written with it. What the parts of a
    job have found is dropped with its end.
    """
    if target not in TRANSITIONS[source]:
        raise IllegalTransition(source=source, target=target)
    rows = Job.objects.filter(id=job_id, state=source)
    if attempt is not None:
        rows = rows.filter(attempts=attempt)
    moved = rows.update(state=target, **values) == 1
    if moved and target in FINISHED:
        JobPart.objects.filter(job_id=job_id, observed__isnull=False).update(observed=None)
    return moved

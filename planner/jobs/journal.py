"""The log of a job, for people."""

from __future__ import annotations

from uuid import UUID

from planner.jobs.models import JobLogLine


def log(job_id: UUID, *, event: str, text: str) -> None:
    """Add a line to the job's log."""
    JobLogLine.objects.create(job_id=job_id, event=event, text=text[:400])

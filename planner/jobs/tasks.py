"""Celery's side of jobs: it carries an id to `runner.run`, and beat's clock to the services."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from planner.designs import services as design_services
from planner.jobs import runner, services


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(self: Task, *, job_id: str, **_: Any) -> None:
    """Run one job. Soft and hard time limits come from the settings."""
    runner.run(UUID(job_id), worker=str(self.request.hostname or ""), time_limits=(SoftTimeLimitExceeded,))


@shared_task(expires=60, ignore_result=True)  # type: ignore[untyped-decorator]
def requeue_silent(**_: Any) -> None:
    services.requeue_silent(now=timezone.now())


@shared_task(expires=3600, ignore_result=True)  # type: ignore[untyped-decorator]
def purge(**_: Any) -> None:
    design_services.designs_purge(now=timezone.now())

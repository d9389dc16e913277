"""Celery's side of jobs: it carries an id to `runner.run`, and beat's clock to the services."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_init, worker_ready
from django.utils import timezone

from planner.designs import services as design_services
from planner.jobs import part_runner, runner, services, warming


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(self: Task, *, job_id: str, **_: Any) -> None:
    """Run one job. Soft and hard time limits come from the settings."""
    runner.run(UUID(job_id), worker=str(self.request.hostname or ""), time_limits=(SoftTimeLimitExceeded,))


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_part(self: Task, *, job_id: str, place: int, **_: Any) -> None:
    """Run one part of a job."""
    part_runner.run_part(
        UUID(job_id), place=place, worker=str(self.request.hostname or ""), time_limits=(SoftTimeLimitExceeded,)
    )


@shared_task(expires=60, ignore_result=True)  # type: ignore[untyped-decorator]
def requeue_silent(**_: Any) -> None:
    services.requeue_silent(now=timezone.now())


@shared_task(expires=3600, ignore_result=True)  # type: ignore[untyped-decorator]
def purge(**_: Any) -> None:
    design_services.designs_purge(now=timezone.now())


@worker_init.connect  # type: ignore[untyped-decorator]
def warm(**_: Any) -> None:
    """Compile or load the simulators' kernels before the pool forks, so that the first job starts at once."""
    warming.warm_up()


@worker_ready.connect  # type: ignore[untyped-decorator]
def take_back(sender: Any, **_: Any) -> None:
    """A worker that has just started runs nothing: what its name is on was cut off."""
    services.requeue_orphans(worker=str(sender.hostname), now=timezone.now())

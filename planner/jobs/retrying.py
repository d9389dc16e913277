"""Failed and cancelled jobs, asked for again."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner.accounts.models import User
from planner.designs import selectors as design_selectors
from planner.jobs import services, sweeps, uncertainties
from planner.jobs.models import Job, Purpose, State
from planner.jobs.requests import replications


class NotRetryable(ValueError):
    """Only failed and cancelled jobs can be tried again."""


def job_retry(*, job: Job, user: User | None) -> Job:
    """A new job with the same request, answered with today's catalog and code; raises `NotRetryable`."""
    if job.state not in (State.FAILED, State.CANCELLED):
        raise NotRetryable(_("Only failed and cancelled jobs can be tried again."))
    request = job.request
    if job.purpose == Purpose.SWEEP:
        return sweeps.sweep_again(job, user=user)
    if job.purpose == Purpose.SENSITIVITY:
        return uncertainties.again(job, user=user)
    if job.purpose == Purpose.REPORT:
        team, paper = job.team, request["paper"]
        if request["design"]:
            return services.report_start(
                team=team, user=user, design=design_selectors.design(team, request["design"]), paper=paper
            )
        comparison = design_selectors.comparison(team, request["comparison"])
        return services.report_start(team=team, user=user, comparison=comparison, paper=paper)
    return services.simulation_start(
        team=job.team,
        user=user,
        kind=request["kind"],
        spec=request["spec"],
        design=job.design,
        workload=(request["workload"] or {}).get("id"),
        replications=replications(request),
        **{name: request[name] for name in ("duration_s", "requests", "seed", "options")},
    )

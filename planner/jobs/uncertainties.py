"""Uncertainty as a job: asked for with a seed, drawn by a worker, the same inputs answered from the stored result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from planner.accounts.models import Team, User
from planner.core.simulation import Cancelled, Hooks
from planner.core.uncertainty import BATCHES, DRAWS, MOST_DRAWS
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.models import Design
from planner.designs.moving import metric_of
from planner.designs.serial import plain
from planner.designs.texts import InvalidField
from planner.designs.uncertainty import laws_of, uncertainty
from planner.jobs import services
from planner.jobs.code import code_digest
from planner.jobs.models import Job, Purpose
from planner.jobs.requests import LARGEST_SEED, key_of


def uncertainty_start(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    design: Design | None = None,
    metric: str = "",
    ranges: Mapping[str, Any] | None = None,
    draws: int = DRAWS,
    seed: int = 1,
    against: Mapping[str, Any] | None = None,
    title: str = "",
) -> Job:
    """Ask how far a figure may be off and return the job; ``against`` is another design: {name, kind, spec}.

    What cannot be drawn is refused at once: `InvalidField` names it, a spec is refused as by `estimation.estimate`.
    """
    estimate = estimation.estimate(kind=kind, spec=spec, team=team)
    definition = metric_of(estimate, name=metric)
    laws_of(estimate, ranges=ranges)
    request = {
        "kind": kind,
        "spec": estimate.spec_json,
        "metric": definition.name,
        "ranges": plain(ranges or {}),
        "draws": _whole(draws, field="draws", lowest=8 * BATCHES, highest=MOST_DRAWS),
        "seed": _whole(seed, field="seed", lowest=0, highest=LARGEST_SEED),
        "against": _against(against, team=team, metric=definition.name),
        "made_by": estimation.made_by(estimate.kind, catalog=estimate.catalog),
    }
    return services.start(
        team=team,
        user=user,
        purpose=Purpose.SENSITIVITY,
        title=title[:200] or (design.name if design else estimate.kind.label)[:200],
        design=design,
        revision=design.revision if design and design.spec == estimate.spec_json else None,
        kind=kind,
        key=key_of(purpose="uncertainty", code=code_digest(), **request),
        request=request | {"language": get_language()},
    )


def again(job: Job, *, user: User | None) -> Job:
    """The same draws with today's catalog and code."""
    names = ("kind", "spec", "metric", "ranges", "draws", "seed", "against")
    asked = {name: job.request[name] for name in names}
    return uncertainty_start(team=job.team, user=user, design=job.design, title=job.title, **asked)


def work(job: Job, hooks: Hooks) -> dict[str, Any]:
    """Draw, and return the columns of the finished row."""
    request, other = job.request, job.request["against"]
    estimate = estimation.estimate(kind=request["kind"], spec=request["spec"], team=job.team)
    against = other and estimation.estimate(kind=other["kind"], spec=other["spec"], team=job.team)

    def done(share: float) -> None:
        if hooks.cancelled():
            raise Cancelled
        hooks.progress(share, simulated_s=0.0, events=round(share * request["draws"]))

    result = uncertainty(
        estimate,
        **{name: request[name] for name in ("metric", "ranges", "seed", "draws")},
        against=against,
        against_name=other["name"] if other else "",
        done=done,
    )
    return {"result": result, "events": result["draws"]}


def _against(given: Mapping[str, Any] | None, *, team: Team, metric: str) -> dict[str, Any] | None:
    if given is None:
        return None
    try:
        other: Estimate = estimation.estimate(kind=given["kind"], spec=given["spec"], team=team)
    except estimation.CANNOT_ANSWER as problem:
        raise InvalidField(field="against", message=str(problem).splitlines()[0]) from None
    if metric not in other.result.metrics:
        raise InvalidField(field="against", message=_("The other design has no such metric."))
    return {"name": given.get("name") or other.kind.label, "kind": other.kind.slug, "spec": other.spec_json}


def _whole(value: Any, *, field: str, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        span = {"lowest": f"{lowest:,}", "highest": f"{highest:,}"}
        raise InvalidField(field=field, message=_("Give a whole number from %(lowest)s to %(highest)s.") % span)
    return value

"""Asking for a sweep: the request checked and completed, its key, and the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team, User
from planner.core.kind import DesignKind
from planner.core.search import Search
from planner.core.sweep import Limit
from planner.core.sweep_axes import BadSweep, read_axes
from planner.core.sweep_goal import read_goal
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.models import Design
from planner.designs.texts import InvalidField
from planner.jobs import services, swept
from planner.jobs.code import code_digest
from planner.jobs.models import Job, Purpose
from planner.jobs.requests import key_of

PRESETS = ("cheapest_within_slo",)
MOST_VERIFIED = 8
VERIFIED_BY_PRESET = 3


def sweep_start(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    design: Design | None = None,
    vary: Sequence[Mapping[str, Any]] = (),
    objective: str = "",
    against: str | None = None,
    constraints: Sequence[Mapping[str, Any]] = (),
    verify: int | None = None,
    preset: str = "",
    title: str = "",
) -> Job:
    """Ask for a sweep and return its job.

    What cannot be swept is refused at once: `InvalidField` names it, the spec is refused as by `estimation.estimate`.
    The same inputs as a finished sweep of the team give a job that has already succeeded with the stored result.
    """
    estimate = estimation.estimate(kind=kind, spec=spec, team=team)
    try:
        request = _request(
            estimate,
            vary=vary,
            asked={"objective": objective, "against": against, "constraints": constraints},
            verify=verify,
            preset=preset,
        )
    except BadSweep as problem:
        raise InvalidField(field=problem.field, message=problem.message) from None
    return services.start(
        team=team,
        user=user,
        purpose=Purpose.SWEEP,
        title=title[:200] or _title(estimate, request, design=design),
        design=design,
        revision=design.revision if design and design.spec == estimate.spec_json else None,
        kind=kind,
        key=key_of(purpose="sweep", code=code_digest(), **request),
        request=request | {"language": get_language()},
        parts_count=swept.part_count(request),
    )


def sweep_again(job: Job, *, user: User | None) -> Job:
    """The same sweep with today's catalog and code."""
    asked = {name: job.request[name] for name in ("kind", "spec", "objective", "against", "constraints", "verify")}
    vary = [] if job.request["preset"] else job.request["vary"]
    return sweep_start(
        team=job.team,
        user=user,
        design=job.design,
        title=job.title,
        vary=vary,
        preset=job.request["preset"],
        **asked,
    )


def _title(estimate: Estimate, request: Mapping[str, Any], *, design: Design | None) -> str:
    """Of what, and what was asked: "A fleet: Decode unit × Headroom"."""
    fields = estimate.kind.spec.model_fields
    varied = " × ".join(fields[axis["field"]].title or axis["field"] for axis in request["vary"])
    asked = varied or _("the cheapest within its objectives")
    return f"{design.name if design else estimate.kind.label}: {asked}"[:200]


def _request(
    estimate: Estimate,
    *,
    vary: Sequence[Mapping[str, Any]],
    asked: Mapping[str, Any],
    verify: int | None,
    preset: str,
) -> dict[str, Any]:
    """All that determines the result; ``vary`` with every value of a range."""
    kind, catalog = estimate.kind, estimate.catalog
    search = _search(kind, vary=vary, preset=preset)
    sought = {"objective": asked["objective"] or (search.objective if search else "")}
    goal = read_goal(kind, result=estimate.result, **{**asked, **sought})
    axes = () if preset else read_axes(kind, base=estimate.spec, vary=vary, catalog=catalog)
    return {
        "kind": kind.slug,
        "spec": estimate.spec_json,
        "preset": preset,
        "vary": [{"field": axis.field, "values": list(axis.values)} for axis in axes],
        "objective": goal.objective.name,
        "against": goal.against.name if goal.against else "",
        "constraints": [_limit(limit) for limit in goal.limits],
        "verify": _verify(verify, preset=preset),
        "made_by": estimation.made_by(kind, catalog=catalog),
    }


def _search(kind: DesignKind, *, vary: Sequence[Mapping[str, Any]], preset: str) -> Search | None:
    """The levers of a preset; None for a grid."""
    if not preset:
        return None
    if preset not in PRESETS:
        raise BadSweep(field="preset", message=_("There is one preset: %(name)s.") % {"name": PRESETS[0]})
    if vary:
        raise BadSweep(field="vary", message=_("A preset chooses what to vary; leave this out."))
    search = kinds.planning(kind.slug).search
    if search is None:
        raise BadSweep(field="preset", message=_("This kind has no search; vary fields instead."))
    return search


def _limit(limit: Limit) -> dict[str, Any]:
    side = "at_most" if limit.at_least is None else "at_least"
    return {"metric": limit.metric.name, side: limit.bound}


def _verify(count: int | None, *, preset: str) -> int:
    if count is None:
        return VERIFIED_BY_PRESET if preset else 0
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_VERIFIED:
        raise BadSweep(field="verify", message=_("Give a whole number from 0 to %(most)d.") % {"most": MOST_VERIFIED})
    return count

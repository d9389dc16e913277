"""Designs of a comparison simulated alike: the same seed and horizon draw the same requests for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.fields.json import KeyTransform
from django.utils.translation import gettext as _

from planner import charts as drawing
from planner.accounts.models import Team, User
from planner.accounts.selectors import scoped
from planner.charts import codec
from planner.core import quantities
from planner.core.compare import Compared, compare
from planner.core.result import Answer, Result
from planner.designs import compare as side_by_side
from planner.designs import selectors as design_selectors
from planner.designs.found import of_simulation
from planner.designs.models import Comparison
from planner.designs.texts import InvalidField
from planner.jobs import selectors, services
from planner.jobs.models import Job, Purpose, State
from planner.jobs.requests import key_of

ALIKE = ("seed", "duration_s", "requests", "workload", "replications")
"""What has to be equal for two runs to have met the same requests."""

MOST_RUNS = 100
"""How many of the newest simulations of a design are looked through for one that the others have too."""


def simulations_start(*, comparison: Comparison, user: User | None, **how: Any) -> list[Job]:
    """Simulate every design of a comparison with the same seed and horizon; ``how`` as `services.simulation_start`."""
    team = comparison.team
    jobs = []
    for item in comparison.items:
        if "found" in item:
            continue
        design = design_selectors.design(team, item["design"]) if "design" in item else None
        asked = {"kind": design.kind, "spec": design.spec} if design else {"kind": item["kind"], "spec": item["spec"]}
        jobs.append(services.simulation_start(team=team, user=user, design=design, **asked, **how))
    return jobs


def with_simulations(items: Sequence[Mapping[str, Any]], *, team: Team) -> list[dict[str, Any]]:
    """Items of a comparison with what each ``{"simulation": job}`` among them has found; raises `InvalidField`."""
    return [
        _simulation_item(item, place=f"items/{place}/simulation", team=team) if "simulation" in item else dict(item)
        for place, item in enumerate(items)
    ]


def _simulation_item(item: Mapping[str, Any], *, place: str, team: Team) -> dict[str, Any]:
    try:
        job = selectors.job(team, str(item["simulation"]))
    except Job.DoesNotExist:
        raise InvalidField(field=place, message=_("No such simulation in this team.")) from None
    if job.purpose != Purpose.SIMULATION or job.state != State.SUCCEEDED:
        raise InvalidField(field=place, message=_("Only a finished simulation can be compared."))
    found = of_simulation(
        name=job.title,
        kind=job.kind,
        about=_about(job.request),
        metrics=selectors.simulated_metrics(job),
    )
    return {"simulation": str(job.id), "found": found}


def _about(request: Mapping[str, Any]) -> str:
    """How a simulation was run, in words."""
    parts = [(request["workload"] or {}).get("name") or "", _("seed %(seed)s") % {"seed": request["seed"]}]
    if request["duration_s"]:
        parts.append(quantities.show(request["duration_s"], "s"))
    return ", ".join(part for part in parts if part)


def simulated_view(view: Mapping[str, Any], *, team: Team) -> dict[str, Any] | None:
    """The newest simulations that all designs of a comparison's picture have alike; None if there are none.

    ``{seed, duration_s, requests, workload, replications, jobs: [id], metrics: [{name: group, rows: [MR]}], charts}``
    with MR as in `designs.compare`.
    """
    if any(item["spec"] is None for item in view["items"]):
        return None
    by_item = [_runs(item, team=team) for item in view["items"]]
    alike = set.intersection(*(set(runs) for runs in by_item))
    if not alike:
        return None
    chosen = max(alike, key=lambda key: min(runs[key].created_at for runs in by_item))
    runs = [found[chosen] for found in by_item]
    results = Job.objects.only("id", "kind", "result").in_bulk([run.job_id for run in runs])
    jobs = [results[run.job_id] for run in runs]
    labels = [f"{item['label']} {item['name']}" for item in view["items"]]
    return {
        **runs[0].how,
        "jobs": [str(job.id) for job in jobs],
        "metrics": metrics_of(jobs, labels=labels),
        "charts": overlays(jobs, labels=labels),
    }


@dataclass(frozen=True, slots=True)
class Run:
    """A finished simulation by how it was run, without its (large) result."""

    job_id: UUID
    created_at: datetime
    how: Mapping[str, Any]


def _runs(item: Mapping[str, Any], *, team: Team) -> dict[str, Run]:
    """Finished simulations of an item's spec, the newest of each way to run."""
    found = scoped(Job.objects.all(), team).filter(
        purpose=Purpose.SIMULATION, state=State.SUCCEEDED, kind=item["kind"]["slug"], request__spec=item["spec"]
    )
    rows = found.order_by("-created_at").values_list(
        "id", "created_at", *(KeyTransform(name, "request") for name in ALIKE)
    )
    newest = [Run(job_id, at, dict(zip(ALIKE, how, strict=True))) for job_id, at, *how in rows[:MOST_RUNS]]
    return {key_of(**run.how): run for run in reversed(newest)}


def metrics_of(jobs: Sequence[Job], *, labels: Sequence[str]) -> list[dict[str, Any]]:
    """What finished simulations have found, side by side; the first is the baseline."""
    compared = [
        Compared(label, job.kind, {}, Result(selectors.simulated_metrics(job), Answer("", "", cost_metric=None)))
        for label, job in zip(labels, jobs, strict=True)
    ]
    groups = compare(compared).groups
    return [{"name": name, "rows": [side_by_side.metric_row(row) for row in rows]} for name, rows in groups.items()]


def overlays(jobs: Sequence[Job], *, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Their charts that a comparison shows, each once with all of them in it."""
    by_name: dict[str, dict[str, Any]] = {}
    for label, job in zip(labels, jobs, strict=True):
        for written in (job.result or {}).get("charts", []):
            if written.get("compare"):
                by_name.setdefault(written["name"], {})[label] = codec.chart_from_dict(written)
    return [codec.to_dict(drawing.overlay(found)) for found in by_name.values() if len(found) > 1]

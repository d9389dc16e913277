"""Drills: a preset of a kind played on variants of a design, whose runs are ordinary jobs with the same requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team, User
from planner.accounts.selectors import scoped
from planner.core import quantities
from planner.core.kind import DesignKind, Spec
from planner.core.result import Result, Series
from planner.core.simulation import Drill as Preset
from planner.core.simulation import Drilled, DrillVariant
from planner.core.table import filled
from planner.core.timeline import PHASES
from planner.designs import estimation, serial
from planner.designs import selectors as design_selectors
from planner.designs import services as designs
from planner.designs.compare import LABELS, comparison_view
from planner.designs.models import Comparison, Design, Drill
from planner.designs.texts import InvalidField
from planner.jobs import compared, selectors, services, states
from planner.jobs.models import Job, State
from planner.jobs.requests import key_of, simulator_of
from planner.jobs.timelines import board_of, board_view

MADE_BY_RUN = ("result", "document", "partial")
_BEST = (State.SUCCEEDED, *states.ACTIVE, State.FAILED, State.CANCELLED)


def preset_of(kind: DesignKind, *, name: str) -> Preset:
    """The kind's drill of this name; raises `InvalidField` where it has none."""
    known = {preset.name: preset for preset in simulator_of(kind).drills}
    if name not in known:
        names = ", ".join(known) or _("none")
        raise InvalidField(field="drill", message=_("No such drill; there are %(names)s.") % {"names": names})
    return known[name]


@transaction.atomic
def drill_start(
    *,
    team: Team,
    user: User | None,
    kind: str,
    spec: Mapping[str, Any],
    name: str,
    design: Design | None = None,
    seed: int | None = None,
) -> Drill:
    """Simulate all variants of a drill and keep them side by side; raises as `services.simulation_start`.

    The same drill on the same inputs is kept once: asked for again it is given back, with its runs.
    """
    estimate = estimation.estimate(kind=kind, spec=spec, team=team)
    preset = preset_of(estimate.kind, name=name)
    how = dict(preset.how(estimate.spec, estimate.catalog)) | ({} if seed is None else {"seed": seed})
    variants = list(preset.variants(estimate.spec, estimate.catalog))
    subject = design.name if design else estimate.kind.label
    items = [_item(variant, kind=estimate.kind, spec=estimate.spec_json) for variant in variants]
    jobs = [
        services.simulation_start(
            team=team, user=user, kind=kind, spec=item["spec"], design=design, title=f"{subject}: {item['name']}", **how
        )
        for item in items
    ]
    key = key_of(purpose="drill", name=name, subject=subject, runs=[job.key for job in jobs])
    kept = design_selectors.drills(team).filter(key=key).first()
    if kept is not None:
        return kept
    title = f"{preset.label}: {subject}"[:160]
    return Drill.objects.create(
        comparison=designs.comparison_create(team=team, user=user, items=items, name=title),
        team=team,
        kind=kind,
        name=name,
        design=design,
        design_revision=design.revision if design and design.spec == estimate.spec_json else None,
        how=serial.plain(how),
        runs=[{"label": item["name"], "key": job.key} for item, job in zip(items, jobs, strict=True)],
        key=key,
    )


def drill_again(*, drill: Drill, user: User | None) -> Drill:
    """Run what failed or was cancelled again: the drill itself where nothing else changed, else a new one.

    Raises as `drill_start`.
    """
    first = drill.comparison.items[0]
    return drill_start(
        team=drill.team,
        user=user,
        kind=drill.kind,
        spec=first["spec"],
        name=drill.name,
        design=drill.design,
        seed=drill.how.get("seed"),
    )


def drill_view(drill: Drill, *, now: datetime | None = None) -> dict[str, Any]:
    """The whole picture::

    id, name, label, question, title, kind {slug, label}, design {id, name, revision} or null, created_at
    how      {seed, duration_s, options}
    state, is_active, fraction, percent, eta_s     of all runs together
    answer   the sentence, once all have succeeded
    runs     [{label: "A", order, name, changes: {field: value}, spec, job: row of `selectors.job_row` or null}]
    phases   {columns: [label], names, rows: [{run, order, cells: [text], full}]} or null  ⎫
    metrics  [{name: group, rows: [MR of `designs.compare`]}]                        ⎬ once all have succeeded
    charts, board (`timelines.board_view`) or null                                   ⎭
    """
    jobs = _jobs(drill)
    rows = [None if job is None else selectors.job_row(job, now=now) for job in jobs]
    done = [job for job in jobs if job is not None and job.state == State.SUCCEEDED]
    view = {**_head(drill), **_progress(rows), "runs": _runs(drill, rows=rows)}
    if len(done) < len(jobs):
        return {**view, "answer": None, "phases": None, "metrics": [], "charts": [], "board": None}
    return {**view, **_found(drill, jobs=done, runs=view["runs"])}


def found_of(comparison: Comparison) -> dict[str, Any]:
    """What a stranger may see of what was simulated of a comparison: ``{simulated, drill}``, null where nothing was."""
    view = comparison_view(comparison)
    simulated = compared.simulated_view(view, team=comparison.team)
    drill = design_selectors.drills(comparison.team).filter(comparison=comparison).first()
    played = drill_view(drill) if drill else None
    if played is None or not played["metrics"]:
        return {"simulated": simulated, "drill": None}
    shown = ("question", "label", "answer", "phases", "metrics", "charts", "board")
    runs = [{name: run[name] for name in ("label", "order", "name")} for run in played["runs"]]
    return {"simulated": None, "drill": {**{name: played[name] for name in shown}, "runs": runs}}


def _item(variant: DrillVariant, *, kind: DesignKind, spec: Mapping[str, Any]) -> dict[str, Any]:
    changed = estimation.parse_spec(kind, spec={**spec, **variant.changes})
    return {"kind": kind.slug, "spec": changed.model_dump(mode="json"), "name": variant.label}


def _jobs(drill: Drill) -> list[Job | None]:
    """The job of each run: of those with its key the one that got furthest."""
    keys = [run["key"] for run in drill.runs]
    found = scoped(Job.objects.select_related("created_by"), drill.team).filter(key__in=keys)
    best: dict[str, Job] = {}
    for job in found.defer(*MADE_BY_RUN).order_by("created_at"):
        held = best.get(job.key)
        if held is None or _BEST.index(State(job.state)) <= _BEST.index(State(held.state)):
            best[job.key] = job
    return [best.get(key) for key in keys]


def _head(drill: Drill) -> dict[str, Any]:
    kind = kinds.all_kinds().get(drill.kind)
    preset = preset_of(kind, name=drill.name) if kind and _is_known(kind, drill.name) else None
    design = drill.design if drill.design and drill.design.deleted_at is None else None
    return {
        "id": str(drill.comparison_id),
        "name": drill.name,
        "label": preset.label if preset else drill.comparison.name,
        "question": preset.question if preset else drill.comparison.name,
        "title": drill.comparison.name,
        "kind": {"slug": drill.kind, "label": kind.label if kind else drill.kind},
        "design": {"id": str(design.id), "name": design.name, "revision": drill.design_revision} if design else None,
        "created_at": drill.comparison.created_at.isoformat(),
        "how": drill.how,
    }


def _is_known(kind: DesignKind, name: str) -> bool:
    return kind.simulator is not None and any(preset.name == name for preset in kind.simulator.drills)


def _progress(rows: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Of all runs: under way while one is, failed once one has."""
    known = [row for row in rows if row is not None]
    active = [row for row in known if row["is_active"]]
    found = [row["state"] for row in known]
    if len(known) < len(rows):
        found.append(State.FAILED)
    fraction = sum(row["fraction"] for row in known) / max(len(rows), 1)
    left = [row["eta_s"] for row in active]
    return {
        "state": next((str(state) for state in _WORST if state in found), str(State.SUCCEEDED)),
        "is_active": bool(active),
        "fraction": fraction,
        "percent": int(100 * fraction),
        "eta_s": max(left) if left and None not in left else None,
    }


_WORST = (State.RUNNING, State.CANCELLING, State.QUEUED, State.FAILED, State.CANCELLED)


def _runs(drill: Drill, *, rows: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    items = drill.comparison.items
    first = items[0]["spec"]
    return [
        {
            "label": LABELS[order],
            "order": order,
            "name": item["name"],
            "changes": {name: value for name, value in item["spec"].items() if first.get(name) != value},
            "spec": item["spec"],
            "job": row,
        }
        for order, (item, row) in enumerate(zip(items, rows, strict=True))
    ]


def _found(drill: Drill, *, jobs: Sequence[Job], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What finished runs have shown, side by side."""
    whole = Job.objects.only("id", "kind", "result", "request").in_bulk([job.id for job in jobs])
    jobs = [whole[job.id] for job in jobs]
    labels = [f"{run['label']} {run['name']}" for run in runs]
    results = {label: serial.result_from(job.result or {}) for label, job in zip(labels, jobs, strict=True)}
    found = board_of(results)
    return {
        "answer": _answer(drill, jobs=jobs, results=list(results.values())),
        "phases": _phases(results),
        "metrics": compared.metrics_of(jobs, labels=labels),
        "charts": compared.overlays(jobs, labels=labels),
        "board": board_view(found) if found else None,
    }


def _answer(drill: Drill, *, jobs: Sequence[Job], results: Sequence[Result]) -> str | None:
    """The sentence of the kind; None where its code no longer knows the drill or the inputs."""
    kind = kinds.all_kinds().get(drill.kind)
    if kind is None or not _is_known(kind, drill.name):
        return None
    items = drill.comparison.items
    specs: list[Spec] = [estimation.parse_spec(kind, spec=item["spec"]) for item in items]
    drilled = [
        Drilled(item["name"], spec, serial.result_from((job.result or {})["estimate"]), result)
        for item, spec, job, result in zip(items, specs, jobs, results, strict=True)
    ]
    return preset_of(kind, name=drill.name).answer(drilled)


def _phases(results: Mapping[str, Result]) -> dict[str, Any] | None:
    """What each run was like before, during and after: the series of the kind as a table of texts."""
    tables = {name: series for name, result in results.items() if (series := filled(result, PHASES))}
    if not tables:
        return None
    columns = next(iter(tables.values())).columns
    return {
        "columns": [column.label for column in columns],
        "names": [column.name for column in columns],
        "rows": [
            {"run": name, "order": order, **_phase(tables[name], place)}
            for order, name in enumerate(results)
            if name in tables
            for place in range(len(tables[name].columns[0].values))
        ],
    }


def _phase(series: Series, place: int) -> dict[str, Any]:
    """A row as it is read, and its figures in base units."""
    values = [column.values[place] for column in series.columns]
    texts = [
        value if isinstance(value, str) else quantities.show(value, column.unit)
        for value, column in zip(values, series.columns, strict=True)
    ]
    return {"cells": texts, "full": values}

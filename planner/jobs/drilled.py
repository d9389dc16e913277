"""What a drill shows: how far its runs are, then its answer with all that stands behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from planner import kinds
from planner.accounts.selectors import scoped
from planner.charts.board import board, clock
from planner.core import quantities
from planner.core.kind import DesignKind, Spec
from planner.core.result import Column, Result, Series
from planner.core.simulated import NOW
from planner.core.simulation import Drilled
from planner.core.table import filled
from planner.core.timeline import PHASES, TIMELINE
from planner.designs import estimation, serial
from planner.designs import selectors as design_selectors
from planner.designs.compare import LABELS, comparison_view
from planner.designs.models import Comparison, Drill
from planner.jobs import compared, selectors, states
from planner.jobs.drills import preset_of
from planner.jobs.models import Job, State
from planner.jobs.timelines import board_of, board_view

MADE_BY_RUN = ("result", "document", "partial")
_BEST = (State.SUCCEEDED, *states.ACTIVE, State.FAILED, State.CANCELLED)


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
        return {
            **view,
            "answer": None,
            "phases": None,
            "metrics": [],
            "charts": [],
            "board": _so_far(jobs, runs=view["runs"]),
        }
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


def _so_far(jobs: Sequence[Job | None], *, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What the runs have told, those that are done and those under way, along one time; None before there is a line."""
    told = Job.objects.only("id", "kind", "partial", "request", "result").in_bulk([job.id for job in jobs if job])
    lines = {
        f"{run['label']} {run['name']}": _line(told[job.id]) if job else _NO_LINE
        for run, job in zip(runs, jobs, strict=True)
    }
    ends_s = [run["job"]["horizon_s"] or 0.0 for run in runs if run["job"]]
    drawn = board(lines, end_s=max(ends_s, default=0.0))
    return {**board_view(drawn), "grows": True} if drawn else None


def _line(job: Job) -> Series:
    """The course of a run so far, or of one that is done what the others can tell as well."""
    whole = (job.result or {}).get("series", {}).get(TIMELINE)
    if whole is None:
        return selectors.course_so_far(job) or _NO_LINE
    series = serial.series_from(TIMELINE, whole)
    return Series(TIMELINE, "", tuple(each for each in series.columns if each.name in ("time_s", *NOW)))


_NO_LINE = Series(TIMELINE, "", (Column("time_s", "", "s", ()),))


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
    texts = [_text(value, column=column) for value, column in zip(values, series.columns, strict=True)]
    return {"cells": texts, "full": values}


def _text(value: float | str | None, *, column: Column) -> str:
    """A cell; the ends of a stretch as the clock of the run shows them."""
    if value is None or isinstance(value, str):
        return value or "—"
    return clock(value) if column.name in ("from_s", "to_s") else quantities.show(value, column.unit)

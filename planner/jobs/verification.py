"""The best points of a sweep held against simulations, which are jobs of their own and all draw the same requests.

The sweep's result keeps their ids; how they went is read from them whenever the result is shown, so a sweep has
succeeded when its points are known, and a simulation that is run again, lost or cancelled is the business of its job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models.fields.json import KeyTransform
from django.utils.translation import gettext as _

from planner.accounts.models import Team
from planner.accounts.selectors import row_id, scoped
from planner.core.batch import missed
from planner.core.quantities import show
from planner.core.result import Metric
from planner.core.sweep import Sweep
from planner.designs import estimation, serial
from planner.designs.estimation import Estimate
from planner.designs.texts import InvalidField
from planner.jobs import services
from planner.jobs.models import Job, State
from planner.jobs.states import ACTIVE

SEED = 1
"""Of all of them: designs of one load then meet the same requests."""
UNSURE = ("not_steady", "still_filling", "cut_short", "stuck")
"""Findings of a run whose figures are not yet those of the long run."""
IMPOSSIBLE, GONE = "impossible", "deleted"
"""States beside those of jobs: it cannot be simulated; its job is there no more."""


def begin(job: Job, base: Estimate, found: Sweep, *, count: int) -> list[dict[str, Any]]:
    """Ask for simulations of the best points: ``[{place, job, state, seed, reason}]``.

    Where that was done before, by a worker that died over it, they are those that are there.
    """
    return [_begun(job, base, found, place) for place in picked(found, count=count)]


def picked(found: Sweep, *, count: int) -> list[int]:
    """The best and the points of the front that come nearest to it; of equal ones the first."""
    if found.best is None or not count:
        return []
    objective = found.points.figures[found.goal.objective.name]
    against = found.points.figures[found.goal.against.name] if found.goal.against else objective
    best = objective[found.best] or 0.0
    order = sorted(found.front, key=lambda place: (place != found.best, abs((objective[place] or 0.0) - best), place))
    unlike = {(objective[place], against[place]): place for place in reversed([found.best, *order])}
    return [place for place in dict.fromkeys([found.best, *order]) if place in unlike.values()][:count]


def told(result: Mapping[str, Any], *, team: Team) -> list[dict[str, Any]]:
    """How the simulations of a sweep's result went.

    ``[{place, job, state, seed, meets, figures {metric: {estimate, simulated, low, high}}, reason}]``; ``meets`` is
    None where it cannot be said: not yet, not steady, the limit within the interval, or no limit on what is simulated.
    """
    kept = result.get("verified", [])
    jobs = _jobs([row["job"] for row in kept if row["job"]], team=team)
    return [_told(row, jobs.get(row["job"]), result=result) for row in kept]


def answered(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer of a sweep with what the simulations (``rows`` of `told`) say of it.

    ``verified_best`` is the best place whose simulation holds every limit; ``simulated`` says in words whether that of
    the best does, and which point to take where it does not.
    """
    upheld = [row["place"] for row in rows if row["meets"]]
    figures = result["points"]["figures"][result["objective"]["metric"]]
    sign = -1.0 if result["objective"]["direction"] == "higher" else 1.0
    taken = min(upheld, key=lambda place: (sign * (figures[place] or 0.0), place), default=None)
    if result["best"] in upheld:
        taken = result["best"]
    said = _said(rows, best=result["best"], taken=taken, at=lambda place: _figure(result, figures[place]))
    return {**result["answer"], "verified_best": taken, "simulated": said}


def _figure(result: Mapping[str, Any], value: float | None) -> str:
    return show(value, result["objective"]["unit"])


def _said(rows: Sequence[Mapping[str, Any]], *, best: int | None, taken: int | None, at: Callable[[int], str]) -> str:
    mine = next((row for row in rows if row["place"] == best and row["state"] == State.SUCCEEDED), None)
    if mine is None:
        return ""
    if mine["meets"]:
        return _("Its simulation holds every limit that can be simulated.")
    if mine["meets"] is None:
        return _("Its simulation does not decide: %(reason)s") % {"reason": mine["reason"]}
    misses = _("Its simulation misses a limit: %(reason)s") % {"reason": mine["reason"]}
    if taken is not None:
        holds = _("Point #%(number)d at %(figure)s holds in simulation.") % {"number": taken + 1, "figure": at(taken)}
    elif any(row["state"] in ACTIVE for row in rows):
        holds = _("The others are still being simulated.")
    else:
        holds = _(
            "None of the points simulated is shown to hold: simulate more of them, or leave headroom in the limit."
        )
    return f"{misses} {holds}"


def _begun(job: Job, base: Estimate, found: Sweep, place: int) -> dict[str, Any]:
    spec = {**base.spec_json, **serial.plain(found.points.change(place))}
    row: dict[str, Any] = {"place": place, "job": None, "state": IMPOSSIBLE, "seed": SEED, "reason": None}
    try:
        started = services.simulation_start(
            team=job.team,
            user=job.created_by,
            kind=base.kind.slug,
            spec=spec,
            seed=SEED,
            title=_("%(title)s, point %(number)d") % {"title": job.title, "number": place + 1},
        )
    except (*estimation.CANNOT_ANSWER, InvalidField, ValueError) as error:
        return {**row, "reason": getattr(error, "message", "") or str(error)}
    return {**row, "job": str(started.id), "state": started.state}


def _jobs(ids: Sequence[str], *, team: Team) -> dict[str, dict[str, Any]]:
    found = scoped(Job.objects.all(), team).filter(id__in=[row_id(one) for one in ids])
    rows = found.values(
        "id",
        "state",
        "error",
        simulated=KeyTransform("metrics", "result"),
        findings=KeyTransform("findings", "result"),
        estimated=KeyTransform("estimate", "request"),
    )
    return {str(row["id"]): dict(row) for row in rows}


def _told(row: Mapping[str, Any], job: Mapping[str, Any] | None, *, result: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"meets": None, "figures": {}}
    if row["job"] is None:
        return {**row, **empty}
    if job is None:
        return {**row, **empty, "state": GONE, "reason": _("Its simulation has been deleted.")}
    if not job["simulated"]:
        return {**row, **empty, "state": job["state"], "reason": (job["error"] or {}).get("message")}
    simulated, estimated = _metrics(job["simulated"]), _metrics(job["estimated"] or {})
    meets, reason = _verdict(simulated, estimated, result=result, findings=job["findings"] or [])
    names = [metric["name"] for metric in result["metrics"]]
    shown = [name for name in names if name in simulated and name in estimated]
    figures = {name: _beside(estimated[name], simulated[name]) for name in shown}
    return {**row, "state": job["state"], "meets": meets, "figures": figures, "reason": reason}


def _metrics(written: Mapping[str, Any]) -> dict[str, Metric]:
    return {name: serial.metric_from(name, metric) for name, metric in written.items()}


def _beside(estimated: Metric, simulated: Metric) -> dict[str, float | None]:
    told = {"estimate": estimated.value, "simulated": simulated.value}
    return {**told, "low": simulated.low, "high": simulated.high}


def _verdict(
    simulated: Mapping[str, Metric],
    estimated: Mapping[str, Metric],
    *,
    result: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
) -> tuple[bool | None, str | None]:
    """Whether every limit on what is simulated holds, beyond the doubt of its interval; and what speaks against it."""
    held = [_held(metric, bound, is_least) for metric, bound, is_least in _limits(simulated, estimated, result=result)]
    broken = next((reason for holds, reason in held if holds is False), None)
    failed = next((str(one["message"]) for one in findings if one["severity"] == "error"), None)
    if broken or failed:
        return False, broken or failed
    unsure = next((str(one["message"]) for one in findings if one["code"] in UNSURE), None)
    if unsure:
        return None, unsure
    if not held:
        return None, _("None of the limits is on a figure that is simulated.")
    open_ = next((reason for holds, reason in held if holds is None), None)
    return (None, open_) if open_ else (True, None)


def _limits(
    simulated: Mapping[str, Metric], estimated: Mapping[str, Metric], *, result: Mapping[str, Any]
) -> Iterator[tuple[Metric, float, bool]]:
    """Objectives of the point itself and those that the sweep adds, of figures that are simulated."""
    for name, metric in simulated.items():
        own = metric.objective if metric.objective is not None else getattr(estimated.get(name), "objective", None)
        if own is not None:
            yield metric, own, metric.definition.direction == "higher"
    for limit in result["constraints"]:
        if limit["metric"] in simulated and not limit["own"]:
            is_least = "at_least" in limit
            yield simulated[limit["metric"]], limit["at_least" if is_least else "at_most"], is_least


def _held(metric: Metric, bound: float, is_least: bool) -> tuple[bool | None, str | None]:
    label, value = metric.definition.label, metric.value
    if value is None:
        return None, _("%(label)s has no figure in the simulation.") % {"label": label}
    low, high = (value if metric.low is None else metric.low), (value if metric.high is None else metric.high)
    if low < bound < high:
        return None, _("The interval of %(label)s holds its limit: simulate longer to tell.") % {"label": label}
    if (value < bound) if is_least else (value > bound):
        return False, missed(metric.definition, value=value, limit=bound)
    return True, None

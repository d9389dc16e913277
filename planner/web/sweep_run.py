"""One sweep as its page shows it: where it stands, its answer, front, points and what came near."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from planner import kinds
from planner.accounts.models import Team
from planner.core.quantities import show, show_parts
from planner.core.result import Metric
from planner.designs import estimation
from planner.designs.models import Design
from planner.jobs import selectors
from planner.jobs.models import Job, State
from planner.jobs.states import ACTIVE
from planner.web import sweep_points
from planner.web.sweep_chart import front_chart
from planner.web.sweep_words import MOST_COLUMNS, Words, point_words, words_of
from planner.web.views.jobs import progress_of

MOST_FRONT = 12
PRESET = "cheapest_within_slo"
CHECKED = {
    True: gettext_lazy("verified by simulation"),
    False: gettext_lazy("misses in simulation"),
    None: gettext_lazy("simulated, not decided"),
}
TONES = {State.SUCCEEDED: "ok", State.FAILED: "error", State.CANCELLED: "warning"}


def run_row(job: Job, *, design: Design | None = None) -> dict[str, Any]:
    """The head of a sweep: state, progress, of which revision, and whether the design has moved on since."""
    row = selectors.job_row(job)
    stale = design is not None and job.request.get("spec") != design.spec
    return {
        **row,
        "url": url_of(job),
        "heading": heading(job),
        "tone": TONES.get(State(job.state), "info"),
        "state_words": State(job.state).label,
        "progress": progress_of(row) and f"{progress_of(row)}.",
        "revision": job.design_revision,
        "stale": stale,
        "at": job.created_at,
    }


def url_of(job: Job) -> str:
    """The page of a sweep: that of its design, where it still has one."""
    if job.design_id and job.design and not job.design.deleted_at:
        return reverse("web:design-sweep-run", args=[job.design_id, job.id])
    return reverse("web:sweep", args=[job.id])


def heading(job: Job) -> str:
    """What was asked, in a line."""
    if job.request.get("preset") == PRESET:
        return _("Cheapest design that meets the objectives")
    names = [one["field"] for one in job.request.get("vary") or []]
    fields = kinds.get(job.kind).spec.model_fields if job.kind in kinds.all_kinds() else {}
    labels = [(fields[name].title or name) if name in fields else name for name in names]
    return " × ".join(labels) or _("Sweep")


def result_of(job: Job) -> Mapping[str, Any] | None:
    """The result, with how the simulations of its best went by now; before it is there, what is known so far."""
    found = selectors.result(job) if job.result else job.partial
    return found if found and "points" in found else None


def run_context(job: Job, *, team: Team, design: Design | None, data: Any) -> dict[str, Any]:
    """Everything `sweeps/run.html` shows; ``data`` are the filters of the address."""
    run, result = run_row(job, design=design), result_of(job)
    told = {"heading": run["heading"], "title": _title(run, design=design), "opens": _opens(job.id)}
    context: dict[str, Any] = {"run": run, "design": design, **told}
    if result is None:
        return context
    words = words_of(job.kind, team=team)
    chart = front_chart(result, present=_present(job, team=team), words=words, opens=context["opens"])
    if run["is_active"]:
        return {**context, "chart": chart, "run": {**run, "count_words": _so_far(result)}}
    asked = sweep_points.asked_of(data, result=result)
    return {
        **context,
        "run": {**run, "count_words": _counted(result), "checking": _checking(result)},
        "result": result,
        "chart": chart,
        "answer": _answer(job, result=result),
        "points": sweep_points.points_page(result, asked=asked, words=words),
        "front": _front(result, words=words),
        "runners_up": [_runner_up(result, one, words=words) for one in result["runners_up"]],
        "searched": len(result["fields"]) > MOST_COLUMNS,
        **_made(result.get("provenance") or {}),
    }


def change_of(job: Job, *, place: int) -> dict[str, Any] | None:
    """All that a point changes of the base; None where there is no such design."""
    result = job.result or job.partial
    if not result or "points" not in result or not 0 <= place < result["points"]["count"]:
        return None
    points = result["points"]
    if points["status"][place] == "refused":
        return None
    changes = result.get("changes")
    return dict(changes[place]) if changes else {name: column[place] for name, column in points["values"].items()}


def spec_of(job: Job, *, place: int) -> dict[str, Any] | None:
    """The complete spec of a point."""
    change = change_of(job, place=place)
    return None if change is None else {**job.request["spec"], **change}


def name_of(job: Job, *, place: int, team: Team) -> str:
    """What a point is called in a comparison."""
    result = job.result or job.partial or {}
    return point_words(result, place, words=words_of(job.kind, team=team))[:160]


def _opens(job_id: UUID) -> str:
    return reverse("web:sweep-open", args=[job_id, 0]).removesuffix("0/")


def _title(run: Mapping[str, Any], *, design: Design | None) -> str:
    """The page and its subject, before them how far it is."""
    subject = _("Sweep: %(name)s") % {"name": design.name if design else run["heading"]}
    return f"{run['percent']} % · {subject}" if run["is_active"] else subject


def _made(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What made the figures; what a search took its prices from and what it left out, in tables of their own."""
    tables = {name: value for name, value in provenance.items() if isinstance(value, Mapping) and value}
    return {
        "provenance": {name: value for name, value in provenance.items() if name not in tables},
        "sources": [
            {"title": name.replace("_", " "), "rows": [(key, _line(row)) for key, row in table.items()]}
            for name, table in tables.items()
        ],
    }


def _line(row: Any) -> str:
    return ", ".join(str(value) for value in row.values()) if isinstance(row, Mapping) else str(row)


def _present(job: Job, *, team: Team) -> Mapping[str, Metric]:
    """The figures of the design that was varied."""
    try:
        return estimation.estimate(kind=job.kind, spec=job.request["spec"], team=team).result.metrics
    except estimation.CANNOT_ANSWER:
        return {}


def _so_far(result: Mapping[str, Any]) -> str:
    return _("%(n)s designs so far") % {"n": f"{result['points']['count']:,}"}


def _checking(result: Mapping[str, Any]) -> str:
    """How far the simulations of the best are; "" where none is under way."""
    states = [row["state"] for row in result["verified"]]
    under_way = sum(state in ACTIVE for state in states)
    said = {"done": len(states) - under_way, "of": len(states)}
    return _("%(done)d of %(of)d simulations done") % said if under_way else ""


def _counted(result: Mapping[str, Any]) -> str:
    count = result["points"]["count"]
    said = [ngettext("%(n)s design", "%(n)s designs", count) % {"n": f"{count:,}"}]
    if result.get("seconds"):
        said.append(_("%(time)s of estimates") % {"time": show(result["seconds"], "s")})
    verified = [row for row in result.get("verified", ()) if row["state"] == State.SUCCEEDED]
    if verified:
        said.append(_("%(n)d verified") % {"n": len(verified)})
    if missing := sum(row["meets"] is False for row in verified):
        said.append(
            ngettext("%(n)d of them misses in simulation", "%(n)d of them miss in simulation", missing) % {"n": missing}
        )
    return ", ".join(said)


def _answer(job: Job, *, result: Mapping[str, Any]) -> dict[str, Any]:
    """The answer card: the figure of the best, or that none meets all."""
    found = result["answer"]
    best = result["best"]
    value = found.get("value")
    number, unit = ("", "") if value is None else show_parts(value, result["objective"]["unit"])
    checked = next((row for row in result.get("verified", ()) if row["place"] == best), None)
    meets = checked["meets"] if checked and checked["state"] == State.SUCCEEDED else None
    note = result["objective"]["label"]
    if found.get("simulated"):
        note += f" · {CHECKED[meets]}"
    instead = found.get("verified_best") if meets is False else None
    return {
        "figure": number,
        "unit": unit,
        "full": value,
        "sentence": found["sentence"],
        "note": note,
        "tone": "error" if best is None else "warning" if meets is False else "ok",
        "simulated": found.get("simulated", ""),
        "simulated_icon": {True: "ok", False: "error", None: "warning"}[meets],
        "instead": None if instead is None else {"number": instead + 1, "url": f"{_opens(job.id)}{instead}/"},
        "open_url": f"{_opens(job.id)}{best}/" if best is not None else "",
    }


def _front(result: Mapping[str, Any], *, words: Words) -> list[dict[str, Any]]:
    """The front, best first and of equal points the first; of a long one the part about the best."""
    figures = result["points"]["figures"]
    objective = figures[result["objective"]["metric"]]
    against = figures[result["against"]["metric"]] if result["against"] else objective
    sign = -1.0 if result["objective"]["direction"] == "higher" else 1.0
    ordered = sorted(result["front"], key=lambda place: (sign * (objective[place] or 0.0), place))
    unlike = {(objective[place], against[place]): place for place in reversed(ordered)}
    kept = [place for place in ordered if place in unlike.values()]
    return sweep_points.rows_of(result, kept[:MOST_FRONT], words=words)


def _runner_up(result: Mapping[str, Any], one: Mapping[str, Any], *, words: Words) -> dict[str, Any]:
    value = result["points"]["figures"][result["objective"]["metric"]][one["place"]]
    return {
        "place": one["place"],
        "number": one["place"] + 1,
        "words": point_words(result, one["place"], words=words),
        "figure": show(value, result["objective"]["unit"]) if value is not None else "",
        "missed": one["binding"] is not None,
        "reason": one["reason"],
    }

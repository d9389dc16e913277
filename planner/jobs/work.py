"""What each purpose of a job computes: from the request to the columns of the finished row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from planner.catalog import selectors as catalog_selectors
from planner.catalog.models import Workload
from planner.charts import codec
from planner.core.replications import banded
from planner.core.simulation import Hooks, SimulationRequest, Simulator
from planner.designs import compare, estimation, selectors, sensitivity_charts, serial, snapshot
from planner.designs.estimation import Estimate
from planner.designs.models import Comparison, Design, Revision
from planner.designs.texts import InvalidField
from planner.jobs import parts, swept, uncertainties
from planner.jobs.course import Remembered
from planner.jobs.drilled import found_of
from planner.jobs.models import Job, JobPart, Purpose
from planner.jobs.requests import expected, replications, run_request, simulator_of, trial_of


def do(job: Job, *, hooks: Hooks) -> dict[str, Any]:
    """Do the work and return the columns to store."""
    return _WORK[Purpose(job.purpose)](job, hooks)


def simulate(job: Job, hooks: Hooks) -> dict[str, Any]:
    """Run the kind's simulator on the stored request, or put its replications together.

    The estimate of the same load is kept beside the result.
    """
    estimate, simulator, asked = _asked(job)
    beside = expected(estimate, request=asked)
    counted = _Counted(Remembered(hooks))
    if replications(job.request) > 1:
        found = trial_of(simulator).together(estimate.spec, estimate.catalog, asked, parts=parts.found(job.id))
        reached = {"simulated_s": job.simulated_s, "events": job.events}
    else:
        found = simulator.run(estimate.spec, estimate.catalog, asked, counted)
        reached = counted.reached()
    charts = banded(simulator.charts(estimate.spec, beside, found), simulated=found)
    made_by = estimation.made_by(estimate.kind, catalog=estimate.catalog)
    return {
        "result": {
            "kind": estimate.kind.slug,
            "spec": estimate.spec_json,
            **serial.result_json(found),
            "answer": snapshot.answer_view(found),
            "charts": [codec.to_dict(chart) for chart in charts],
            "estimate": serial.result_json(beside),
            "provenance": {**serial.plain(found.provenance), **made_by, **_how(job.request)},
        },
        **reached,
    }


def observe(job: Job, *, place: int, hooks: Hooks) -> dict[str, Any]:
    """Run one part of a job and return the columns to store; what it shows is packed."""
    if job.purpose == Purpose.SWEEP:
        return swept.observe(job, place=place, hooks=hooks)
    estimate, simulator, asked = _asked(job)
    counted = _Counted(Remembered(hooks))
    observed = trial_of(simulator).part(estimate.spec, estimate.catalog, asked, counted, place=place)
    return {"observed": observed, **counted.reached()}


def tell_so_far(part: JobPart) -> None:
    """Show the figures of the parts that are finished, put together, while the others run."""
    if part.job.purpose == Purpose.SWEEP:
        swept.tell_so_far(part)
    else:
        _tell_replications(part.job)


def _tell_replications(job: Job) -> None:
    found = parts.found(job.id)
    if not found:
        return
    estimate, simulator, asked = _asked(job)
    result = trial_of(simulator).together(estimate.spec, estimate.catalog, asked, parts=found)
    known = {name: metric.value for name, metric in result.metrics.items() if metric.value is not None}
    parts.show(job.id, partial=serial.plain({**known, "replications": len(found)}), of=len(found))


def _asked(job: Job) -> tuple[Estimate, Simulator, SimulationRequest]:
    request = job.request
    estimate = estimation.estimate(kind=request["kind"], spec=request["spec"], team=job.team)
    return estimate, simulator_of(estimate.kind), run_request(request, workload=_workload(job))


def report(job: Job, hooks: Hooks) -> dict[str, Any]:
    """Make the PDF of the design at the revision asked for, or of the comparison."""
    # typst is loaded only by a worker that draws
    from planner.reports import build

    paper = job.request["paper"]
    hooks.progress(0.1, simulated_s=0.0, events=0)
    if job.request["comparison"]:
        comparison = _comparison(job)
        view = {**compare.comparison_view(comparison), **found_of(comparison)}
        document, name = build.comparison_document(view, paper=paper), view["name"]
    else:
        view = _design_view(job)
        document, name = build.document(view, paper=paper), view["design"]["name"]
    return {
        "document": document,
        "result": {
            "filename": f"{slugify(name) or 'report'}.pdf",
            "media_type": "application/pdf",
            "bytes": len(document),
            "paper": paper,
            "provenance": view["provenance"],
        },
    }


_WORK: Mapping[Purpose, Callable[[Job, Hooks], dict[str, Any]]] = {
    Purpose.SIMULATION: simulate,
    Purpose.REPORT: report,
    Purpose.SWEEP: swept.sweep,
    Purpose.SENSITIVITY: uncertainties.work,
}


class _Counted:
    """Hooks that remember the last figures, so that the finished row has them although writes are sparse.

    Of runs side by side, each of which counts from nothing, the events of all and the simulated time of the first.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks, self.simulated_s = hooks, 0.0
        self._earlier = self._latest = 0

    @property
    def events(self) -> int:
        return self._earlier + self._latest

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        if events < self._latest:
            self._earlier += self._latest
        self._latest = int(events)
        if not self._earlier:
            self.simulated_s = float(simulated_s)
        self._hooks.progress(fraction, simulated_s=self.simulated_s, events=self.events, partial=partial)

    def cancelled(self) -> bool:
        return self._hooks.cancelled()

    def reached(self) -> dict[str, Any]:
        """The columns of a row that is done."""
        return {"simulated_s": self.simulated_s, "events": self.events}


def _workload(job: Job) -> Workload | None:
    wanted = job.request["workload"]
    if wanted is None:
        return None
    try:
        return catalog_selectors.workload(wanted["id"], team=job.team)
    except LookupError:
        raise InvalidField(field="workload", message=_("The workload has been deleted.")) from None


def _how(request: Mapping[str, Any]) -> dict[str, Any]:
    """What besides spec, catalog and code decides the result."""
    return {name: request[name] for name in ("seed", "duration_s", "requests", "workload", "options")} | {
        "replications": replications(request)
    }


def _design_view(job: Job) -> dict[str, Any]:
    try:
        design = selectors.design(job.team, job.request["design"])
        saved = selectors.revision(design, job.request["revision"])
    except (Design.DoesNotExist, Revision.DoesNotExist):
        raise InvalidField(field="design", message=_("The design has been deleted.")) from None
    estimate = estimation.estimate(kind=design.kind, spec=saved.spec, team=job.team)
    return {**snapshot.view(estimate, **snapshot.meta(saved)), "sensitivity": sensitivity_charts.brief(estimate)}


def _comparison(job: Job) -> Comparison:
    try:
        return selectors.comparison(job.team, job.request["comparison"])
    except Comparison.DoesNotExist:
        raise InvalidField(field="comparison", message=_("The comparison has been deleted.")) from None

"""`/jobs/`, and the requests that start one: simulations and reports answer 202 with the job's address."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes, tables
from planner.api.errors import Conflict, InvalidInput, pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, query
from planner.api.paging import paged
from planner.api.rendering import CsvRenderer, PdfRenderer, ProblemRenderer, StrictJsonRenderer
from planner.api.views.comparisons import comparison_of
from planner.api.views.designs import design_of, username
from planner.api.views.estimates import kind_named
from planner.api.views.resource import ApiView, no_such, reply
from planner.core.replications import MOST_REPLICATIONS
from planner.jobs import retrying, selectors, services
from planner.jobs.models import Job, Purpose, State

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class RunBody(Body):
    """How to simulate a saved design."""

    workload: str | None = Field(None, description="Slug or id of a workload whose requests are replayed.")
    duration_s: Annotated[float, Field(gt=0)] | None = None
    requests: Annotated[int, Field(ge=1)] | None = None
    seed: Seed = 1
    replications: Annotated[int, Field(ge=1, le=MOST_REPLICATIONS)] = Field(
        1, description="Runs with seeds of their own, put together into one result; all designs meet the same requests."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="The kind's simulation options, see /kinds/{kind}/."
    )


class SimulationBody(RunBody):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


class ReportBody(Body):
    paper: Literal["a4", "letter"] = "a4"


class JobQuery(Body):
    purpose: Purpose | None = None
    state: State | Literal["active", "finished"] | None = None
    kind: str | None = None
    design: UUID | None = None


SHOWN = (
    "id", "purpose", "title", "kind", "design_revision", "state", "fraction", "eta_s", "elapsed_s", "simulated_s",
    "events", "events_per_s", "message", "error", "attempts", "created_at", "started_at", "finished_at",
)  # fmt: skip


def job_json(job: Job, *, partial: Any = None) -> dict[str, Any]:
    row = selectors.job_row(job)
    done = job.state == State.SUCCEEDED
    has_document = done and job.purpose == Purpose.REPORT
    return {
        **{name: row[name] for name in SHOWN},
        "design": row["design_id"],
        # The estimate kept with a request is for the page; a client has it from /estimates/.
        "request": {name: value for name, value in job.request.items() if name != "estimate"},
        "partial": partial,
        "created_by": username(job.created_by),
        "url": reverse("api:job", args=[job.id]),
        "result_url": reverse("api:job-result", args=[job.id]) if done and not has_document else None,
        "document_url": reverse("api:job-document", args=[job.id]) if has_document else None,
    }


def job_of(view: ApiView, id: UUID) -> Job:
    try:
        return selectors.job(view.team, id)
    except Job.DoesNotExist:
        no_such(_("job"))


def accepted(job: Job) -> Response:
    return Response(job_json(job), status=202, headers={"Location": reverse("api:job", args=[job.id])})


class Simulations(ApiView):
    @reply(
        shapes.JobShape,
        body=schema.ref("SimulationRequest"),
        summary="Simulate a spec; 202 with the job's address",
        status=202,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, SimulationBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            job = services.simulation_start(team=self.team, user=self.user, **given.model_dump())
        return accepted(job)


class DesignSimulations(ApiView):
    @reply(shapes.JobShape, body=RunBody, summary="Simulate a saved design; 202 with the job's address", status=202)
    @idempotent
    def post(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        given = body(request, RunBody) if request.data else RunBody()
        job = services.simulation_start(
            team=self.team, user=self.user, design=design, kind=design.kind, spec=design.spec, **given.model_dump()
        )
        return accepted(job)


def _report(view: ApiView, **subject: Any) -> Response:
    request = view.request
    given = body(request, ReportBody) if request.data else ReportBody()
    return accepted(services.report_start(team=view.team, user=view.user, paper=given.paper, **subject))


class DesignReports(ApiView):
    @reply(shapes.JobShape, body=ReportBody, summary="Make the PDF of a design; 202 with the job's address", status=202)
    @idempotent
    def post(self, _request: Request, id: UUID) -> Response:
        return _report(self, design=design_of(self, id))


class ComparisonReports(ApiView):
    @reply(shapes.JobShape, body=ReportBody, summary="Make the PDF of a comparison", status=202)
    @idempotent
    def post(self, _request: Request, id: UUID) -> Response:
        return _report(self, comparison=comparison_of(self, id))


class Jobs(ApiView):
    @reply(
        shapes.page_of(shapes.JobShape),
        summary="Jobs of the team, newest first",
        parameters=schema.query(JobQuery),
    )
    def get(self, request: Request) -> Response:
        wanted = query(request, JobQuery).model_dump(exclude_none=True)
        if "design" in wanted:
            wanted["design"] = design_of(self, wanted["design"])
        return paged(self, selectors.jobs(self.team, **wanted), show=job_json)


class OneJob(ApiView):
    @reply(shapes.JobShape, summary="A job: state, progress, ETA")
    def get(self, _request: Request, id: UUID) -> Response:
        found = job_of(self, id)
        return Response(job_json(found, partial=found.partial))


class JobCancel(ApiView):
    @reply(shapes.JobShape, summary="Cancel a job; a finished one stays as it is")
    def post(self, _request: Request, id: UUID) -> Response:
        return Response(job_json(services.job_cancel(job=job_of(self, id), user=self.user)))


class JobRetry(ApiView):
    @reply(shapes.JobShape, summary="Run a failed or cancelled job again, as a new job", status=202)
    @idempotent
    def post(self, _request: Request, id: UUID) -> Response:
        try:
            return accepted(retrying.job_retry(job=job_of(self, id), user=self.user))
        except retrying.NotRetryable as error:
            raise Conflict(str(error)) from None


def _finished(job: Job, *purposes: Purpose) -> Job:
    """The job if it has succeeded at one of these purposes; else a problem that says where it stands."""
    if job.purpose not in purposes:
        raise Conflict(
            _("This job is a %(purpose)s; look at its result_url or document_url.") % {"purpose": job.purpose}
        )
    if job.state == State.SUCCEEDED:
        return job
    reason = (job.error or {}).get("message", "")
    raise Conflict(" ".join((_("The job is %(state)s; it has no result.") % {"state": job.state}, reason)).strip())


TOLD = (Purpose.SIMULATION, Purpose.SWEEP, Purpose.SENSITIVITY)
"""Purposes whose result is JSON."""


class TableQuery(Body):
    table: str = Field(
        "",
        description="With format=csv: metrics or a series; of a sweep points; of an uncertainty quantiles, "
        "percentiles, objectives, contributions or inputs. The first is taken.",
    )


class JobResult(ApiView):
    renderer_classes = (StrictJsonRenderer, CsvRenderer, ProblemRenderer)

    @reply(
        None,
        summary="The result of a simulation, sweep or uncertainty; CSV of one table with format=csv",
        responses={200: schema.ref("JobResult"), (200, "text/csv"): str},
        parameters=schema.query(TableQuery),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wanted = query(request, TableQuery)
        result = selectors.result(_finished(job_of(self, id), *TOLD))
        if request.accepted_renderer.format != "csv":
            return Response(_linked(result))
        found = tables.of_job(result)
        table = wanted.table or next(iter(found))
        if table not in found:
            names = ", ".join(found)
            raise InvalidInput.of_parameter("table", detail=_("No such table; there are %(names)s.") % {"names": names})
        return tables.attachment(tables.csv_text(found[table]), name=f"{id}-{table}.csv")


def _linked(result: dict[str, Any]) -> dict[str, Any]:
    """The result with the addresses of the simulations that verify its points."""
    if "verified" not in result:
        return result
    rows = [
        {**row, "job_url": reverse("api:job", args=[row["job"]]) if row["job"] else None} for row in result["verified"]
    ]
    return {**result, "verified": rows}


class JobDocument(ApiView):
    renderer_classes = (PdfRenderer, StrictJsonRenderer, ProblemRenderer)

    @reply(None, summary="The PDF of a report", responses={(200, "application/pdf"): bytes})
    def get(self, _request: Request, id: UUID) -> HttpResponse:
        job = _finished(job_of(self, id), Purpose.REPORT)
        filename = (job.result or {}).get("filename", "report.pdf")
        return tables.attachment(selectors.document(job) or b"", name=filename, media_type=PdfRenderer.media_type)

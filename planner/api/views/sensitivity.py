"""`/sensitivity/` at once, `/uncertainty/` as a job: what moves a figure, what turns the decision, how far off."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes, tables
from planner.api.errors import InvalidInput, pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, query
from planner.api.rendering import CsvRenderer, ProblemRenderer, StrictJsonRenderer
from planner.api.shapes_sensitivity import SensitivityShape
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.jobs import Seed, accepted
from planner.api.views.resource import ApiView, reply
from planner.core.uncertainty import BATCHES, DRAWS, MOST_DRAWS
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.sensitivity import sensitivity
from planner.designs.sensitivity_tables import of_sensitivity
from planner.jobs import uncertainties

WITH_CSV = (StrictJsonRenderer, CsvRenderer, ProblemRenderer)
REPLIES: dict[Any, Any] = {200: SensitivityShape, (200, "text/csv"): str}


class Span(Body):
    """Ends of an input in its base unit. Of a lognormal law a tenth lies beyond each."""

    low: float
    high: float
    shape: Literal["triangular", "uniform", "lognormal"] = "triangular"


class Other(Body):
    """Another design, saved or written out; left out, its kind is the same."""

    design: UUID | None = None
    kind: str | None = None
    spec: dict[str, Any] | None = None
    name: str = ""


class MovedBody(Body):
    metric: str = Field("", description="By default the headline of the kind.")
    ranges: dict[str, Span] = Field(
        default_factory=dict, description="Ends of single inputs; the others go a tenth to either side."
    )
    against: Other | None = None


class SensitivityBody(MovedBody):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


class DrawnBody(MovedBody):
    draws: Annotated[int, Field(ge=8 * BATCHES, le=MOST_DRAWS)] = DRAWS
    seed: Seed = 1


class UncertaintyBody(DrawnBody):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


class SensitivityQuery(Body):
    metric: str = Field("", description="By default the headline of the kind.")
    table: Literal["tornado", "flips"] = Field("tornado", description="With format=csv.")


class TableQuery(Body):
    table: Literal["tornado", "flips"] = Field("tornado", description="With format=csv.")


class Sensitivities(ApiView):
    renderer_classes = WITH_CSV
    reads = frozenset({"POST"})

    @reply(
        None,
        body=SensitivityBody,
        summary="What moves a figure, and what would change the decision",
        responses=REPLIES,
        parameters=schema.query(TableQuery),
    )
    def post(self, request: Request) -> HttpResponse:
        given, table = body(request, SensitivityBody), query(request, TableQuery).table
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            found = estimation.estimate(kind=given.kind, spec=given.spec, team=self.team)
        return _answered(self, found, given=given, table=table)


class DesignSensitivity(ApiView):
    renderer_classes = WITH_CSV
    reads = frozenset({"POST"})

    @reply(
        None,
        summary="What moves a figure of a saved design",
        responses=REPLIES,
        parameters=schema.query(SensitivityQuery),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wanted = query(request, SensitivityQuery)
        return _answered(self, _saved(self, id), given=MovedBody(metric=wanted.metric), table=wanted.table)

    @reply(
        None,
        body=MovedBody,
        summary="The same with ranges of your own, or against another design",
        responses=REPLIES,
        parameters=schema.query(TableQuery),
    )
    def post(self, request: Request, id: UUID) -> HttpResponse:
        given = body(request, MovedBody) if request.data else MovedBody()
        return _answered(self, _saved(self, id), given=given, table=query(request, TableQuery).table)


class Uncertainties(ApiView):
    @reply(shapes.JobShape, body=UncertaintyBody, summary="How far a figure may be off; 202 with the job", status=202)
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, UncertaintyBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            estimation.estimate(kind=given.kind, spec=given.spec, team=self.team)
        return accepted(_started(self, given, kind=given.kind, spec=given.spec))


class DesignUncertainties(ApiView):
    @reply(shapes.JobShape, body=DrawnBody, summary="How far a figure of a saved design may be off", status=202)
    @idempotent
    def post(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        given = body(request, DrawnBody) if request.data else DrawnBody()
        return accepted(_started(self, given, kind=design.kind, spec=design.spec, design=design))


def _saved(view: ApiView, id: UUID) -> Estimate:
    design = design_of(view, id)
    return estimation.estimate(kind=design.kind, spec=design.spec, team=view.team)


def _answered(view: ApiView, estimate: Estimate, *, given: MovedBody, table: str) -> HttpResponse:
    ranges = {name: span.model_dump() for name, span in given.ranges.items()}
    rival, name = None, ""
    if given.against is not None:
        other = _other(view, given.against, kind=estimate.kind.slug)
        if other["kind"] != estimate.kind.slug:
            raise InvalidInput.of("/against/kind", detail="Designs of one kind turn over against each other.")
        with pointing("/against/spec", spec=other["spec"], model=estimate.kind.spec):
            rival, name = estimation.estimate(team=view.team, kind=other["kind"], spec=other["spec"]), other["name"]
    found = sensitivity(estimate, metric=given.metric, ranges=ranges, rival=rival, rival_name=name)
    if view.request.accepted_renderer.format != "csv":
        return Response(found)
    return tables.attachment(tables.csv_text(of_sensitivity(found)[table]), name=f"{table}.csv")


def _started(view: ApiView, given: DrawnBody, **subject: Any) -> Any:
    ranges = {name: span.model_dump() for name, span in given.ranges.items()}
    against = None if given.against is None else _other(view, given.against, kind=subject["kind"])
    return uncertainties.uncertainty_start(
        team=view.team, user=view.user, metric=given.metric, ranges=ranges, draws=given.draws, seed=given.seed,
        against=against, **subject,
    )  # fmt: skip


def _other(view: ApiView, given: Other, *, kind: str) -> dict[str, Any]:
    if (given.design is None) == (given.spec is None):
        raise InvalidInput.of("/against", detail="Give either design or spec.")
    if given.design is not None:
        design = design_of(view, given.design)
        return {"name": given.name or design.name, "kind": design.kind, "spec": design.spec}
    chosen = kind_named(given.kind or kind, pointer="/against/kind")
    return {"name": given.name or "the other", "kind": chosen.slug, "spec": given.spec}

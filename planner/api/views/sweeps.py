"""`/sweeps/`: many variants of a design judged alike; 202 with the address of the job."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import shapes
from planner.api.errors import pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.jobs import accepted
from planner.api.views.resource import ApiView, reply
from planner.core.sweep_axes import MOST_FIELDS
from planner.core.sweep_goal import MOST_LIMITS
from planner.jobs import sweeps

Value = bool | int | float | str | None


class Vary(Body):
    """A field of the spec and its values: a list, or a range."""

    field: str
    values: Annotated[list[Value], Field(min_length=1)] | None = None
    start: float | None = None
    stop: float | None = Field(None, description="The last value, where the steps meet it.")
    step: float | None = None


class Constraint(Body):
    """A bound beside the objectives that the design has itself; one of the two."""

    metric: str
    at_most: float | None = None
    at_least: float | None = None


class SweepAsked(Body):
    """What to vary, and what is sought."""

    vary: Annotated[list[Vary], Field(max_length=MOST_FIELDS)] = Field(
        default_factory=list, description="1 to 4 fields; their grid has at most 100,000 points."
    )
    objective: str = Field("", description="The metric to be best at; left out, the kind's headline price.")
    against: str | None = Field(
        None, description="The metric it is held against; left out, the main latency, and nothing where it is empty."
    )
    constraints: Annotated[list[Constraint], Field(max_length=MOST_LIMITS)] = Field(default_factory=list)
    verify: Annotated[int, Field(ge=0, le=sweeps.MOST_VERIFIED)] | None = Field(
        None, description="How many of the best to simulate: 0, or 3 with a preset."
    )
    preset: Literal["", "cheapest_within_slo"] = Field("", description="A search that chooses what to vary.")


class SweepBody(SweepAsked):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


def asked(given: SweepAsked) -> dict[str, Any]:
    """The body as the service takes it."""
    return given.model_dump(exclude={"kind", "spec"})


class Sweeps(ApiView):
    @reply(shapes.JobShape, body=SweepBody, summary="Sweep a spec; 202 with the job's address", status=202)
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, SweepBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            job = sweeps.sweep_start(team=self.team, user=self.user, kind=given.kind, spec=given.spec, **asked(given))
        return accepted(job)


class DesignSweeps(ApiView):
    @reply(shapes.JobShape, body=SweepAsked, summary="Sweep a saved design; 202 with the job's address", status=202)
    @idempotent
    def post(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        given = body(request, SweepAsked)
        job = sweeps.sweep_start(
            team=self.team, user=self.user, kind=design.kind, spec=design.spec, design=design, **asked(given)
        )
        return accepted(job)

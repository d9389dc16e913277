"""`/reliability/`: how reliable a spec or a saved design is by failure domain, and what reaches a promise."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.accounts.models import Team
from planner.api import schema
from planner.api.errors import pointing
from planner.api.inputs import Body, body
from planner.api.shapes_reliability import ReliabilityAnswer
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.resource import ApiView, reply
from planner.core.kind import DesignKind
from planner.core.reliability import ReliabilityTerms
from planner.core.specs import read_spec
from planner.designs.estimation import estimate
from planner.designs.reliability import reliability
from planner.designs.reliability_view import reliability_json


class TermsBody(Body):
    terms: dict[str, Any] = Field(default_factory=dict)


class ReliabilityBody(TermsBody):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


def _planned(kind: DesignKind, *, spec: dict[str, Any], terms: dict[str, Any], team: Team, pointer: str) -> Response:
    with pointing("/terms", spec=terms, model=ReliabilityTerms):
        read = read_spec(ReliabilityTerms, terms)
    with pointing(pointer, spec=spec, model=kind.spec):
        answered = estimate(kind=kind.slug, spec=spec, team=team)
    found = reliability_json(reliability(answered, terms=read))
    return Response({**found, "terms": read.model_dump(mode="json")})


class Reliability(ApiView):
    reads = frozenset({"POST"})

    @reply(
        ReliabilityAnswer,
        body=schema.ref("ReliabilityRequest"),
        summary="Availability of a spec by failure domain, N + k and its price; nothing is stored",
    )
    def post(self, request: Request) -> Response:
        given = body(request, ReliabilityBody)
        kind = kind_named(given.kind)
        return _planned(kind, spec=given.spec, terms=given.terms, team=self.team, pointer="/spec")


class DesignReliability(ApiView):
    reads = frozenset({"POST"})

    @reply(
        ReliabilityAnswer,
        body=schema.ref("ReliabilityTermsRequest"),
        summary="Availability of a saved design by failure domain, N + k and its price",
    )
    def post(self, request: Request, id: UUID) -> Response:
        given = body(request, TermsBody) if request.data else TermsBody()
        design = design_of(self, id)
        kind = kind_named(design.kind)
        return _planned(kind, spec=design.spec, terms=given.terms, team=self.team, pointer="")

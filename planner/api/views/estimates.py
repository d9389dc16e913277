"""`/estimates/`: the stateless answer to a kind and a spec, one or up to a thousand at once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner import kinds
from planner.accounts.models import Team
from planner.api import schema
from planner.api.errors import InvalidInput, body_of, pointing, problem_of
from planner.api.inputs import Body, body
from planner.api.views.resource import ApiView, reply
from planner.core.kind import DesignKind
from planner.designs import serial
from planner.designs.services import Estimate, estimate

LARGEST_BATCH = 1000


class EstimateBody(Body):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


class BatchBody(Body):
    kind: str
    specs: Annotated[list[Any], Field(min_length=1, max_length=LARGEST_BATCH)]


def kind_named(slug: str, *, pointer: str = "/kind") -> DesignKind:
    """The kind a body names; an unknown one is bad input."""
    try:
        return kinds.get(slug)
    except kinds.UnknownKind as error:
        raise InvalidInput.of(pointer, detail=str(error)) from None


def estimate_json(answered: Estimate) -> dict[str, Any]:
    """The reply of an estimate: the complete spec, its result, and the answer in a sentence."""
    result = answered.result
    answer = {**asdict(result.answer), "facts": list(result.answer.facts), "severity": result.severity}
    return {"kind": answered.kind.slug, "spec": answered.spec_json, "answer": answer, **serial.result_json(result)}


def estimated(kind: DesignKind, *, spec: Any, team: Team, pointer: str = "/spec") -> dict[str, Any]:
    """Answer one spec of a body; what is wrong with it is said under ``pointer``."""
    if not isinstance(spec, dict):
        raise InvalidInput.of(pointer, detail=_("Give a JSON object."))
    with pointing(pointer, spec=spec, model=kind.spec):
        return estimate_json(estimate(kind=kind.slug, spec=spec, team=team))


def _estimate_or_problem(kind: DesignKind, *, spec: Any, team: Team, place: int) -> dict[str, Any]:
    try:
        return estimated(kind, spec=spec, team=team, pointer=f"/specs/{place}")
    except Exception as error:  # one bad spec must not take the other answers with it; bugs are logged
        return body_of(problem_of(error))


class Estimates(ApiView):
    reads = frozenset({"POST"})

    @reply(schema.ref("Estimate"), body=schema.ref("EstimateRequest"), summary="Estimate a spec; nothing is stored")
    def post(self, request: Request) -> Response:
        given = body(request, EstimateBody)
        return Response(estimated(kind_named(given.kind), spec=given.spec, team=self.team))


class EstimateBatch(ApiView):
    reads = frozenset({"POST"})

    @reply(
        schema.ref("EstimateBatch"),
        body=schema.ref("EstimateBatchRequest"),
        summary="Estimate up to 1,000 specs of one kind; each answered by an estimate or a problem, in order",
    )
    def post(self, request: Request) -> Response:
        given = body(request, BatchBody)
        kind = kind_named(given.kind)
        results = [
            _estimate_or_problem(kind, spec=spec, team=self.team, place=place) for place, spec in enumerate(given.specs)
        ]
        return Response({"results": results})

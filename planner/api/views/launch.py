"""`/launch/`: what starts a spec or a saved design. A setting that would not fit is an answer with its reason."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema
from planner.api.errors import InvalidInput, pointing
from planner.api.inputs import Body, body, query
from planner.api.shapes_launch import LaunchAnswer
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.resource import ApiView, reply
from planner.core.launch import UnknownTarget
from planner.designs import launches
from planner.designs.estimation import estimate


class LaunchBody(Body):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)
    target: str = ""


class LaunchQuery(Body):
    target: str = Field("", description="What to start it with; by default the design's own engine.")


class Launches(ApiView):
    reads = frozenset({"POST"})

    @reply(LaunchAnswer, body=schema.ref("LaunchRequest"), summary="Commands and manifests that start a spec")
    def post(self, request: Request) -> Response:
        given = body(request, LaunchBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            answered = estimate(kind=kind.slug, spec=given.spec, team=self.team)
        try:
            found = launches.launch(answered, target=given.target)
        except UnknownTarget as unknown:
            raise InvalidInput.of("/target", detail=str(unknown)) from None
        if found is None:
            raise InvalidInput.of("/kind", detail=f"{kind.label} says nothing of how it is started.")
        return Response(found)


class DesignLaunch(ApiView):
    @reply(LaunchAnswer, summary="Commands and manifests that start a design", parameters=schema.query(LaunchQuery))
    def get(self, request: Request, id: UUID) -> Response:
        target = query(request, LaunchQuery).target
        design = design_of(self, id)
        kind = kind_named(design.kind)
        with pointing("", spec=design.spec, model=kind.spec):
            answered = estimate(kind=kind.slug, spec=design.spec, team=self.team)
        try:
            found = launches.launch(answered, target=target)
        except UnknownTarget as unknown:
            raise InvalidInput.of_parameter("target", detail=str(unknown)) from None
        if found is None:
            raise InvalidInput.of("", detail=f"{kind.label} says nothing of how it is started.")
        return Response(found)

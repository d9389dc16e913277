"""`/drills/`: a preset of a kind played on variants of a design; 202 with the address where its answer will stand."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import shapes
from planner.api.errors import pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.jobs import Seed
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import selectors
from planner.designs.models import Drill
from planner.jobs import drills
from planner.jobs.drilled import drill_view


class PlayBody(Body):
    """How to play a drill: all that is not said is the preset's."""

    seed: Seed | None = None


class DrillBody(PlayBody):
    kind: str
    drill: str = Field(description="A name among the kind's drills, see /kinds/{kind}/.")
    spec: dict[str, Any] = Field(default_factory=dict)


def summary(drill: Drill) -> dict[str, Any]:
    return {
        "id": drill.comparison_id,
        "drill": drill.name,
        "kind": drill.kind,
        "title": drill.comparison.name,
        "design": drill.design_id,
        "created_at": drill.comparison.created_at,
        "url": reverse("api:drill", args=[drill.comparison_id]),
    }


def drill_json(drill: Drill) -> dict[str, Any]:
    view = drill_view(drill)
    told = ("question", "how", "state", "fraction", "eta_s", "answer")
    return {
        **summary(drill),
        **{name: view[name] for name in told},
        "runs": [_run(run) for run in view["runs"]],
        "phases": [_phase(row, columns=view["phases"]["names"]) for row in (view["phases"] or {}).get("rows", ())],
        "comparison_url": reverse("api:comparison", args=[drill.comparison_id]),
    }


def _run(run: dict[str, Any]) -> dict[str, Any]:
    job = run["job"]
    return {
        **{name: run[name] for name in ("label", "name", "changes", "spec")},
        "state": job["state"] if job else None,
        "fraction": job["fraction"] if job else None,
        "job_url": reverse("api:job", args=[job["id"]]) if job else None,
        "result_url": reverse("api:job-result", args=[job["id"]]) if job and job["state"] == "succeeded" else None,
    }


def _phase(row: dict[str, Any], *, columns: list[str]) -> dict[str, Any]:
    return {"run": row["run"], **dict(zip(columns, row["full"], strict=True))}


def accepted(drill: Drill) -> Response:
    found = drill_json(drill)
    return Response(found, status=202, headers={"Location": found["url"]})


class Drills(ApiView):
    @reply(shapes.page_of(shapes.DrillSummary), summary="Drills of the team, newest first")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.drills(self.team), show=summary)

    @reply(
        shapes.DrillShape, body=DrillBody, summary="Play a drill on a spec; 202 with the drill's address", status=202
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, DrillBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            started = drills.drill_start(
                team=self.team, user=self.user, kind=given.kind, spec=given.spec, name=given.drill, seed=given.seed
            )
        return accepted(started)


class DesignDrills(ApiView):
    @reply(shapes.DrillShape, body=PlayBody, summary="Play a drill on a saved design", status=202)
    @idempotent
    def post(self, request: Request, id: UUID, name: str) -> Response:
        design = design_of(self, id)
        given = body(request, PlayBody) if request.data else PlayBody()
        started = drills.drill_start(
            team=self.team,
            user=self.user,
            kind=design.kind,
            spec=design.spec,
            name=name,
            design=design,
            seed=given.seed,
        )
        return accepted(started)


class OneDrill(ApiView):
    @reply(shapes.DrillShape, summary="A drill: how far its runs are, then its answer in a sentence")
    def get(self, _request: Request, id: UUID) -> Response:
        try:
            found = selectors.drill(self.team, id)
        except Drill.DoesNotExist:
            no_such(_("drill"))
        return Response(drill_json(found))

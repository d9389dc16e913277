"""`/plans/`: designs joined to one fleet, answered at once or saved at a URL."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import shapes
from planner.api.errors import InvalidInput
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.permissions import demand
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import plans, selectors
from planner.designs.models import FleetPlan
from planner.designs.plan_body import PlanBody, checked_body
from planner.designs.plan_view import plan_view


class PlanRequest(PlanBody, Body):
    name: str = ""
    save: bool = Field(False, description="Keep it, at a URL of its own (201); else it is only answered (200).")


def summary(plan: FleetPlan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "name": plan.name,
        "body": plan.body,
        "created_at": plan.created_at,
        "updated_at": plan.updated_at,
        "url": reverse("api:plan", args=[plan.id]),
    }


def _answered(view: ApiView, *, body: dict[str, Any], name: str = "", url: str | None = None) -> dict[str, Any]:
    return {"name": name, "url": url, **plan_view(body, team=view.team)}


def _body_of(given: PlanRequest) -> dict[str, Any]:
    return given.model_dump(mode="json", by_alias=True, exclude={"name", "save"})


class Plans(ApiView):
    reads = frozenset({"POST"})

    @reply(shapes.page_of(shapes.PlanSummary), summary="Saved fleet plans, last changed first")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.plans(self.team), show=summary)

    @reply(
        None,
        body=PlanRequest,
        summary="Join designs to one fleet: one bill, one list of findings",
        responses={200: shapes.PlanView, 201: shapes.PlanView},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, PlanRequest)
        if not given.save:
            checked = checked_body(_body_of(given), team=self.team)
            return Response(_answered(self, body=checked, name=given.name))
        demand(request, role="editor", scope="write")
        if not given.name.strip():
            raise InvalidInput.of("/name", detail=_("Give the plan a name."))
        saved = plans.plan_create(team=self.team, user=self.user, name=given.name, body=_body_of(given))
        url = reverse("api:plan", args=[saved.id])
        shown = _answered(self, body=saved.body, name=saved.name, url=url)
        return Response(shown, status=201, headers={"Location": url})


class OnePlan(ApiView):
    def _plan(self, id: UUID) -> FleetPlan:
        try:
            return selectors.plan(self.team, id)
        except FleetPlan.DoesNotExist:
            no_such(_("plan"))

    @reply(shapes.PlanView, summary="A saved plan, with today's catalog and its designs as they are now")
    def get(self, request: Request, id: UUID) -> Response:
        plan = self._plan(id)
        return Response(_answered(self, body=plan.body, name=plan.name, url=request.path))

    @reply(shapes.PlanView, body=PlanRequest, summary="Change a plan")
    def put(self, request: Request, id: UUID) -> Response:
        given = body(request, PlanRequest)
        plan = self._plan(id)
        saved = plans.plan_update(plan=plan, user=self.user, name=given.name or plan.name, body=_body_of(given))
        return Response(_answered(self, body=saved.body, name=saved.name, url=request.path))

    @reply(None, summary="Delete a plan; its designs stay", status=204)
    def delete(self, _request: Request, id: UUID) -> Response:
        plans.plan_delete(plan=self._plan(id), user=self.user)
        return Response(status=204)

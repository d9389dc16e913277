"""`/comparisons/`: two to six designs or inline specs side by side, answered at once or saved at a URL."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import shapes
from planner.api.errors import InvalidInput, pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.permissions import demand
from planner.api.views.estimates import kind_named
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import compare, selectors, services
from planner.designs.models import Comparison
from planner.designs.sharing import checked_items
from planner.jobs.compared import with_simulations


class Item(Body):
    """A saved design, a kind with its spec, an uploaded measurement, or a finished simulation (its job)."""

    design: str | None = None
    measurement: str | None = None
    simulation: str | None = None
    kind: str | None = None
    spec: dict[str, Any] | None = None
    name: str | None = None


class ComparisonBody(Body):
    items: list[Item] = Field(default_factory=list, description="The first is the baseline.")
    designs: list[str] = Field(default_factory=list, description="Short for items that are all saved designs.")
    name: str = ""
    mode: Literal["as_is", "equal_gpus", "equal_cost"] = Field(
        "as_is", description="The others as they are, or at the demand that the GPUs or the money of the first carry."
    )
    save: bool = Field(False, description="Keep it, at a URL of its own (201); else it is only answered (200).")


def comparison_of(view: ApiView, id: UUID) -> Comparison:
    try:
        return selectors.comparison(view.team, id)
    except Comparison.DoesNotExist:
        no_such(_("comparison"))


def summary(comparison: Comparison) -> dict[str, Any]:
    return {
        "id": comparison.id,
        "name": comparison.name,
        "items": [{name: value for name, value in item.items() if name != "found"} for item in comparison.items],
        "mode": comparison.mode,
        "created_at": comparison.created_at,
        "url": reverse("api:comparison", args=[comparison.id]),
    }


def _items(view: ApiView, given: ComparisonBody) -> list[dict[str, Any]]:
    """The items as services take them, each inline spec answered once so that a fault is said at its place."""
    if bool(given.items) == bool(given.designs):
        raise InvalidInput.of("/items", detail=_("Give either items or designs."))
    if given.designs:
        return [{"design": design} for design in given.designs]
    items = [item.model_dump(exclude_none=True) for item in given.items]
    for place, item in enumerate(items[: len(compare.LABELS)]):
        if "kind" in item and "design" not in item:
            kind = kind_named(item["kind"], pointer=f"/items/{place}/kind")
            spec = item.get("spec", {})
            with pointing(f"/items/{place}/spec", spec=spec, model=kind.spec):
                services.estimate(kind=kind.slug, spec=spec, team=view.team)
    return items


class Comparisons(ApiView):
    reads = frozenset({"POST"})

    @reply(shapes.page_of(shapes.ComparisonSummary), summary="Saved comparisons, newest first")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.comparisons(self.team), show=summary)

    @reply(
        None,
        body=ComparisonBody,
        summary="Compare 2–6 designs or inline specs",
        responses={200: shapes.ComparisonView, 201: shapes.ComparisonView},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, ComparisonBody)
        items = with_simulations(_items(self, given), team=self.team)
        if not given.save:
            checked = checked_items(items, team=self.team)
            view = compare.inline_view(checked, team=self.team, name=given.name, mode=given.mode)
            return Response({**view, "url": None})
        demand(request, role="editor", scope="write")
        saved = services.comparison_create(
            team=self.team, user=self.user, items=items, name=given.name, mode=given.mode
        )
        url = reverse("api:comparison", args=[saved.id])
        return Response({**compare.comparison_view(saved), "url": url}, status=201, headers={"Location": url})


class OneComparison(ApiView):
    @reply(shapes.ComparisonView, summary="A saved comparison, with today's catalog")
    def get(self, _request: Request, id: UUID) -> Response:
        return Response({**compare.comparison_view(comparison_of(self, id)), "url": self.request.path})

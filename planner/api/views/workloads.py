"""`/workloads/`: the requests to plan for, shipped and the team's own. Prompt text is never stored, nor asked for."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes
from planner.api.errors import InvalidInput, importing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, file_of, form_flag, form_text, query
from planner.api.paging import paged
from planner.api.rendering import StrictJsonParser
from planner.api.views.resource import ApiView, reply
from planner.catalog import selectors, services
from planner.catalog.models import Workload
from planner.core.catalog import UnknownEntry


class WorkloadQuery(Body):
    q: str = Field("", description="Part of the name or slug.")
    form: Workload.Form | None = None


class ProfileBody(Body):
    """A workload by its means: rates, lengths, hit rate."""

    name: str
    facts: dict[str, Any]
    description: str = ""


def workload_json(row: Workload) -> dict[str, Any]:
    names = ("id", "slug", "name", "form", "description", "source", "licence", "created_at")
    return {
        **{name: getattr(row, name) for name in names},
        "shipped": row.team_id is None,
        "profile": selectors.workload_profile(row),
        "url": reverse("api:workload", args=[row.slug]),
    }


def workload_detail(row: Workload) -> dict[str, Any]:
    return {**workload_json(row), "facts": {name: fact for name, fact in row.facts.items() if name != "imported_by"}}


def workload_of(view: ApiView, slug: str) -> Workload:
    try:
        return selectors.workload(slug, team=view.team)
    except UnknownEntry as error:
        raise NotFound(str(error)) from None


def _listed(view: ApiView) -> Response:
    wanted = query(view.request, WorkloadQuery)
    rows = selectors.workloads(view.team)
    for word in wanted.q.split():
        rows = rows.filter(name__icontains=word) | rows.filter(slug__icontains=word)
    return paged(view, rows.filter(form=wanted.form) if wanted.form else rows, show=workload_json)


def _made(row: Workload) -> Response:
    shown = workload_detail(row)
    return Response(shown, status=201, headers={"Location": shown["url"]})


class Workloads(ApiView):
    @reply(
        shapes.page_of(shapes.WorkloadShape),
        summary="Workloads: shipped ones and the team's own",
        parameters=schema.query(WorkloadQuery),
    )
    def get(self, _request: Request) -> Response:
        return _listed(self)

    @reply(shapes.WorkloadDetail, body=ProfileBody, summary="Save a workload profile", status=201)
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, ProfileBody)
        with importing("/facts", places={"facts": "/facts"}):
            row = services.workload_save_profile(team=self.team, user_id=self.user.pk, **given.model_dump())
        return _made(row)


class WorkloadImport(ApiView):
    parser_classes = (MultiPartParser, StrictJsonParser)

    @reply(
        shapes.WorkloadDetail,
        body={"multipart/form-data": schema.UPLOAD},
        summary="Import a trace: Azure, Mooncake, BurstGPT columns, or plain CSV/JSONL of arrivals and lengths",
        status=201,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        file = file_of(request)
        if unknown := sorted(set(request.data) - {"file", "name", "skip_bad_rows"}):
            raise InvalidInput.of(f"/{unknown[0]}", detail=_("No such field."))
        name = form_text(request, "name") or file.name.split(".")[0]
        with importing("/file"):
            row = services.workload_import(
                team=self.team,
                user_id=self.user.pk,
                name=name,
                data=file.read(),
                filename=file.name,
                skip_bad_rows=form_flag(request, "skip_bad_rows"),
            )
        return _made(row)


class OneWorkload(ApiView):
    @reply(shapes.WorkloadDetail, summary="A workload by slug or id")
    def get(self, _request: Request, slug: str) -> Response:
        return Response(workload_detail(workload_of(self, slug)))

    @reply(None, summary="Delete a workload of the team", status=204)
    def delete(self, _request: Request, slug: str) -> Response:
        row = workload_of(self, slug)
        if row.team_id is None:
            raise PermissionDenied(_("“%(name)s” ships with the project; it stays.") % {"name": row.name})
        services.workload_delete(workload=row, team=self.team, user_id=self.user.pk)
        return Response(status=204)


class CatalogWorkloads(ApiView):
    @reply(
        shapes.page_of(shapes.WorkloadShape),
        summary="Workloads, as a table of the catalog",
        parameters=schema.query(WorkloadQuery),
    )
    def get(self, _request: Request) -> Response:
        return _listed(self)


class CatalogWorkload(ApiView):
    @reply(shapes.WorkloadDetail, summary="A workload, as an entry of the catalog")
    def get(self, _request: Request, slug: str) -> Response:
        return Response(workload_detail(workload_of(self, slug)))

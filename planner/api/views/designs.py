"""`/designs/`: saved designs, their revisions, and writes that name the revision they read."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner import kinds
from planner.api import schema, shapes
from planner.api.errors import InvalidInput, PreconditionRequired, pointing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, query
from planner.api.paging import paged
from planner.api.views.estimates import estimate_json, kind_named
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import selectors, services, snapshot
from planner.designs.models import Design, Revision


class DesignBody(Body):
    kind: str
    name: str
    spec: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    tags: list[str] = Field(default_factory=list)


class DesignChange(Body):
    """PATCH: what is left out stays; ``spec`` changes the fields it names."""

    kind: str | None = None
    name: str | None = None
    spec: dict[str, Any] | None = None
    description: str | None = None
    tags: list[str] | None = None


class DesignQuery(Body):
    q: str = ""
    kind: str = ""
    tag: str = ""
    deleted: bool = False


class OneQuery(Body):
    include: Literal["", "estimate", "view"] = ""
    deleted: bool = False


def username(user: Any) -> str | None:
    return user.get_username() if user is not None else None


def summary(design: Design) -> dict[str, Any]:
    return {
        "id": design.id,
        "kind": design.kind,
        "name": design.name,
        "description": design.description,
        "tags": design.tags,
        "revision": design.revision,
        "example": design.example,
        "created_at": design.created_at,
        "updated_at": design.updated_at,
        "updated_by": username(design.updated_by),
        "deleted_at": design.deleted_at,
        "url": reverse("api:design", args=[design.id]),
    }


def detail(design: Design, *, include: str = "") -> dict[str, Any]:
    found = {
        **summary(design),
        "spec": design.spec,
        "spec_version": design.spec_version,
        "created_by": username(design.created_by),
    }
    if include == "estimate":
        found["estimate"] = estimate_json(services.estimate(kind=design.kind, spec=design.spec, team=design.team))
    if include == "view":
        found["view"] = snapshot.design_view(design)
    return found


def design_of(view: ApiView, id: UUID, *, deleted: bool = False) -> Design:
    """The team's design, or a 404 that does not tell a stranger's from a missing one."""
    try:
        return selectors.design(view.team, id, deleted=deleted)
    except Design.DoesNotExist:
        no_such(_("design"))


def etag(design: Design) -> str:
    return f'"{design.revision}"'


def _shown(design: Design, *, status: int = 200, include: str = "") -> Response:
    headers = {"ETag": etag(design)}
    if status == 201:
        headers["Location"] = reverse("api:design", args=[design.id])
    return Response(detail(design, include=include), status=status, headers=headers)


def expected_revision(request: Request, design: Design, *, required: bool = True) -> int | None:
    """The revision If-Match names; `*` is whatever is stored. A proxy may have made the tag weak."""
    given = request.headers.get("If-Match", "").strip()
    if not given:
        if required:
            raise PreconditionRequired
        return None
    if given == "*":
        return design.revision
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")]
    revisions = [int(tag) for tag in tags if tag.isascii() and tag.isdigit() and len(tag) < 10]
    if design.revision in revisions:
        return design.revision
    # 0 is the revision of nothing: the write is refused as stale.
    return revisions[0] if revisions else 0


class Designs(ApiView):
    @reply(
        shapes.page_of(shapes.DesignSummary),
        summary="Designs of the team, last changed first",
        parameters=schema.query(DesignQuery),
    )
    def get(self, request: Request) -> Response:
        return paged(self, selectors.designs(self.team, **query(request, DesignQuery).model_dump()), show=summary)

    @reply(shapes.DesignDetail, body=schema.ref("DesignRequest"), summary="Save a design", status=201)
    @idempotent
    def post(self, request: Request) -> Response:
        given = body(request, DesignBody)
        kind = kind_named(given.kind)
        with pointing("/spec", spec=given.spec, model=kind.spec):
            design = services.design_create(team=self.team, user=self.user, **given.model_dump())
        return _shown(design, status=201)


class OneDesign(ApiView):
    @reply(shapes.DesignDetail, summary="A design", parameters=schema.query(OneQuery))
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wanted = query(request, OneQuery)
        design = design_of(self, id, deleted=wanted.deleted)
        if not wanted.include and request.headers.get("If-None-Match") == etag(design):
            return HttpResponse(status=304, headers={"ETag": etag(design)})
        return _shown(design, include=wanted.include)

    @reply(
        shapes.DesignDetail,
        body=schema.ref("DesignRequest"),
        summary="Replace a design; If-Match names the revision you read",
        parameters=[schema.IF_MATCH],
    )
    def put(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        changes = body(request, DesignBody).model_dump()
        return self._write(request, design, changes=changes)

    @reply(
        shapes.DesignDetail,
        body=DesignChange,
        summary="Change parts of a design; If-Match names the revision you read",
        parameters=[schema.IF_MATCH],
    )
    def patch(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        changes = body(request, DesignChange).model_dump(exclude_unset=True)
        if nothing := [name for name, value in changes.items() if value is None]:
            raise InvalidInput.of(f"/{nothing[0]}", detail=_("Leave the field out to keep it; it cannot be null."))
        if "spec" in changes:
            changes["spec"] = {**design.spec, **changes["spec"]}
        return self._write(request, design, changes=changes)

    def _write(self, request: Request, design: Design, *, changes: dict[str, Any]) -> Response:
        revision = expected_revision(request, design)
        assert revision is not None  # noqa: S101 - it is required
        if changes.pop("kind", design.kind) != design.kind:
            raise InvalidInput.of("/kind", detail=_("The kind of a design cannot change; save a new design."))
        with pointing("/spec", spec=changes.get("spec"), model=kinds.get(design.kind).spec):
            saved = services.design_update(design=design, user=self.user, expected_revision=revision, **changes)
        return _shown(saved)

    @reply(None, summary="Delete a design; it can be restored for 30 days", status=204)
    def delete(self, request: Request, id: UUID) -> Response:
        design = design_of(self, id)
        revision = expected_revision(request, design, required=False)
        services.design_delete(design=design, user=self.user, expected_revision=revision)
        return Response(status=204)


class RestoreDesign(ApiView):
    @reply(shapes.DesignDetail, summary="Undo the deletion of a design")
    def post(self, _request: Request, id: UUID) -> Response:
        design = design_of(self, id, deleted=True)
        return _shown(services.design_restore(design=design, user=self.user))


class Revisions(ApiView):
    @reply(shapes.page_of(shapes.RevisionShape), summary="Revisions of a design, newest first")
    def get(self, _request: Request, id: UUID) -> Response:
        return paged(self, selectors.revisions(design_of(self, id)), show=self._revision)

    def _revision(self, revision: Revision) -> dict[str, Any]:
        names = ("number", "name", "description", "tags", "spec", "spec_version", "at")
        return {**{name: getattr(revision, name) for name in names}, "author": username(revision.author)}

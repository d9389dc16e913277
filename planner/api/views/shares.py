"""Links that show a frozen design or comparison to anyone who has them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.timezone import is_naive
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
from planner.api.views.comparisons import comparison_of
from planner.api.views.designs import design_of, username
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import selectors, services
from planner.designs.models import Share
from planner.jobs.drilled import found_of


class ShareBody(Body):
    expires_at: datetime | None = Field(None, description="When the link stops working; null: until it is revoked.")


def share_json(share: Share, *, base: str) -> dict[str, Any]:
    return {
        "id": share.id,
        "link": services.share_link(share),
        "created_at": share.created_at,
        "created_by": username(share.created_by),
        "expires_at": share.expires_at,
        "revoked_at": share.revoked_at,
        "url": f"{base}{share.id}/",
    }


def _listed(view: ApiView, **subject: Any) -> Response:
    found = selectors.shares(view.team, **subject)
    return paged(view, found, show=lambda share: share_json(share, base=view.request.path))


def _made(view: ApiView, **subject: Any) -> Response:
    request = view.request
    expires_at = body(request, ShareBody).expires_at if request.data else None
    if expires_at is not None and is_naive(expires_at):
        raise InvalidInput.of("/expires_at", detail=_("Give the time with its zone, as 2030-01-31T12:00:00Z."))
    share = services.share_create(team=view.team, user=view.user, expires_at=expires_at, **subject)
    made = share_json(share, base=request.path)
    return Response(made, status=201, headers={"Location": made["url"]})


def _revoked(view: ApiView, id: UUID, **subject: Any) -> Response:
    """Editors revoke their own links, admins anybody's."""
    share = selectors.shares(view.team, **subject).select_related("team").filter(id=id).first()
    if share is None:
        no_such(_("share link"))
    if share.created_by_id != view.user.pk:
        demand(view.request, role="admin", scope="write")
    services.share_revoke(share=share, user=view.user)
    return Response(status=204)


class DesignShares(ApiView):
    @reply(shapes.page_of(shapes.ShareShape), summary="Share links of a design")
    def get(self, _request: Request, id: UUID) -> Response:
        return _listed(self, design=design_of(self, id))

    @reply(shapes.ShareShape, body=ShareBody, summary="Share a design as it is now", status=201)
    @idempotent
    def post(self, _request: Request, id: UUID) -> Response:
        return _made(self, design=design_of(self, id))


class DesignShare(ApiView):
    @reply(None, summary="Revoke a share link", status=204)
    def delete(self, _request: Request, id: UUID, share: UUID) -> Response:
        return _revoked(self, share, design=design_of(self, id))


class ComparisonShares(ApiView):
    @reply(shapes.page_of(shapes.ShareShape), summary="Share links of a comparison")
    def get(self, _request: Request, id: UUID) -> Response:
        return _listed(self, comparison=comparison_of(self, id))

    @reply(shapes.ShareShape, body=ShareBody, summary="Share a comparison as it is now", status=201)
    @idempotent
    def post(self, _request: Request, id: UUID) -> Response:
        comparison = comparison_of(self, id)
        return _made(self, comparison=comparison, found=found_of(comparison))


class ComparisonShare(ApiView):
    @reply(None, summary="Revoke a share link", status=204)
    def delete(self, _request: Request, id: UUID, share: UUID) -> Response:
        return _revoked(self, share, comparison=comparison_of(self, id))

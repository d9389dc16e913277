"""`/tokens/` and `/members/`: the caller's own tokens in the team, and who is in it."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from planner.accounts import selectors, services
from planner.accounts.models import ApiToken, Membership
from planner.api import shapes
from planner.api.errors import InvalidInput
from planner.api.idempotency import idempotent_but
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.views.resource import ApiView, no_such, reply


class TokenBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=80)]
    scopes: Annotated[list[Literal["read", "write"]], Field(min_length=1)] = Field(["read", "write"])
    expires_in_days: Annotated[float, Field(gt=0, le=3660)] | None = Field(
        None, description="null: until it is revoked."
    )


def token_json(token: ApiToken) -> dict[str, Any]:
    return {
        "id": token.public_id,
        "name": token.name,
        "scopes": token.scopes,
        "created_at": token.created,
        "expires_at": token.expiry,
        "url": reverse("api:token", args=[token.public_id]),
    }


def _within(request: Request, *, scopes: list[str], expires_in: timedelta | None) -> timedelta | None:
    """The life of a new token; one made with a token outlives and outreaches the token it is made with by nothing."""
    if not isinstance(request.auth, ApiToken):
        return expires_in
    if not set(scopes) <= set(request.auth.scopes):
        raise PermissionDenied(_("A token cannot make one with more scopes than its own."))
    if request.auth.expiry is None:
        return expires_in
    left: timedelta = request.auth.expiry - timezone.now()
    return left if expires_in is None else min(left, expires_in)


class Tokens(ApiView):
    role_to_write = "viewer"

    @reply(shapes.page_of(shapes.TokenShape), summary="Your tokens in this team")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.tokens(self.user, team=self.team), show=token_json)

    @reply(shapes.TokenMade, body=TokenBody, summary="Make a token; its text is shown once", status=201)
    @idempotent_but("token")
    def post(self, request: Request) -> Response:
        given = body(request, TokenBody)
        if not given.name.strip():
            raise InvalidInput.of("/name", detail=_("Give the token a name."))
        wanted = None if given.expires_in_days is None else timedelta(days=given.expires_in_days)
        life = _within(request, scopes=list(given.scopes), expires_in=wanted)
        token, plain = services.token_create(
            user=self.user, team=self.team, name=given.name.strip(), scopes=given.scopes, expires_in=life
        )
        made = {**token_json(token), "token": plain}
        return Response(made, status=201, headers={"Location": made["url"]})


class OneToken(ApiView):
    role_to_write = "viewer"

    @reply(None, summary="Revoke a token", status=204)
    def delete(self, _request: Request, id: UUID) -> Response:
        token = selectors.tokens(self.user, team=self.team).select_related("team").filter(public_id=id).first()
        if token is None:
            no_such(_("token"))
        services.token_revoke(token=token, by=self.user)
        return Response(status=204)


def member_json(row: Membership) -> dict[str, Any]:
    return {"user": row.user.public_id, "username": row.user.get_username(), "role": row.role}


class Members(ApiView):
    @reply(shapes.page_of(shapes.MemberShape), summary="Members of the team and their roles")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.members(self.team), show=member_json)

"""`/tokens/`: the caller's own tokens in the team."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
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
from planner.accounts.models import ApiToken
from planner.api import shapes
from planner.api.errors import InvalidInput
from planner.api.idempotency import idempotent_but
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.permissions import role_of
from planner.api.views.resource import ApiView, no_such, reply


class TokenBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=80)]
    scopes: Annotated[list[Literal["read", "write"]], Field(min_length=1)] | None = Field(
        None, description="null: all that you, or the token you ask with, may do."
    )
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


def _scopes(request: Request, *, wanted: Sequence[str] | None) -> list[str]:
    """What the new token may do: no more than its maker."""
    by_role = services.SCOPES if selectors.allows(role_of(request), "editor") else ("read",)
    own = [scope for scope in by_role if not isinstance(request.auth, ApiToken) or scope in request.auth.scopes]
    if wanted is None:
        return own
    if beyond := sorted(set(wanted) - set(own)):
        raise PermissionDenied(_("You may not %(scope)s, so your token may not either.") % {"scope": beyond[0]})
    return list(wanted)


def _life(request: Request, *, wanted: timedelta | None) -> timedelta | None:
    """How long the new token lives: one made with a token ends no later than that."""
    expiry: datetime | None = getattr(request.auth, "expiry", None)
    if expiry is None:
        return wanted
    left = expiry - timezone.now()
    return left if wanted is None else min(left, wanted)


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
        token, plain = services.token_create(
            user=self.user,
            team=self.team,
            name=given.name.strip(),
            scopes=_scopes(request, wanted=given.scopes),
            expires_in=_life(request, wanted=wanted),
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

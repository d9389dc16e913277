"""Who calls: a hashed bearer token of a team, or the browser's session. Both say which team and role they act with."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from knox.crypto import hash_token
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from planner.accounts.models import ApiToken, Membership, User


def _living(digest: str) -> ApiToken | None:
    """The token with its user, team and the user's role in that team: one query."""
    role = Membership.objects.filter(user=OuterRef("user"), team=OuterRef("team")).values("role")[:1]
    alive = Q(expiry__isnull=True) | Q(expiry__gt=timezone.now())
    found = ApiToken.objects.filter(alive, digest=digest, user__is_active=True)
    token: ApiToken | None = found.select_related("user", "team").annotate(role=Subquery(role)).first()
    return token


class TokenOfATeam(TokenAuthentication):  # type: ignore[misc]
    """``Authorization: Bearer …``. A token whose user has left the team opens nothing."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        found: tuple[User, ApiToken] | None = super().authenticate(request)
        if found is not None:
            vars(request._request).update(team=found[1].team, role=found[1].role)  # noqa: SLF001
        return found

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        # The lookup is by the digest, so its time says nothing about the tokens that exist.
        try:
            found = _living(hash_token(token.decode("ascii")))
        except UnicodeDecodeError:
            found = None
        if found is None or found.role is None:
            raise AuthenticationFailed(_("The token is unknown, expired or revoked."))
        return found.user, found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return "Bearer"


class SessionOfATeam(SessionAuthentication):
    """The signed-in browser, CSRF-checked; `accounts.middleware` has set its team and role."""


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = TokenOfATeam
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": "An API token from the account page."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SessionOfATeam
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "The signed-in browser."}

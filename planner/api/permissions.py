"""What a role and a token's scopes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from planner.accounts.models import ApiToken, Team
from planner.accounts.selectors import allows

if TYPE_CHECKING:
    # Django REST framework loads this module while it loads its views.
    from rest_framework.views import APIView


def role_of(request: Request) -> str | None:
    """The caller's role in the team of the request: `authentication` or `accounts.middleware` have set it."""
    return getattr(request, "role", None)


def team_of(request: Request) -> Team:
    """The team the request acts in; the permissions have let nobody without one in."""
    team: Team = request.team  # type: ignore[attr-defined]
    return team


def demand(request: Request, *, role: str, scope: str) -> None:
    """Raise `PermissionDenied` with the reason unless the caller has this role and, with a token, this scope."""
    if not request.user or not request.user.is_authenticated:
        raise NotAuthenticated
    own = role_of(request)
    if own is None:
        raise PermissionDenied(_("You are not a member of any team."))
    if isinstance(request.auth, ApiToken) and scope not in request.auth.scopes:
        raise PermissionDenied(_("This token may not %(scope)s.") % {"scope": scope})
    if not allows(own, role):
        raise PermissionDenied(
            _("Your role in this team is %(role)s; this needs %(needed)s.") % {"role": own, "needed": role}
        )


class TeamRole(BasePermission):
    """Viewers read, editors write. A view names in ``reads`` the unsafe methods that change nothing (POST of an
    estimate), and in ``role_to_write`` the role its writes need.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method in SAFE_METHODS or request.method in getattr(view, "reads", ()):
            demand(request, role="viewer", scope="read")
        else:
            demand(request, role=getattr(view, "role_to_write", "editor"), scope="write")
        return True

"""What a role and a token's scopes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from planner.accounts.models import ApiToken
from planner.accounts.selectors import allows

if TYPE_CHECKING:
    # Django REST framework loads this module while it loads its views.
    from rest_framework.views import APIView


def demand(request: Request, *, role: str, scope: str) -> None:
    """Raise `PermissionDenied` with the reason unless the caller has this role and, with a token, this scope."""
    if not request.user or not request.user.is_authenticated:
        raise NotAuthenticated
    if request.role is None:
        raise PermissionDenied(_("You are not a member of any team."))
    if isinstance(request.auth, ApiToken) and scope not in request.auth.scopes:
        raise PermissionDenied(_("This token may not %(scope)s.") % {"scope": scope})
    if not allows(request.role, role):
        raise PermissionDenied(
            _("Your role in this team is %(role)s; this needs %(needed)s.") % {"role": request.role, "needed": role}
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

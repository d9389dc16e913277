"""Who may see or do what on the pages: one decorator a need, and typed requests.

A stranger's object is a 404 (the selectors find nothing); too low a role is a 403 page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from planner.accounts import selectors
from planner.accounts.models import Team, User

P = ParamSpec("P")


class TeamRequest(HttpRequest):
    """A request of a signed-in member: what the decorators below guarantee."""

    user: User
    team: Team
    role: str
    htmx: HtmxDetails


View = Callable[Concatenate[TeamRequest, P], HttpResponse]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def member_required(view: View[P]) -> Guarded[P]:
    """Signed-in members of a team; others are sent to the sign-in page."""
    return _guard(view, needed="viewer")


def editor_required(view: View[P]) -> Guarded[P]:
    """Editors and admins of the team."""
    return _guard(view, needed="editor")


def admin_required(view: View[P]) -> Guarded[P]:
    """Admins of the team."""
    return _guard(view, needed="admin")


def _guard(view: View[P], *, needed: str) -> Guarded[P]:
    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        member = cast(Any, request)
        if member.team is None:
            raise PermissionDenied(_("You belong to no team yet. Ask an admin of a team to add you."))
        if not selectors.allows(member.role, needed):
            raise PermissionDenied(_role_sentence(needed, role=member.role, team=member.team))
        return view(member, *args, **kwargs)

    return cast("Guarded[P]", guarded)


def _role_sentence(needed: str, *, role: str, team: Team) -> str:
    sentence = _(
        "This takes the role %(needed)s; you are a %(role)s of “%(team)s”. An admin of the team can change it."
    )
    return sentence % {"needed": needed, "role": role, "team": team.name}


def _to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """The sign-in page, coming back to what was asked for; a fragment makes the whole page go there."""
    if cast(Any, request).htmx:
        here = urlsplit(cast(Any, request).htmx.current_url or "/")
        return HttpResponseClientRedirect(f"{reverse('web:sign-in')}?next={here.path}")
    if request.method != "GET":
        return redirect_to_login("/")
    return redirect_to_login(request.get_full_path())


def safe_next(request: HttpRequest, *, default: str) -> str:
    """Where to go next, if it is a page of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    hosts = {request.get_host()}
    ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts=hosts, require_https=request.is_secure())
    return wanted if ours else default


def note(response: HttpResponse, *, name: str, value: str, secure: bool) -> HttpResponse:
    """Remember a harmless choice of the reader (theme, language, keys) in a cookie the page's script may read too."""
    year_s = 365 * 24 * 3600
    response.set_cookie(name, value, max_age=year_s, samesite="Lax", secure=secure)
    return response

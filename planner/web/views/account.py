"""The account page: team and roles, API tokens, language, theme, keyboard."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from planner.accounts import selectors, services
from planner.accounts.middleware import SESSION_KEY
from planner.accounts.models import Role, Team, User
from planner.web.middleware import available_languages
from planner.web.security import TeamRequest, admin_required, member_required

TOKEN_DAYS = (7, 30, 90, 365)


@never_cache
@require_safe
@member_required
def account(request: TeamRequest) -> HttpResponse:
    return _page(request)


@require_POST
@member_required
def choose_team(request: TeamRequest) -> HttpResponse:
    """Work in another of the user's teams from here on."""
    wanted = request.POST.get("team", "")
    team = next((team for team in selectors.teams_of(request.user) if str(team.id) == wanted), None)
    if team is None:
        raise Http404
    request.session[SESSION_KEY] = str(team.id)
    messages.success(request, _("You now work in “%(team)s”.") % {"team": team.name})
    return redirect("web:account")


@require_POST
@admin_required
def member_set(request: TeamRequest) -> HttpResponse:
    """Add a member by user name, or change a member's role."""
    username, role = request.POST.get("username", "").replace("\x00", "").strip()[:150], request.POST.get("role", "")
    user = selectors.user_named(username)
    if role not in Role.values:
        return _page(request, errors={"role": _("Choose viewer, editor or admin.")}, status=422)
    if user is None:
        return _page(
            request, errors={"username": _("No user has this name. Whoever runs the server can add one.")}, status=422
        )
    try:
        services.membership_set(team=request.team, user=user, role=role, by=request.user)
    except services.LastAdmin as problem:
        return _page(request, errors={"role": str(problem)}, status=422)
    messages.success(
        request, _("%(user)s is now %(role)s.") % {"user": user.username, "role": Role(role).label.lower()}
    )
    return redirect("web:account")


@require_POST
@admin_required
def member_remove(request: TeamRequest, public_id: UUID) -> HttpResponse:
    row = selectors.members(request.team).filter(user__public_id=public_id).first()
    if row is None:
        raise Http404
    try:
        services.membership_remove(team=request.team, user=row.user, by=request.user)
    except services.LastAdmin as problem:
        return _page(request, errors={"role": str(problem)}, status=422)
    messages.success(request, _("%(user)s left the team.") % {"user": row.user.username})
    return redirect("web:account")


@never_cache
@require_POST
@member_required
def token_create(request: TeamRequest) -> HttpResponse:
    """A new token, shown on this one answer and never again."""
    name = request.POST.get("name", "").strip()
    days, write = request.POST.get("days", ""), request.POST.get("scope") == "write"
    errors = {}
    if not name or len(name) > 80 or not name.isprintable():
        errors["name"] = _("Give the token a name of at most 80 characters, so that you know it again.")
    if days not in ("", *map(str, TOKEN_DAYS)):
        errors["days"] = _("Choose one of the offered times.")
    if write and not selectors.allows(request.role, "editor"):
        errors["scope"] = _("Your role may only read; so may your tokens.")
    if errors:
        return _page(request, errors=errors, status=422)
    scopes = ("read", "write") if write else ("read",)
    expires_in = timedelta(days=int(days)) if days else None
    token, plain = services.token_create(
        user=request.user, team=request.team, name=name, scopes=scopes, expires_in=expires_in
    )
    return _page(request, fresh={"name": token.name, "plain": plain}, status=201)


@require_POST
@member_required
def token_revoke(request: TeamRequest, public_id: UUID) -> HttpResponse:
    token = selectors.tokens(request.user, team=request.team).filter(public_id=public_id).first()
    if token is None:
        raise Http404
    services.token_revoke(token=token, by=request.user)
    messages.success(request, _("Token “%(name)s” no longer works.") % {"name": token.name})
    return redirect("web:account")


def _page(
    request: TeamRequest, *, status: int = 200, errors: dict[str, str] | None = None, fresh: Any = None
) -> HttpResponse:
    context = {
        "errors": errors or {},
        "fresh": fresh,
        "typed": request.POST,
        "members": selectors.members(request.team),
        "teams": _teams(request.user, current=request.team),
        "tokens": selectors.tokens(request.user, team=request.team),
        "roles": Role.choices,
        "is_admin": selectors.allows(request.role, "admin"),
        "token_days": [(days, ngettext("%d day", "%d days", days) % days) for days in TOKEN_DAYS],
        "languages": available_languages(),
        "local": settings.LOCAL_MODE,
    }
    return render(request, "accounts/account.html", context, status=status)


def _teams(user: User, *, current: Team) -> list[tuple[Team, bool]]:
    return [(team, team == current) for team in selectors.teams_of(user)]

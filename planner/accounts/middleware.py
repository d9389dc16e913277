"""Says on every request which team it acts in, and with which role."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from planner.accounts import selectors

SESSION_KEY = "team"


class TeamMiddleware:
    """Sets ``request.team`` and ``request.role`` from the session's chosen team, else the first membership."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.team = request.role = None  # type: ignore[attr-defined]
        if request.user.is_authenticated:
            row = selectors.membership(request.user, team_id=request.session.get(SESSION_KEY))
            if row is not None:
                request.team, request.role = row.team, row.role  # type: ignore[attr-defined]
        return self.get_response(request)

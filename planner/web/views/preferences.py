"""Theme, language and keyboard: kept in cookies so that the server draws the page right at once."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from planner.accounts.services import preference_set
from planner.web.context import THEMES
from planner.web.middleware import available_languages
from planner.web.security import note, safe_next


@require_POST
def preferences(request: HttpRequest) -> HttpResponse:
    """Set what the form names; an empty theme follows the system again."""
    choices = {
        "theme": ("theme", ("", *THEMES)),
        "language": (settings.LANGUAGE_COOKIE_NAME, tuple(dict(available_languages()))),
        "keys": ("keys", ("on", "off")),
    }
    response = redirect(safe_next(request, default=reverse("web:home")))
    for name, (cookie, allowed) in choices.items():
        value = request.POST.get(name)
        if value is None:
            continue
        if value not in allowed:
            return HttpResponseBadRequest(f"{name}: one of {', '.join(filter(None, allowed))}")
        _set(response, request, cookie=cookie, value=value)
        if name != "keys" and request.user.is_authenticated:
            preference_set(user=request.user, name=name, value=value)
    return response


def _set(response: HttpResponse, request: HttpRequest, *, cookie: str, value: str) -> None:
    if value:
        note(response, name=cookie, value=value, secure=request.is_secure())
    else:
        response.delete_cookie(cookie, samesite="Lax")

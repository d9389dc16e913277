"""Coming in by password or by a one-time link, and going out."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from planner.accounts import services
from planner.accounts.models import User
from planner.web.security import note, safe_next

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        if request.user.is_authenticated:
            return redirect(safe_next(request, default=reverse("web:home")))
        return _form(request)
    username = request.POST.get("username", "").replace("\x00", "")[:150]
    user = authenticate(request, username=username, password=request.POST.get("password", "")[:4096])
    if user is None:
        return _form(request, error=_("User name and password do not match."), username=username, status=422)
    return _welcome(request, user)


@never_cache
@require_safe
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """A link that signs in once. A preview of the link (HEAD) does not spend it."""
    if request.method == "HEAD":
        return HttpResponse()
    user = services.sign_in_link_use(token=token, now=timezone.now())
    if user is None:
        return render(request, "accounts/spent_link.html", {"local": settings.LOCAL_MODE}, status=410)
    return _welcome(request, user)


def locked_out(request: HttpRequest, _refused: HttpResponse, credentials: Any = None) -> HttpResponse:
    """Too many wrong passwords: the form again, with how long to wait; `AXES_LOCKOUT_CALLABLE`."""
    wait_min = round(settings.AXES_COOLOFF_TIME * 60)
    error = _("Too many wrong passwords for this name. Wait %(minutes)d minutes and try again.") % {"minutes": wait_min}
    response = _form(request, error=error, username=(credentials or {}).get("username", ""), status=429)
    response["Retry-After"] = str(wait_min * 60)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("web:sign-in")


def _form(request: HttpRequest, *, error: str = "", username: str = "", status: int = 200) -> HttpResponse:
    context = {
        "error": error,
        "username": username,
        "next": safe_next(request, default=""),
        "local": settings.LOCAL_MODE,
    }
    return render(request, "accounts/sign_in.html", context, status=status)


def _welcome(request: HttpRequest, user: User) -> HttpResponse:
    """A fresh session, and the choices the person made on another machine."""
    login(request, user, backend=BACKEND)
    response = redirect(safe_next(request, default=reverse("web:home")))
    for name, value in (("theme", user.theme), (settings.LANGUAGE_COOKIE_NAME, user.language)):
        if value:
            note(response, name=name, value=value, secure=request.is_secure())
    return response

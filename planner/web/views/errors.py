"""Error pages: what happened and what to do next, never a traceback."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001 - Django gives it
    return _page(request, status=400, detail="")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, status=403, detail=str(exception or ""))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001 - Django gives it
    return _page(request, status=404, detail="")


def server_error(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django gives it
    """Stands on nothing that may be what broke: no context processor, no database."""
    return HttpResponse(render_to_string("errors/500.html"), status=500)


def _page(request: HttpRequest, *, status: int, detail: str) -> HttpResponse:
    return render(request, f"errors/{status}.html", {"detail": detail}, status=status)

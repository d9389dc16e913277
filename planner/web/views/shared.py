"""What a share link shows: the frozen picture, to anyone who has the link, and nothing else.

A link that was never made, has expired or was revoked is one and the same 404.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from planner import kinds
from planner.accounts.selectors import allows
from planner.designs import selectors, services
from planner.designs.models import Design, Share
from planner.web.security import TeamRequest, editor_required

PAPERS = ("a4", "letter")
LONGEST_TOKEN = 100

Opened = Callable[[HttpRequest, Share], HttpResponseBase]


def _by_link(view: Opened, *, referrer: str = "no-referrer") -> Callable[[HttpRequest, str], HttpResponseBase]:
    """Open the link, or say that it opens nothing. No copy is kept on the way, and no address of it passed on."""

    @wraps(view)
    def opened(request: HttpRequest, token: str) -> HttpResponseBase:
        share = _share(token)
        response = render(request, "shared/gone.html", status=404) if share is None else view(request, share)
        response["X-Robots-Tag"] = "noindex, nofollow"
        response["Referrer-Policy"] = referrer
        response["Cache-Control"] = "private, no-store"
        return response

    return opened


def _share(token: str) -> Share | None:
    if len(token) > LONGEST_TOKEN or not token.isascii():
        return None
    return selectors.share_by_token(token, timezone.now())


def _shared(request: HttpRequest, share: Share) -> HttpResponse:
    """The frozen design or comparison."""
    context = {
        "share": share,
        "view": share.frozen,
        "may_open": not request.user.is_authenticated or allows(getattr(request, "role", None), "editor"),
        "token": services.share_link(share).strip("/").rsplit("/", 1)[-1],
        "shown": True,
    }
    if share.comparison_id is not None:
        return render(request, "shared/comparison.html", context)
    saved_at = parse_datetime(share.frozen["design"]["saved_at"])
    return render(request, "shared/design.html", {**context, "saved_at": saved_at})


def _pdf(request: HttpRequest, share: Share) -> HttpResponse:
    """The report of the frozen picture."""
    from planner.reports import build

    paper = request.GET.get("paper", "a4")
    make = build.document if share.comparison_id is None else build.comparison_document
    content = make(share.frozen, paper=paper if paper in PAPERS else "a4", language=get_language() or "en")
    return _file(content, share, ending="pdf", media_type="application/pdf", attached=False)


def _csv(request: HttpRequest, share: Share) -> HttpResponse:  # noqa: ARG001 - one of the views of `_by_link`
    """The figures of the frozen picture."""
    from planner.reports import build

    return _file(build.csv_of(share.frozen), share, ending="csv", media_type="text/csv; charset=utf-8", attached=True)


def _open(request: HttpRequest, share: Share) -> HttpResponseBase:
    """Copy what is shown into the reader's team: asked first, then done."""
    return _copy(request, share)


@editor_required
def _copy(request: TeamRequest, share: Share) -> HttpResponse:
    context = {"share": share, "name": name_of(share.frozen), "is_design": share.comparison_id is None}
    if request.method != "POST":
        return render(request, "shared/open.html", context)
    try:
        made = services.share_open(share=share, team=request.team, user=request.user)
    except (ValidationError, services.InvalidField, kinds.UnknownKind):
        problem = _("Its inputs no longer fit this version of the planner, so it cannot be copied.")
        return render(request, "shared/open.html", {**context, "problem": problem}, status=409)
    messages.success(request, _("Copied to “%(team)s”.") % {"team": request.team.name})
    return redirect("web:design" if isinstance(made, Design) else "web:comparison", made.id)


def name_of(view: dict[str, Any]) -> str:
    return str(view["design"]["name"] if "design" in view else view["name"])


def _file(content: bytes | str, share: Share, *, ending: str, media_type: str, attached: bool) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type)
    name = f"{slugify(name_of(share.frozen)) or 'shared'}.{ending}"
    response["Content-Disposition"] = content_disposition_header(as_attachment=attached, filename=name) or ""
    return response


shared = require_safe(_by_link(_shared))
shared_pdf = require_safe(_by_link(_pdf))
shared_csv = require_safe(_by_link(_csv))
# Its form posts to itself: without a referrer a browser would send the origin "null", which the CSRF check refuses.
shared_open = require_http_methods(["GET", "HEAD", "POST"])(_by_link(_open, referrer="same-origin"))

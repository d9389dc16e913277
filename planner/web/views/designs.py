"""A saved design around its editor: history, description, copies, deletion and its undo, export."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import ValidationError

from planner import kinds
from planner.catalog import selectors as catalogs
from planner.core.catalog import Catalog
from planner.core.kind import DesignKind
from planner.designs import estimation, selectors, services, snapshot
from planner.designs.inputs import inputs
from planner.designs.models import Design, Revision
from planner.designs.services import InvalidField, StaleWrite
from planner.web.deciding import design_of
from planner.web.security import TeamRequest, editor_required, member_required
from planner.web.views.editor import revision_read


@require_safe
@member_required
def history(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Every revision with what it changed, and a way back to it."""
    design = design_of(request, design_id)
    return render(request, "designs/history.html", {"design": design, "rows": _history(request, design)})


@require_POST
@editor_required
def revert(request: TeamRequest, design_id: UUID) -> HttpResponse:
    design = design_of(request, design_id)
    number = request.POST.get("number", "")
    try:
        after = services.design_revert(
            design=design,
            user=request.user,
            expected_revision=revision_read(request),
            number=int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0,
        )
    except Revision.DoesNotExist:
        raise Http404 from None
    except StaleWrite as stale:
        return _moved_on(request, current=stale.current)
    except ValidationError:
        messages.error(request, _("Revision %(number)s no longer fits this kind of design.") % {"number": number})
        return redirect("web:history", design.id)
    messages.success(
        request, _("Back to revision %(number)s, saved as r%(after)d.") % {"number": number, "after": after.revision}
    )
    return redirect("web:design", design.id)


@require_http_methods(["GET", "HEAD", "POST"])
@editor_required
def describe(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Name, description and tags."""
    design = design_of(request, design_id)
    if request.method != "POST":
        return _description(request, design, typed=_described(design))
    typed = {name: request.POST.get(name, "") for name in ("name", "description", "tags")}
    try:
        services.design_update(
            design=design,
            user=request.user,
            expected_revision=revision_read(request),
            **{**typed, "tags": typed["tags"].split(",")},
        )
    except InvalidField as invalid:
        return _description(
            request, design, typed=typed, errors={invalid.field.split("/")[0]: invalid.message}, status=422
        )
    except StaleWrite as stale:
        return _description(request, stale.current, typed=typed, stale=True, status=412)
    messages.success(request, _("Saved."))
    return redirect("web:design", design.id)


@require_POST
@editor_required
def duplicate(request: TeamRequest, design_id: UUID) -> HttpResponse:
    copy = services.design_copy(design=design_of(request, design_id), user=request.user)
    messages.success(request, _("This is a copy: “%(name)s”.") % {"name": copy.name})
    return redirect("web:design", copy.id)


@require_POST
@editor_required
def delete(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Delete; the list that follows offers the undo."""
    design = design_of(request, design_id)
    services.design_delete(design=design, user=request.user)
    return redirect(f"{reverse('web:home')}?deleted={design.id}")


@require_POST
@editor_required
def restore(request: TeamRequest, design_id: UUID) -> HttpResponse:
    design = design_of(request, design_id, deleted=True)
    try:
        services.design_restore(design=design, user=request.user)
    except Design.DoesNotExist:
        raise Http404 from None
    messages.success(request, _("“%(name)s” is back.") % {"name": design.name})
    return redirect("web:design", design.id)


@require_safe
@member_required
def export(request: TeamRequest, design_id: UUID, form: str) -> HttpResponse:
    """The figures of a saved design as a CSV table or as JSON."""
    design = design_of(request, design_id)
    if form not in ("csv", "json"):
        raise Http404
    try:
        view = snapshot.design_view(design)
    except estimation.CANNOT_ANSWER:
        raise Http404 from None
    name = f"{slugify(design.name) or 'design'}-r{design.revision}.{form}"
    if form == "csv":
        from planner.reports import build

        response = HttpResponse(build.csv_of(view), content_type="text/csv; charset=utf-8")
    else:
        response = HttpResponse(json.dumps(view, ensure_ascii=False, allow_nan=False), content_type="application/json")
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


def _described(design: Design) -> dict[str, str]:
    return {"name": design.name, "description": design.description, "tags": ", ".join(design.tags)}


def _description(
    request: TeamRequest, design: Design, *, typed: dict[str, str], status: int = 200, **more: Any
) -> HttpResponse:
    context = {"design": design, "saved": _described(design), "typed": typed, "errors": {}, **more}
    return render(request, "designs/describe.html", context, status=status)


def _moved_on(request: TeamRequest, *, current: Design) -> HttpResponse:
    """The design was saved again since the list was read: the list as it is now, and why."""
    context = {"design": current, "rows": _history(request, current), "stale": True}
    return render(request, "designs/history.html", context, status=412)


def _history(request: TeamRequest, design: Design) -> list[dict[str, Any]]:
    """Revisions, newest first, each with its differences to the one before."""
    kind = kinds.all_kinds().get(design.kind)
    catalog = catalogs.catalog(request.team)
    found = list(selectors.revisions(design))
    return [
        {"revision": row, "changes": _changes(kind, older=older, newer=row, catalog=catalog), "first": older is None}
        for row, older in zip(found, [*found[1:], None], strict=True)
    ]


def _changes(
    kind: DesignKind | None, *, older: Revision | None, newer: Revision, catalog: Catalog
) -> list[tuple[str, str, str]]:
    """What a revision changed: label, before, after."""
    if older is None:
        return []
    words = [
        (label, str(before), str(after))
        for label, before, after in (
            (_("Name"), older.name, newer.name),
            (_("Tags"), ", ".join(older.tags), ", ".join(newer.tags)),
            (_("Description"), older.description[:80], newer.description[:80]),
        )
        if before != after
    ]
    if kind is None:
        return words
    try:
        before, after = (
            inputs(kind, spec=estimation.parse_spec(kind, spec=row.spec), catalog=catalog) for row in (older, newer)
        )
    except ValidationError:
        return words
    return words + [
        (found.label, before[name].shown, found.shown)
        for name, found in after.items()
        if found.value != before[name].value
    ]

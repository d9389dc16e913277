"""The editor of a design, saved or not: one page for all kinds, and its live results."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import ValidationError

from planner import kinds
from planner.accounts.selectors import allows
from planner.catalog import selectors as catalogs
from planner.designs import selectors, services, snapshot
from planner.designs.models import Design
from planner.designs.services import InvalidField, StaleWrite
from planner.web import run_form, share_links, workload_source
from planner.web.deciding import ways
from planner.web.editing import Draft, Origin, change_of, draft_of, draft_read, entry_exists, origin_of
from planner.web.security import TeamRequest, member_required
from planner.web.trust_links import place_of


@require_safe
@member_required
def choose(request: TeamRequest) -> HttpResponse:
    """The kinds as questions, each with its worked examples."""
    rows = [(kind, [row for row in kinds.examples() if row.kind == kind.slug]) for kind in kinds.all_kinds().values()]
    return render(request, "designs/choose.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@member_required
def new(request: TeamRequest, kind: str) -> HttpResponse:
    """The editor of an unsaved design; POST saves it under a name."""
    asked = request.POST if request.method == "POST" else request.GET
    origin = origin_of(kind, team=request.team, example=asked.get("example", ""))
    if request.method == "POST":
        return _create(request, origin)
    return page(request, draft=_opened(request, origin))


@require_http_methods(["GET", "HEAD", "POST"])
@member_required
def design(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The editor of a saved design; POST saves its inputs as the next revision."""
    try:
        saved = selectors.design(request.team, design_id)
    except Design.DoesNotExist:
        raise Http404 from None
    origin = origin_of(saved.kind, team=request.team, design_id=str(saved.id), example=saved.example)
    if request.method == "POST":
        return _save(request, origin, saved=saved)
    return page(request, draft=_opened(request, origin))


@never_cache
@require_POST
@member_required
def live(request: TeamRequest, kind: str) -> HttpResponse:
    """The answer to the form as it stands, not saved: a fragment for htmx, the whole page without."""
    origin = origin_of(
        kind, team=request.team, design_id=request.POST.get("design", ""), example=request.POST.get("example", "")
    )
    change = change_of(request.POST["apply"]) if "apply" in request.POST else {}
    if source := request.POST.get("fill"):
        change |= workload_source.change_from(origin.kind, chosen=source, team=request.team)
    draft = draft_read(origin, data=request.POST, change=change)
    if request.htmx.target == "result":
        response = render(request, "designs/editor.html#live", context_of(request, draft=draft), status=draft.status)
        if not draft.answered:
            # Only the messages go in; the last valid answer stays and is dimmed.
            response["HX-Reswap"] = "none"
        return response
    return page(request, draft=draft)


def page(
    request: TeamRequest,
    *,
    draft: Draft,
    status: int | None = None,
    problem: str = "",
    said: str = "",
    run_failed: bool = False,
) -> HttpResponse:
    """The whole editor; ``problem`` kept an action from being done (``run_failed``: a run), ``said`` tells of one."""
    context = context_of(request, draft=draft, run_failed=run_failed) | {"problem": problem, "said": said}
    return render(request, "designs/editor.html", context, status=status or draft.status)


def context_of(request: TeamRequest, *, draft: Draft, run_failed: bool = False) -> dict[str, Any]:
    """Everything the editor's templates show."""
    origin, saved = draft.origin, draft.origin.design
    simulator = origin.kind.simulator
    view = _view(draft)
    return {
        "draft": draft,
        "form": draft.form,
        "kind": origin.kind,
        "design": saved,
        "deciding": ways(saved, page="design") if saved else [],
        "example": None if saved else origin.example,
        "name": saved.name if saved else (origin.example.name if origin.example else _("New design")),
        "view": view,
        "place": place_of(view),
        "since": draft.since,
        "editable": allows(request.role, "editor"),
        "sources": workload_source.sources(origin.kind, team=request.team),
        "keeps_workload": workload_source.has_workload(origin.kind),
        "traces": [row for row in catalogs.workloads(request.team) if row.form == row.Form.TRACE],
        "shares": share_links.share_rows(request, design=saved) if saved else [],
        "share_days": share_links.SHARE_DAYS,
        "simulator": simulator,
        "run": simulator and run_form.shown(simulator, posted=request.POST, failed=run_failed),
        "missing_link": draft.missing is not None
        and entry_exists(draft.missing.table, slug=draft.missing.slug, team=request.team),
    }


def _view(draft: Draft) -> dict[str, Any] | None:
    if draft.estimate is None:
        return None
    if draft.origin.design is None:
        return snapshot.view(draft.estimate, name=draft.origin.kind.label)
    return snapshot.view(draft.estimate, **snapshot.meta(draft.origin.design))


def _opened(request: TeamRequest, origin: Origin) -> Draft:
    """The start, the defaults (`?reset=1`), or the start with a change (`?set={"field": value}`)."""
    try:
        start = kinds.get(origin.kind.slug).spec().model_dump(mode="json") if "reset" in request.GET else origin.start
    except ValidationError:
        # Saved under an older form of the kind: open what still reads, with the reasons beside the rest.
        assert origin.design is not None  # noqa: S101 - defaults and examples are checked at the door
        return draft_read(Origin(origin.kind, origin.team), data={}, change=origin.design.spec)
    change = change_of(request.GET["set"]) if "set" in request.GET else {}
    if not change:
        return draft_of(origin, spec=start)
    return draft_read(origin, data={}, change={**start, **change})


def _create(request: TeamRequest, origin: Origin) -> HttpResponse:
    _writers_only(request)
    draft = draft_read(origin, data=request.POST)
    if not draft.form.ok:
        return page(request, draft=draft)
    try:
        saved = services.design_create(
            team=request.team,
            user=request.user,
            kind=origin.kind.slug,
            spec=draft.form.spec,
            name=request.POST.get("save_name", ""),
            description=request.POST.get("save_description", ""),
            tags=request.POST.get("save_tags", "").split(","),
            example=origin.example.slug if origin.example else "",
        )
    except InvalidField as invalid:
        return page(request, draft=draft, status=422, problem=invalid.message)
    messages.success(request, _("Saved as “%(name)s”.") % {"name": saved.name})
    return redirect("web:design", saved.id)


def _save(request: TeamRequest, origin: Origin, *, saved: Design) -> HttpResponse:
    _writers_only(request)
    draft = draft_read(origin, data=request.POST)
    if not draft.form.ok:
        return page(request, draft=draft)
    try:
        after = services.design_update(
            design=saved, user=request.user, expected_revision=revision_read(request), spec=draft.form.spec
        )
    except StaleWrite as stale:
        return _stale(request, draft=draft, current=stale.current)
    messages.success(request, _("Saved as revision %(number)d.") % {"number": after.revision})
    return redirect("web:design", saved.id)


def revision_read(request: TeamRequest) -> int:
    """The revision the form was opened at; one that never existed when it does not say."""
    text = request.POST.get("revision", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _stale(request: TeamRequest, *, draft: Draft, current: Design) -> HttpResponse:
    """Somebody saved in between: both versions side by side, and the choice."""
    theirs = draft_of(draft.origin, spec=current.spec).form
    rows = [
        (mine, other) for mine, other in zip(draft.form.fields, theirs.fields, strict=True) if mine.text != other.text
    ]
    context = {"design": current, "form": draft.form, "rows": rows, "read": revision_read(request)}
    return render(request, "designs/stale.html", context, status=412)


def _writers_only(request: TeamRequest) -> None:
    if not allows(request.role, "editor"):
        raise PermissionDenied(
            _("You may look at designs of this team, not save them. An admin can make you an editor.")
        )

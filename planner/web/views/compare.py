"""Two to six designs side by side at an address of their own: chosen, kept, shared, printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from pydantic import ValidationError

from planner import kinds
from planner.accounts.selectors import allows
from planner.designs import selectors, services
from planner.designs.compare import comparison_view, inline_view
from planner.designs.equal import AS_IS, MODES
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.models import Comparison, Design
from planner.designs.sharing import checked_items, checked_mode
from planner.designs.texts import InvalidField
from planner.jobs import services as jobs
from planner.jobs.compared import simulated_view, simulations_start, with_simulations
from planner.jobs.drilled import found_of
from planner.jobs.models import State
from planner.web import share_links
from planner.web.comparing import address, chooser, items_of, marked, others
from planner.web.security import TeamRequest, editor_required, member_required


@require_safe
@member_required
def compare(request: TeamRequest) -> HttpResponse:
    """What the address names (``d``), or the page to choose it on."""
    chosen = _chosen(request)
    if len(chosen) < 2:
        return chooser(request, chosen=chosen)
    try:
        items = checked_items(with_simulations(chosen, team=request.team), team=request.team)
        view = inline_view(items, team=request.team, mode=checked_mode(request.GET.get("mode") or AS_IS))
    except InvalidField as invalid:
        return chooser(request, chosen=chosen, problem=invalid.message, status=422)
    except CANNOT_ANSWER as problem:
        return chooser(request, chosen=chosen, problem=_no_answer(problem), status=409)
    return render(request, "compare/compare.html", _context(request, view=view, saved=None, chosen=chosen))


@require_POST
@editor_required
def compare_save(request: TeamRequest) -> HttpResponse:
    """Keep the comparison under a name; from then on it can be shared and printed."""
    chosen = items_of(request.POST.getlist("d"))
    try:
        saved = services.comparison_create(
            team=request.team,
            user=request.user,
            items=with_simulations(chosen, team=request.team),
            name=request.POST.get("name", ""),
            mode=request.POST.get("mode") or AS_IS,
        )
    except InvalidField as invalid:
        return chooser(request, chosen=chosen, problem=invalid.message, status=422)
    return redirect("web:comparison", saved.id)


@require_safe
@member_required
def comparison(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    """A saved comparison, computed with today's catalog and the designs as they are now."""
    saved = _comparison(request, comparison_id)
    try:
        mode = checked_mode(request.GET.get("mode") or saved.mode)
        view = comparison_view(saved, mode=mode)
    except InvalidField as invalid:
        return chooser(request, chosen=[], problem=invalid.message, status=409)
    except CANNOT_ANSWER as problem:
        return chooser(request, chosen=[], problem=_no_answer(problem), status=409)
    context = _context(request, view=view, saved=saved, chosen=_kept(saved))
    if view["mode"] == AS_IS:
        context |= {"simulated": simulated_view(view, team=request.team)}
    return render(request, "compare/compare.html", context)


@require_POST
@editor_required
def comparison_simulate(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    """Simulate all designs with the same seed and horizon."""
    saved = _comparison(request, comparison_id)
    try:
        asked = ("seed", "duration_s", *(("replications",) if request.POST.get("replications") else ()))
        how = {name: _number(request, name) for name in asked}
        started = simulations_start(comparison=saved, user=request.user, **how)
    except InvalidField as invalid:
        messages.error(request, f"{invalid.field}: {invalid.message}")
    except Design.DoesNotExist:
        messages.error(request, _("A design of this comparison has been deleted."))
    except CANNOT_ANSWER as problem:
        messages.error(request, _no_answer(problem))
    else:
        messages.success(request, _started(sum(job.state != State.SUCCEEDED for job in started)))
    return redirect("web:comparison", saved.id)


@require_safe
@member_required
def comparison_export(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    """The table as CSV."""
    from planner.reports.build import comparison_csv

    saved = _comparison(request, comparison_id)
    try:
        content = comparison_csv(comparison_view(saved))
    except (InvalidField, *CANNOT_ANSWER):
        raise Http404 from None
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename="comparison.csv") or ""
    return response


@require_POST
@editor_required
def comparison_report(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    saved = _comparison(request, comparison_id)
    try:
        job = jobs.report_start(
            team=request.team, user=request.user, comparison=saved, paper=request.POST.get("paper", "a4")
        )
    except InvalidField as invalid:
        messages.error(request, invalid.message)
        return redirect("web:comparison", saved.id)
    return redirect("web:job", job.id)


@require_POST
@editor_required
def comparison_share(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    saved = _comparison(request, comparison_id)
    try:
        expires_at = share_links.expiry_read(request)
    except InvalidField as invalid:
        messages.error(request, invalid.message)
        return redirect(_at_shares(saved))
    try:
        services.share_create(
            team=request.team, user=request.user, comparison=saved, expires_at=expires_at, found=found_of(saved)
        )
    except (InvalidField, *CANNOT_ANSWER):
        messages.error(request, _("It has no answer at the moment, so there is nothing to share."))
    else:
        messages.success(request, _("Anyone with the new link sees this comparison as it is now."))
    return redirect(_at_shares(saved))


@require_POST
@editor_required
def comparison_share_revoke(request: TeamRequest, comparison_id: UUID, share_id: UUID) -> HttpResponse:
    saved = _comparison(request, comparison_id)
    share_links.revoke(request, share_id, comparison=saved)
    messages.success(request, _("The link no longer opens."))
    return redirect(_at_shares(saved))


def _at_shares(saved: Comparison) -> str:
    """Back to where links are shown: the page of the drill, where it is one."""
    page = "web:drill" if selectors.drills(saved.team).filter(comparison=saved).exists() else "web:comparison"
    return f"{reverse(page, args=[saved.id])}#share"


def _comparison(request: TeamRequest, comparison_id: UUID) -> Comparison:
    try:
        return selectors.comparison(request.team, comparison_id)
    except Comparison.DoesNotExist:
        raise Http404 from None


def _number(request: TeamRequest, name: str) -> float:
    """A number of the form; what it may be is checked where it is used."""
    try:
        return float(request.POST.get(name, "").replace(",", "")[:40])
    except ValueError:
        raise InvalidField(field=name, message=_("Give a number.")) from None


def _started(waiting: int) -> str:
    if not waiting:
        return _("All of them had been simulated like this before.")
    return ngettext(
        "%(n)d simulation is under way; its result will stand below. See Jobs for its progress.",
        "%(n)d simulations are under way; their results will stand below. See Jobs for their progress.",
        waiting,
    ) % {"n": waiting}


def _chosen(request: TeamRequest) -> list[dict[str, str]]:
    """What the address names, each once, in order; the first is the baseline."""
    return items_of(request.GET.getlist("d"))


def _kept(saved: Comparison) -> list[dict[str, str]]:
    """Items of a saved comparison as the address would name them, those that are still there."""
    there = {str(design.id) for design in selectors.designs(saved.team)}
    return [item for item in saved.items if "design" not in item or item["design"] in there]


def _no_answer(problem: Exception) -> str:
    reason = _("its inputs are no longer valid") if isinstance(problem, ValidationError) else str(problem)
    return _("One of the designs has no answer, so they cannot be compared: %(reason)s.") % {
        "reason": reason.rstrip(".")
    }


def _context(
    request: TeamRequest, *, view: dict[str, Any], saved: Comparison | None, chosen: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    marks = [marked(item) for item in chosen]
    return {
        "view": view,
        "saved": saved,
        "editable": allows(request.role, "editor"),
        "columns": [_column(item, marks=marks, mode=view["mode"]) for item in view["items"]],
        "others": others(request, marks=marks),
        "ids": marks,
        "modes": [(name, label, _mode_url(request, mode=name), name == view["mode"]) for name, label in MODES.items()],
        "shares": share_links.share_rows(request, comparison=saved) if saved else [],
        "share_days": share_links.SHARE_DAYS,
        "can_keep": all(marks),
        "can_simulate": all(item["spec"] and _simulates(item["kind"]["slug"]) for item in view["items"]),
    }


def _mode_url(request: TeamRequest, *, mode: str) -> str:
    """This page on other terms."""
    query = request.GET.copy()
    query["mode"] = mode
    return f"?{query.urlencode()}"


def _simulates(kind: str) -> bool:
    return kinds.get(kind).simulator is not None


def _column(item: Mapping[str, Any], *, marks: Sequence[str], mode: str) -> dict[str, Any]:
    """An item with the addresses that make it the baseline or leave it out."""
    order = item["order"]
    own = marks[order] if order < len(marks) else ""
    rest = [one for one in marks if one and one != own]
    return {
        **item,
        "first_url": address([own, *rest], mode=mode) if own and order > 0 else "",
        "without_url": address(rest, mode=mode) if own and len(rest) >= 2 else "",
    }

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
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.models import Comparison, Design
from planner.designs.sharing import MOST_COMPARED, checked_items
from planner.designs.texts import InvalidField
from planner.jobs import services as jobs
from planner.jobs.compared import simulated_view, simulations_start
from planner.jobs.drilled import found_of
from planner.jobs.models import State
from planner.web import share_links
from planner.web.security import TeamRequest, editor_required, member_required


@require_safe
@member_required
def compare(request: TeamRequest) -> HttpResponse:
    """Designs named in the address (``d``), or the page to choose them on."""
    chosen = _chosen(request)
    if len(chosen) < 2:
        return _chooser(request, chosen=chosen)
    try:
        view = inline_view(checked_items(chosen, team=request.team), team=request.team)
    except InvalidField as invalid:
        return _chooser(request, chosen=chosen, problem=invalid.message, status=422)
    except CANNOT_ANSWER as problem:
        return _chooser(request, chosen=chosen, problem=_no_answer(problem), status=409)
    return render(request, "compare/compare.html", _context(request, view=view, saved=None))


@require_POST
@editor_required
def compare_save(request: TeamRequest) -> HttpResponse:
    """Keep the comparison under a name; from then on it can be shared and printed."""
    chosen = [{"design": value} for value in request.POST.getlist("d")]
    try:
        saved = services.comparison_create(
            team=request.team, user=request.user, items=chosen, name=request.POST.get("name", "")
        )
    except InvalidField as invalid:
        return _chooser(request, chosen=chosen, problem=invalid.message, status=422)
    return redirect("web:comparison", saved.id)


@require_safe
@member_required
def comparison(request: TeamRequest, comparison_id: UUID) -> HttpResponse:
    """A saved comparison, computed with today's catalog and the designs as they are now."""
    saved = _comparison(request, comparison_id)
    try:
        view = comparison_view(saved)
    except InvalidField as invalid:
        return _chooser(request, chosen=[], problem=invalid.message, status=409)
    except CANNOT_ANSWER as problem:
        return _chooser(request, chosen=[], problem=_no_answer(problem), status=409)
    context = _context(request, view=view, saved=saved) | {"simulated": simulated_view(view, team=request.team)}
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
    """Designs of the address, each once, in order; the first is the baseline."""
    return [{"design": value} for value in dict.fromkeys(request.GET.getlist("d")) if value]


def _no_answer(problem: Exception) -> str:
    reason = _("its inputs are no longer valid") if isinstance(problem, ValidationError) else str(problem)
    return _("One of the designs has no answer, so they cannot be compared: %(reason)s.") % {
        "reason": reason.rstrip(".")
    }


def _chooser(
    request: TeamRequest, *, chosen: Sequence[Mapping[str, str]], problem: str = "", status: int = 200
) -> HttpResponse:
    ids = {item["design"] for item in chosen}
    context = {
        "designs": [(design, str(design.id) in ids) for design in selectors.designs(request.team)[:100]],
        "saved": list(selectors.comparisons(request.team)[:20]),
        "kinds": {kind.slug: kind.label for kind in kinds.all_kinds().values()},
        "problem": problem,
        "most": MOST_COMPARED,
    }
    return render(request, "compare/choose.html", context, status=status)


def _context(request: TeamRequest, *, view: dict[str, Any], saved: Comparison | None) -> dict[str, Any]:
    ids = [item["design"]["id"] for item in view["items"] if item["design"]]
    return {
        "view": view,
        "saved": saved,
        "editable": allows(request.role, "editor"),
        "columns": [_column(item, ids=ids) for item in view["items"]],
        "others": _others(request, ids=ids),
        "ids": ids,
        "shares": share_links.share_rows(request, comparison=saved) if saved else [],
        "share_days": share_links.SHARE_DAYS,
        "can_keep": len(ids) == len(view["items"]),
        "can_simulate": all(_simulates(item["kind"]["slug"]) for item in view["items"]),
    }


def _simulates(kind: str) -> bool:
    return kinds.get(kind).simulator is not None


def _column(item: Mapping[str, Any], *, ids: Sequence[str]) -> dict[str, Any]:
    """An item with the addresses that make it the baseline or leave it out."""
    own = item["design"]["id"] if item["design"] else None
    rest = [one for one in ids if one != own]
    return {
        **item,
        "first_url": _address([own, *rest]) if own and item["order"] > 0 else "",
        "without_url": _address(rest) if own and len(rest) >= 2 else "",
    }


def _address(ids: Sequence[str]) -> str:
    return reverse("web:compare") + "?" + "&".join(f"d={one}" for one in ids)


def _others(request: TeamRequest, *, ids: Sequence[str]) -> list[Design]:
    """Designs that could be added."""
    if len(ids) >= MOST_COMPARED:
        return []
    return list(selectors.designs(request.team).exclude(id__in=ids)[:50])

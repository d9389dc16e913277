"""Workloads: what ships and what the team brought; traces from a file, profiles from a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from planner import kinds
from planner.catalog import selectors, services
from planner.catalog.importers import ImportProblem
from planner.catalog.importers.trace_columns import NAMES
from planner.catalog.models import Workload
from planner.core import quantities
from planner.core.catalog import UnknownEntry
from planner.web import catalog_forms as forms
from planner.web import workload_source
from planner.web.catalog_pictures import arrivals_chart
from planner.web.catalog_sheet import new_design
from planner.web.security import TeamRequest, editor_required, member_required

FORM = ["GET", "HEAD", "POST"]
PERCENTILES = ("mean", "p50", "p90", "p99", "max")
FACTS = (
    ("requests", "requests"),
    ("duration_s", "s"),
    ("rate_rps", "req/s"),
    ("peak_rps", "req/s"),
    ("input_tokens", "tokens"),
    ("output_tokens", "tokens"),
    ("prefix_hit_rate", "ratio"),
    ("input_sigma", ""),
    ("output_sigma", ""),
    ("adapters", "adapters"),
)


@require_safe
@member_required
def workloads(request: TeamRequest) -> HttpResponse:
    """The list, the team's own first."""
    words = request.GET.get("q", "")[:200].strip()
    found = sorted(selectors.workloads(request.team), key=lambda row: (row.team_id is None, row.name.lower()))
    shown = [row for row in found if all(word in f"{row.name} {row.slug}".lower() for word in words.lower().split())]
    context = {"rows": [(row, _line(row)) for row in shown], "words": words, "total": len(shown)}
    return render(request, "workloads/workloads.html", context)


@require_safe
@member_required
def workload(request: TeamRequest, slug: str) -> HttpResponse:
    """One workload by slug or id; an alias leads to it."""
    row = _workload(request, slug)
    facts = row.facts
    context = {
        "row": row,
        "own": row.team_id is not None,
        "facts": _facts(facts),
        "chart": arrivals_chart(facts["arrivals"]) if "arrivals" in facts else None,
        "lengths": _lengths(facts.get("lengths", {})),
        "notices": _notices(facts),
        "uses": _uses(request, row),
        "attribution": facts.get("attribution", ""),
        "made": facts.get("made", ""),
        "as_of": facts.get("as_of", ""),
    }
    return render(request, "workloads/workload.html", context)


@require_http_methods(FORM)
@editor_required
def trace_add(request: TeamRequest) -> HttpResponse:
    """Import a trace from a file; a bad one is refused whole, with its line and column."""
    if request.method != "POST":
        return _trace_page(request)
    file = request.FILES.get("file")
    if file is None:
        return _trace_page(request, problem=ImportProblem(None, "file", _("Choose a file.")))
    if (file.size or 0) > settings.UPLOAD_MAX_BYTES:
        most = settings.UPLOAD_MAX_BYTES // 2**20
        return _trace_page(
            request, problem=ImportProblem(None, "file", _("is larger than %(most)d MiB") % {"most": most})
        )
    name = request.POST.get("name", "").strip() or (file.name or "").split(".")[0]
    try:
        row = services.workload_import(
            team=request.team,
            user_id=request.user.pk,
            name=name,
            data=file.read(),
            filename=file.name or "",
            skip_bad_rows="skip_bad_rows" in request.POST,
        )
    except ImportProblem as problem:
        return _trace_page(request, problem=problem)
    messages.success(request, _("“%(name)s” is imported.") % {"name": row.name})
    return redirect("web:workload", row.slug)


@require_http_methods(FORM)
@editor_required
def profile_add(request: TeamRequest) -> HttpResponse:
    """Keep rates and lengths under a name."""
    form = forms.profile_read(request.POST) if request.method == "POST" else forms.profile_empty()
    if request.method != "POST" or not form.ok:
        return _profile_page(request, form=form)
    try:
        row = services.workload_save_profile(
            team=request.team, facts=form.values, user_id=request.user.pk, **form.texts
        )
    except ImportProblem as problem:
        return _profile_page(request, form=form.failing(problem))
    messages.success(request, _("“%(name)s” is kept.") % {"name": row.name})
    return redirect("web:workload", row.slug)


@require_http_methods(FORM)
@editor_required
def workload_delete(request: TeamRequest, slug: str) -> HttpResponse:
    """Ask, then delete a workload of the team; those that ship stay."""
    row = _workload(request, slug)
    if row.team_id is None:
        raise Http404
    if request.method != "POST":
        return render(request, "workloads/delete.html", {"row": row})
    try:
        services.workload_delete(workload=row, team=request.team, user_id=request.user.pk)
    except UnknownEntry:
        raise Http404 from None
    messages.success(request, _("“%(name)s” is deleted.") % {"name": row.name})
    return redirect("web:workloads")


def _workload(request: TeamRequest, slug: str) -> Workload:
    """Without its columns, which may be many megabytes."""
    if not slug.isprintable():
        raise Http404
    rows = selectors.workloads(request.team)
    try:
        found = rows.filter(pk=UUID(slug)).first()
    except ValueError:
        found = rows.filter(slug=slug).order_by("team").first()
    if found is not None:
        return found
    try:
        return selectors.workload(slug, team=request.team)
    except UnknownEntry:
        raise Http404 from None


def _line(row: Workload) -> list[str]:
    """Rate, lengths and hit rate, for the list."""
    known = selectors.workload_profile(row)
    units = (
        ("rate_rps", "req/s"),
        ("input_tokens", "tokens"),
        ("output_tokens", "tokens"),
        ("prefix_hit_rate", "ratio"),
    )
    return [quantities.show(known.get(name), unit) for name, unit in units]


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Label, figure and figure in full of what is known."""
    labels = {number.name: number.label for number in forms.profile_numbers({})}
    labels |= {"requests": _("Requests"), "duration_s": _("Length"), "adapters": _("Adapters")}
    labels["peak_rps"] = _("Busiest minute") if "arrivals" in facts else labels["peak_rps"]
    return [
        (labels[name], quantities.show(facts[name], unit), quantities.full(facts[name]))
        for name, unit in FACTS
        if isinstance(facts.get(name), int | float)
    ]


def _lengths(lengths: Mapping[str, Mapping[str, float]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Percentiles of input and output: shown, and in full."""
    labels = {"input_tokens": _("Input"), "output_tokens": _("Output")}
    return [
        (
            label,
            [(f"{found[each]:,.0f}", quantities.full(found[each])) for each in PERCENTILES],
        )
        for name, label in labels.items()
        if (found := lengths.get(name))
    ]


def _notices(facts: Mapping[str, Any]) -> list[str]:
    """What was noticed while the file was read, in sentences."""
    if "rows" not in facts:
        return []
    counted = (
        ("zero_input_rows", _("%(n)s rows without input tokens were left out.")),
        ("zero_output_rows", _("%(n)s rows without output tokens were left out.")),
        ("skipped_rows", _("%(n)s rows could not be read and were left out.")),
        ("out_of_order_rows", _("%(n)s rows were out of order and have been sorted.")),
        ("block_tokens", _("Blocks of %(n)s tokens say what a cache would have found.")),
    )
    said = [_("%(n)s rows were read.") % {"n": f"{facts['rows']:,}"}]
    said += [words % {"n": f"{facts[name]:,}"} for name, words in counted if facts.get(name)]
    if ignored := facts.get("ignored_columns"):
        said.append(_("Columns not read: %(names)s.") % {"names": ", ".join(ignored)})
    words = _("Left out: line %(line)s, %(field)s: %(message)s.")
    said += [words % bad for bad in facts.get("skipped", [])]
    return said


def _uses(request: TeamRequest, row: Workload) -> list[tuple[str, str]]:
    """Kinds that plan for arrivals: label, and the address of a new design with this workload filled in."""
    found = []
    for kind in kinds.all_kinds().values():
        changes = {source.pk: change for source, change in workload_source.sources(kind, team=request.team)}
        if change := changes.get(row.pk):
            found.append((kind.label, new_design(kind.slug, change=change)))
    return found


def _trace_page(request: TeamRequest, *, problem: ImportProblem | None = None) -> HttpResponse:
    context = {
        "problem": problem,
        "more_bad": problem.bad_rows - len(problem.rows) if problem else 0,
        "skips": "skip_bad_rows" in request.POST,
        "name": request.POST.get("name", ""),
        "columns": [
            (_("arrival"), NAMES["arrival"], _("seconds, or a date and time; …_ms and …_ns are understood")),
            (_("input tokens"), NAMES["input_tokens"], ""),
            (_("output tokens"), NAMES["output_tokens"], ""),
            (
                _("block hashes, optional"),
                NAMES["hash_ids"],
                _("what a prefix cache would have found is counted; which are equal is kept, the hashes are not"),
            ),
            (_("cached tokens, optional"), NAMES["cached_tokens"], _("in place of hashes")),
            (
                _("adapter, optional"),
                NAMES["adapter"],
                _("empty asks the base LLM; which are equal is kept, the names are not"),
            ),
        ],
        "most_mib": settings.UPLOAD_MAX_BYTES // 2**20,
        "most_rows": f"{settings.UPLOAD_MAX_ROWS:,}",
    }
    return render(request, "workloads/trace_form.html", context, status=422 if problem else 200)


def _profile_page(request: TeamRequest, *, form: forms.Form) -> HttpResponse:
    return render(request, "workloads/profile_form.html", {"form": form}, status=200 if form.ok else 422)

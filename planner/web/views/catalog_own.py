"""A team's own catalog entries: GPUs from a form, LLMs from a config.json, and their deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from planner.catalog import selectors, services
from planner.catalog.importers import ImportProblem
from planner.catalog.models import Entry
from planner.core.catalog import UnknownEntry
from planner.web import catalog_forms as forms
from planner.web import catalog_sheet as sheet
from planner.web.security import TeamRequest, editor_required
from planner.web.views.catalog import entry_of

FORM = ["GET", "HEAD", "POST"]


@require_http_methods(FORM)
@editor_required
def gpu_add(request: TeamRequest) -> HttpResponse:
    """Add a GPU; ``from`` starts from another one's figures."""
    if request.method == "POST":
        return _gpu_saved(request, form=forms.gpu_read(request.POST))
    source = request.GET.get("from", "")
    gpu = entry_of(request, "gpus", source) if source else None
    form = forms.gpu_form(gpu=gpu, catalog=selectors.catalog(request.team), copied=True)
    return _gpu_page(request, form=form)


@require_http_methods(FORM)
@editor_required
def gpu_edit(request: TeamRequest, slug: str) -> HttpResponse:
    """Change a GPU of the team; its name stays, because it is what designs refer to."""
    gpu = _own(request, "gpus", slug)
    if request.method == "POST":
        data = {**request.POST.dict(), "name": gpu.name}
        return _gpu_saved(request, form=forms.gpu_read(data), editing=gpu)
    return _gpu_page(request, form=forms.gpu_form(gpu=gpu, catalog=selectors.catalog(request.team)), editing=gpu)


@require_http_methods(FORM)
@editor_required
def llm_add(request: TeamRequest) -> HttpResponse:
    """Import an LLM from its config.json."""
    typed = {name: request.POST.get(name, "") for name in ("name", "config")}
    if request.method != "POST":
        return _llm_page(request, typed=typed)
    if not typed["name"].strip():
        return _llm_page(request, typed=typed, problem=ImportProblem(None, "name", _("Give it a name.")))
    try:
        config = forms.config_read(request.POST, file=request.FILES.get("file"))
        entry = services.llm_import(
            team=request.team,
            name=typed["name"],
            config=config,
            quantised=forms.quantised_read(request.FILES.get("hf_quant_config")),
            user_id=request.user.pk,
        )
    except ImportProblem as problem:
        return _llm_page(request, typed=typed, problem=problem)
    messages.success(request, _("“%(name)s” is in your team’s catalog.") % {"name": entry.name})
    return redirect("web:catalog-entry", "llms", entry.slug)


@require_http_methods(FORM)
@editor_required
def entry_delete(request: TeamRequest, table: str, slug: str) -> HttpResponse:
    """Ask, then delete an entry of the team."""
    found = _own(request, table, slug)
    if request.method != "POST":
        context = {"entry": found, "table": table, "title": sheet.TABLES[table][0]}
        return render(request, "catalog/delete.html", context)
    try:
        services.entry_delete(entry=found, team=request.team, user_id=request.user.pk)
    except UnknownEntry:
        raise Http404 from None
    messages.success(request, _("“%(name)s” is deleted.") % {"name": found.name})
    return redirect("web:catalog-table", table)


def _own(request: TeamRequest, table: str, slug: str) -> Entry:
    """An entry of the team; built-in ones stay as they are."""
    found = entry_of(request, table, slug)
    if found.team_id is None:
        raise Http404
    return found


def _gpu_saved(request: TeamRequest, *, form: forms.Form, editing: Entry | None = None) -> HttpResponse:
    if not form.ok:
        return _gpu_page(request, form=form, editing=editing)
    figures = {name: form.values.get(name) for name in services.FIGURE_UNITS}
    aliases = editing.payload.get("aliases", ()) if editing else ()
    try:
        entry = services.gpu_save(
            team=request.team,
            figures=figures,
            price_usd_per_h=form.values.get(forms.PRICE),
            aliases=aliases,
            user_id=request.user.pk,
            **_words(form.texts),
        )
    except ImportProblem as problem:
        return _gpu_page(request, form=form.failing(problem), editing=editing)
    messages.success(request, _("“%(name)s” is in your team’s catalog.") % {"name": entry.name})
    return redirect("web:catalog-entry", "gpus", entry.slug)


def _words(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: texts[name] for name in forms.TEXTS}


def _gpu_page(request: TeamRequest, *, form: forms.Form, editing: Entry | None = None) -> HttpResponse:
    by_name = form.by_name
    groups: list[dict[str, Any]] = [
        {"name": name, "numbers": [by_name[each] for each in members]} for name, members in sheet.GPU_FIGURES
    ]
    groups.append({"name": _("Money"), "numbers": [by_name[forms.PRICE]]})
    context = {"form": form, "groups": groups, "editing": editing}
    return render(request, "catalog/gpu_form.html", context, status=200 if form.ok else 422)


def _llm_page(request: TeamRequest, *, typed: dict[str, str], problem: ImportProblem | None = None) -> HttpResponse:
    named = problem is not None and problem.field == "name"
    context = {
        "typed": typed,
        "name_error": problem.message if problem and named else "",
        "config_error": str(problem) if problem and not named else "",
    }
    return render(request, "catalog/llm_form.html", context, status=422 if problem else 200)

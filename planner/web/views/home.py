"""The first page: questions to start from, worked examples, the team's designs and its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner import kinds
from planner.accounts.models import Team
from planner.catalog import selectors as catalogs
from planner.charts import svg
from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.designs import estimation, figures, selectors
from planner.designs.estimation import CANNOT_ANSWER
from planner.designs.inputs import inputs
from planner.designs.models import Design
from planner.jobs import selectors as jobs
from planner.kinds import Example
from planner.web.security import TeamRequest, member_required

PAGE_SIZE = 25
SORTS = {"changed": "-updated_at", "name": "name", "kind": "kind"}


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def home(request: TeamRequest) -> HttpResponse:
    asked = {name: request.GET.get(name, "")[:200].strip() for name in ("q", "kind", "tag", "sort")}
    found = selectors.designs(request.team, q=asked["q"], kind=asked["kind"], tag=asked["tag"])
    order = SORTS.get(asked["sort"], SORTS["changed"])
    page = Paginator(found.order_by(order, "id"), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "kinds": list(kinds.all_kinds().values()),
        "examples": example_cards(catalogs.catalog().digest, get_language() or ""),
        "page": page,
        "rows": [_row(design, team=request.team) for design in page],
        "asked": asked,
        "filtered": any(asked[name] for name in ("q", "kind", "tag")),
        "tags": selectors.tags(request.team),
        "sorts": SORTS,
        "jobs": list(jobs.jobs(request.team)[:5]),
        "deleted": list(selectors.designs(request.team, deleted=True).order_by("-deleted_at")[:10]),
        "gone": request.GET.get("deleted", ""),
    }
    template = "home/home.html#designs" if request.htmx.target == "designs" else "home/home.html"
    return render(request, template, context)


@lru_cache(maxsize=4)
def example_cards(_catalog_digest: str, _language: str) -> Sequence[dict[str, Any]]:
    """A card for each worked example; kept until the catalog changes."""
    catalog = catalogs.catalog()
    cards = [_card(example, catalog=catalog) for example in kinds.examples()]
    return tuple(card for card in cards if card)


def _card(example: Example, *, catalog: Catalog) -> dict[str, Any]:
    kind = kinds.get(example.kind)
    card: dict[str, Any] = {"example": example, "kind": kind}
    try:
        estimate = estimation.answer(kind, spec=estimation.parse_spec(kind, spec=example.spec), catalog=catalog)
    except CANNOT_ANSWER as problem:
        return card | {"problem": str(problem)}
    result = estimate.result
    charts = kind.charts(estimate.spec, result)
    return card | {
        "figure": figures.figure_row(result.metrics[result.answer.metric]),
        "fact": _fact(result),
        "mini": _mini(charts),
        "finding": result.findings[0] if result.findings else None,
    }


def _fact(result: Result) -> dict[str, Any] | None:
    """The first fact beside the headline that is a quantity: a yes or no says nothing without its label."""
    facts = (result.metrics[name] for name in result.answer.facts if name in result.metrics)
    found = next((metric for metric in facts if metric.definition.unit not in ("", "1")), None)
    return figures.figure_row(found) if found else None


def _mini(charts: Sequence[Any]) -> SafeString:
    """The first chart of the kind, small."""
    return mark_safe(svg.mini(charts[0])) if charts else SafeString("")  # noqa: S308 - drawn and escaped by our adapter


def _row(design: Design, *, team: Team) -> dict[str, Any]:
    """A saved design with its answer as it stands with today's catalog."""
    row: dict[str, Any] = {"design": design, "kind": kinds.all_kinds().get(design.kind)}
    try:
        estimate = estimation.estimate(kind=design.kind, spec=design.spec, team=team)
    except CANNOT_ANSWER as problem:
        return row | {"problem": str(problem)}
    result = estimate.result
    cost = result.metrics.get(result.answer.cost_metric or "")
    return row | {
        "figure": figures.figure_row(result.metrics[result.answer.metric]),
        "cost": figures.figure_row(cost) if cost else None,
        "severity": _verdict(result.severity, met=all(metric.met is not False for metric in result.metrics.values())),
        "gpu": _gpu(estimate),
    }


def _verdict(severity: str | None, *, met: bool) -> str:
    if severity == "error" or not met:
        return "error"
    return "warning" if severity == "warning" else "ok"


def _gpu(estimate: estimation.Estimate) -> str:
    """The GPU of a design that names one."""
    shown = inputs(estimate.kind, spec=estimate.spec, catalog=estimate.catalog)
    for name, field in estimate.kind.spec.model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get("catalog") == "gpus" and shown[name].value:
            return shown[name].shown
    return ""

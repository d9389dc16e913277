"""Money of a saved design: terms on the left; the bill, its parts, break-even and the plan to buy beside them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.core.catalog import MissingFigure
from planner.core.kind import Terms
from planner.core.money import COMMITMENTS, MoneyTerms
from planner.designs.estimation import Estimate
from planner.designs.money.asking import fleet_of, money_of
from planner.designs.money.charts import charts
from planner.designs.money.money import Money
from planner.designs.money.offers import providers
from planner.designs.money.rows import rows
from planner.designs.money.view import money_view
from planner.web.deciding import around, subject
from planner.web.fields import Field
from planner.web.forms import SpecForm, form_read
from planner.web.security import TeamRequest, member_required

TERMS = Terms(MoneyTerms)
START = MoneyTerms().model_dump(mode="json")


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def money(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """The answer on the terms in the address; on the usual ones where those cannot be read."""
    design, estimate = subject(request, design_id)
    form, answer = _answered(request, estimate)
    view = money_view(answer)
    context = {
        **around(request, design, page="design-money"),
        "form": form,
        "draft": None,
        "view": view,
        "drawn": charts(answer, view=view),
        "kind": estimate.kind,
        "query": request.GET.urlencode(),
        "commitments": COMMITMENTS,
    }
    live = request.htmx.target == "money"
    template = "designs/money.html#live" if live else "designs/money.html"
    response = render(request, template, context, status=200 if form.ok else 422)
    if live and not form.ok:
        # Only the messages go in; the last valid answer stays.
        response["HX-Reswap"] = "none"
    return response


@require_safe
@member_required
def money_csv(request: TeamRequest, design_id: UUID) -> HttpResponse:
    """Every figure of the answer, a line each."""
    _design, estimate = subject(request, design_id)
    form, answer = _answered(request, estimate)
    if not form.ok:
        raise Http404
    text = StringIO()
    csv.writer(text).writerows(rows(money_view(answer)))
    headers = {"Content-Disposition": 'attachment; filename="money.csv"'}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)


def _answered(request: TeamRequest, estimate: Estimate) -> tuple[SpecForm, Money]:
    form = form_read(TERMS, data=request.GET.dict(), base=START, team=request.team)
    form = _with_sellers(form, estimate=estimate)
    terms = MoneyTerms.model_validate(form.spec if form.ok else START)
    try:
        return form, money_of(estimate, terms=terms)
    except MissingFigure as missing:
        failed = replace(form, problems=(*form.problems, str(missing)))
        return failed, money_of(estimate, terms=MoneyTerms())


def _with_sellers(form: SpecForm, *, estimate: Estimate) -> SpecForm:
    """Provider and region as choices of those who sell the GPUs of the design."""
    gpus = {pool.gpu for pool in fleet_of(estimate).pools if pool.gpu}
    sellers, regions = providers(gpus, catalog=estimate.catalog)
    offered = {"provider": sellers, "region": regions}
    return replace(form, fields=tuple(_chosen(field, offered.get(field.name)) for field in form.fields))


def _chosen(field: Field, names: Sequence[str] | None) -> Field:
    """A select of the names; what was typed and is none of them stays among them."""
    if names is None:
        return field
    known = [*names, *([field.text] if field.text and field.text not in names else [])]
    return replace(field, control="choice", choices=(("", field.placeholder or _("any")), *((n, n) for n in known)))

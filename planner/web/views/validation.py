"""Validation: our figures beside those that others published or measured, and every row of it."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.catalog import validation as stored_rows
from planner.catalog import validation_query as query
from planner.kinds import all_kinds
from planner.web import validation_page as page
from planner.web.security import TeamRequest, member_required
from planner.web.validation_asked import SORT_WORDS, Asked, asked
from planner.web.validation_lines import row_line

PAGE_SIZE = 50


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@member_required
def validation(request: TeamRequest) -> HttpResponse:
    """The errors by quantity, and one quantity in detail; htmx swaps the detail, or only its rows."""
    stored = stored_rows.stored()
    question = _question(request, stored)
    detail = page.detail(stored, question=question)
    part = Paginator(detail["rows"], PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "asked": question,
        "detail": detail,
        "page": part,
        "lines": [row_line(row) for row in part],
        "sorts": {word: question.address(sort=sort) for word, sort in SORT_WORDS.items()},
        "here": question.address(),
        "everything": question.everything,
        "counted": f"{part.paginator.count:,}",
        "quantities": page.quantity_choices(stored),
        "date": stored.date,
        "kinds": list(all_kinds().values()),
    }
    if request.htmx.target == "detail":
        return render(request, "validation/validation.html#detail", context)
    return render(
        request, "validation/validation.html", {**context, "overview": page.overview(stored, current=question)}
    )


@require_safe
@member_required
def validation_csv(request: TeamRequest) -> HttpResponse:
    """The rows that the page lists, as a file."""
    stored = stored_rows.stored()
    question = _question(request, stored)
    rows = query.select(stored.rows.get(question.quantity, ()), question.chosen)
    response = HttpResponse(query.as_csv(query.ordered(rows, question.sort)), content_type="text/csv; charset=utf-8")
    name = f"validation-{question.quantity or 'rows'}.csv"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or ""
    return response


def _question(request: TeamRequest, stored: stored_rows.Stored) -> Asked:
    question = asked(request.GET, stored=stored)
    if question is None:
        raise Http404(_("There is no such quantity."))
    return question

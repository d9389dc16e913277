"""Reports made while the caller waits: PDF and CSV of a design or a comparison."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.http import HttpResponse
from django.utils.text import slugify
from django.utils.translation import get_language
from rest_framework.request import Request

from planner.api import schema, tables
from planner.api.inputs import Body, query
from planner.api.rendering import CsvRenderer, PdfRenderer, ProblemRenderer, StrictJsonRenderer
from planner.api.views.comparisons import comparison_of
from planner.api.views.designs import design_of
from planner.api.views.resource import ApiView, reply
from planner.designs import compare, estimation, sensitivity_charts, snapshot
from planner.jobs.drilled import found_of
from planner.reports import build

PDF = (PdfRenderer, StrictJsonRenderer, ProblemRenderer)
CSV = (CsvRenderer, StrictJsonRenderer, ProblemRenderer)
A_PDF: dict[Any, Any] = {(200, "application/pdf"): bytes}
A_CSV: dict[Any, Any] = {(200, "text/csv"): str}


class PaperQuery(Body):
    paper: Literal["a4", "letter"] = "a4"


def _how(request: Request) -> dict[str, str]:
    return {"paper": query(request, PaperQuery).paper, "language": get_language() or "en"}


def _pdf(content: bytes, *, name: str) -> HttpResponse:
    return tables.attachment(content, name=f"{slugify(name) or 'report'}.pdf", media_type=PdfRenderer.media_type)


def _csv(view: dict[str, Any], *, name: str) -> HttpResponse:
    return tables.attachment(build.csv_of(view), name=f"{slugify(name) or 'report'}.csv")


class DesignPdf(ApiView):
    renderer_classes = PDF

    @reply(None, summary="The report of a design as PDF", responses=A_PDF, parameters=schema.query(PaperQuery))
    def get(self, request: Request, id: UUID) -> HttpResponse:
        how = _how(request)
        design = design_of(self, id)
        estimate = estimation.estimate(kind=design.kind, spec=design.spec, team=self.team)
        view = {**snapshot.design_view(design), "sensitivity": sensitivity_charts.brief(estimate)}
        return _pdf(build.document(view, **how), name=view["design"]["name"])


class DesignCsv(ApiView):
    renderer_classes = CSV

    @reply(None, summary="Inputs and metrics of a design as CSV", responses=A_CSV)
    def get(self, _request: Request, id: UUID) -> HttpResponse:
        view = snapshot.design_view(design_of(self, id), effects=False)
        return _csv(view, name=view["design"]["name"])


class ComparisonPdf(ApiView):
    renderer_classes = PDF

    @reply(None, summary="The report of a comparison as PDF", responses=A_PDF, parameters=schema.query(PaperQuery))
    def get(self, request: Request, id: UUID) -> HttpResponse:
        how = _how(request)
        comparison = comparison_of(self, id)
        view = {**compare.comparison_view(comparison), **found_of(comparison)}
        return _pdf(build.comparison_document(view, **how), name=view["name"])


class ComparisonCsv(ApiView):
    renderer_classes = CSV

    @reply(None, summary="Inputs and metrics of a comparison as CSV", responses=A_CSV)
    def get(self, _request: Request, id: UUID) -> HttpResponse:
        view = compare.comparison_view(comparison_of(self, id))
        return _csv(view, name=view["name"])

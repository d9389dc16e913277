"""Reports made while the caller waits: the PDF and the CSV of a design, the PDF of a comparison."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from django.http import HttpResponse
from django.utils.text import slugify
from rest_framework.request import Request

from planner.api import schema, tables
from planner.api.inputs import Body, query
from planner.api.rendering import CsvRenderer, PdfRenderer, ProblemRenderer, StrictJsonRenderer
from planner.api.views.comparisons import comparison_of
from planner.api.views.designs import design_of
from planner.api.views.resource import ApiView, reply
from planner.designs import compare, snapshot

PDF = (PdfRenderer, StrictJsonRenderer, ProblemRenderer)


class PaperQuery(Body):
    paper: Literal["a4", "letter"] = "a4"


def _file_name(name: str, ending: str) -> str:
    return f"{slugify(name) or 'report'}.{ending}"


class DesignPdf(ApiView):
    renderer_classes = PDF

    @reply(
        None,
        summary="The report of a design as PDF",
        responses={(200, "application/pdf"): bytes},
        parameters=schema.query(PaperQuery),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        paper = query(request, PaperQuery).paper
        view = snapshot.design_view(design_of(self, id))
        from planner.reports import build

        name = _file_name(view["design"]["name"], "pdf")
        return tables.attachment(build.document(view, paper=paper), name=name, media_type=PdfRenderer.media_type)


class ComparisonPdf(ApiView):
    renderer_classes = PDF

    @reply(
        None,
        summary="The report of a comparison as PDF",
        responses={(200, "application/pdf"): bytes},
        parameters=schema.query(PaperQuery),
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        paper = query(request, PaperQuery).paper
        view = compare.comparison_view(comparison_of(self, id))
        from planner.reports import build

        document = build.comparison_document(view, paper=paper)
        return tables.attachment(document, name=_file_name(view["name"], "pdf"), media_type=PdfRenderer.media_type)


class DesignCsv(ApiView):
    renderer_classes = (CsvRenderer, StrictJsonRenderer, ProblemRenderer)

    @reply(None, summary="Inputs and metrics of a design as CSV", responses={(200, "text/csv"): str})
    def get(self, _request: Request, id: UUID) -> HttpResponse:
        view = snapshot.design_view(design_of(self, id), effects=False)
        from planner.reports import build

        return tables.attachment(build.csv_of(view), name=_file_name(view["design"]["name"], "csv"))

"""Reports of designs and comparisons: PDF by typst, tables as CSV, from the pictures `planner.designs` makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import override

from planner.reports import pdf
from planner.reports.compared import comparison_content
from planner.reports.content import design_content
from planner.reports.sheets import comparison_csv, design_csv, drill_csv, simulation_csv, sweep_csv

__all__ = ["comparison_csv", "comparison_document", "csv_of", "document", "drill_csv", "simulation_csv", "sweep_csv"]


def document(view: Mapping[str, Any], *, paper: str = "a4", language: str = "en") -> bytes:
    """Return the PDF of a design; ``paper`` is a4 or letter. The same view gives the same bytes."""
    with override(language):
        return pdf.make(design_content(view), template="design", paper=paper, language=language)


def comparison_document(view: Mapping[str, Any], *, paper: str = "a4", language: str = "en") -> bytes:
    """Return the PDF of a comparison."""
    with override(language):
        return pdf.make(comparison_content(view), template="comparison", paper=paper, language=language)


def csv_of(view: Mapping[str, Any]) -> str:
    """Return the figures of a design, or of a comparison, as CSV."""
    return comparison_csv(view) if "items" in view else design_csv(view)

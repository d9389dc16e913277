"""Reports as files: real ones, of the product's kinds."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from pypdf import PdfReader

from planner import kinds
from planner.api.tables import csv_text
from tests.api.caller import Caller, strict

pytestmark = pytest.mark.usefixtures("real_kinds")
PAPERS = {"a4": (595.28, 841.89), "letter": (612, 792)}


@pytest.fixture
def designs(bob: Caller) -> list[dict[str, Any]]:
    slugs = list(kinds.all_kinds())[:2]
    return [strict(bob.post("/api/v1/designs/", {"kind": slug, "name": f"Plan {slug}"})) for slug in slugs]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_pdf_of_a_design_has_its_name_and_paper(designs: Any, bob: Caller, paper: str) -> None:
    response = bob.get(f"{designs[0]['url']}report.pdf?paper={paper}", Accept="application/pdf")
    assert (response.status_code, response["Content-Type"]) == (200, "application/pdf")
    assert "attachment" in response["Content-Disposition"]
    first = PdfReader(io.BytesIO(response.content)).pages[0]
    assert designs[0]["name"] in first.extract_text()
    assert (float(first.mediabox.width), float(first.mediabox.height)) == pytest.approx(PAPERS[paper], abs=1)


def test_another_paper_is_refused(designs: Any, bob: Caller) -> None:
    assert bob.get(f"{designs[0]['url']}report.pdf?paper=a0").status_code == 422


def test_the_csv_of_a_design_has_its_metrics(designs: Any, bob: Caller) -> None:
    response = bob.get(f"{designs[0]['url']}report.csv")
    assert response["Content-Type"].startswith("text/csv")
    cells = {cell for row in csv.reader(io.StringIO(response.content.decode())) for cell in row}
    assert {metric.name for metric in kinds.get(designs[0]["kind"]).metrics} & cells


def test_pdf_and_csv_of_a_comparison(designs: Any, bob: Caller) -> None:
    ids = [row["id"] for row in designs]
    saved = strict(bob.post("/api/v1/comparisons/", {"designs": ids, "save": True}))
    pdf = bob.get(f"{saved['url']}report.pdf")
    assert pdf.status_code == 200
    assert PdfReader(io.BytesIO(pdf.content)).pages
    text = bob.get(f"{saved['url']}report.csv").content.decode()
    assert all(row["name"] in text for row in designs)


def test_no_text_of_a_table_is_a_formula_to_a_spreadsheet() -> None:
    assert csv_text([("name", "x"), ("=1+1", -2.5), ("@sum", None)]) == "name,x\r\n'=1+1,-2.5\r\n'@sum,\r\n"

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pypdf
import pytest

from planner import kinds
from planner.designs import sensitivity_charts
from planner.reports import build, pdf
from planner.reports.content import words
from tests.reports import views

A4_MM = (210, 297)
LETTER_MM = (215.9, 279.4)
MARKUP = 'Fleet #panic("no") *bold* _it_ $x^2$ [a] <label> @ref \\ `code` // gone "q" #sys.inputs'


def read(document: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(document))


def text_of(document: bytes) -> str:
    """The words of a PDF, each run of white space as one blank."""
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in read(document).pages))


def squeezed(text: str) -> str:
    """Without blanks and the hyphens of broken lines, to find a sentence wherever its lines broke."""
    return re.sub(r"[\s\u00a0\u2011\u2010-]+", "", text)


def claim_of(view: dict[str, Any]) -> str:
    return str(view["answer"]["sentence"]).replace("**", "")


@pytest.mark.parametrize("slug", kinds.all_kinds())
def test_the_report_of_every_kind_says_its_claim_its_figure_and_its_findings(slug: str) -> None:
    view = views.design_view(slug)
    said = squeezed(text_of(build.document(view)))
    assert squeezed(claim_of(view)) in said
    assert squeezed(view["answer"]["figure"]["text"]) in said
    for finding in view["findings"]:
        assert squeezed(finding["message"]) in said
    for group in view["metrics"]:
        for row in group["rows"]:
            assert squeezed(row["label"]) in said
            assert squeezed(row["text"]) in said


@pytest.mark.parametrize("slug", kinds.all_kinds())
def test_sections_follow_the_frame_with_the_claim_first(slug: str) -> None:
    view = views.design_view(slug)
    said = squeezed(text_of(build.document(view)))
    heads = words()
    order = (
        "decide",
        "charts",
        "assumptions",
        "metrics",
        "architecture",
        "tradeoffs",
        "followups",
        "method",
        "sources",
    )
    places = [said.find(squeezed(claim_of(view))), *(said.find(squeezed(heads[name])) for name in order)]
    assert -1 not in places
    assert places == sorted(places)


def test_inputs_are_told_with_their_sources() -> None:
    view = views.design_view("llm_serving")
    said = squeezed(text_of(build.document(view)))
    for group in view["inputs"]["groups"]:
        for field in group["fields"]:
            assert squeezed(field["label"]) in said
            assert squeezed(field["source"]) in said


def test_texts_of_charts_and_diagram_are_text_in_the_pdf() -> None:
    view = views.design_view("llm_serving")
    said = squeezed(text_of(build.document(view)))
    for chart in view["charts"]:
        assert squeezed(chart["title"]) in said
    assert squeezed(view["diagram"]["boxes"][0]["title"]) in said


@pytest.mark.parametrize(("paper", "size_mm"), [("a4", A4_MM), ("letter", LETTER_MM)])
def test_pages_have_the_size_of_the_paper(paper: str, size_mm: tuple[float, float]) -> None:
    for document in (
        build.document(views.design_view("llm_serving"), paper=paper),
        build.comparison_document(views.comparison_view(), paper=paper),
    ):
        for page in read(document).pages:
            size = (float(page.mediabox.width) * 25.4 / 72, float(page.mediabox.height) * 25.4 / 72)
            assert size == pytest.approx(size_mm, abs=0.1)


def test_another_paper_is_refused() -> None:
    with pytest.raises(pdf.PaperError, match="a3"):
        build.document(views.design_view("llm_serving"), paper="a3")


def test_the_same_picture_gives_the_same_bytes() -> None:
    view = views.design_view("engine_instance")
    assert build.document(view) == build.document(view)


def test_what_a_user_typed_is_printed_and_never_run() -> None:
    view = views.design_view("engine_instance")
    view["design"] |= {"name": MARKUP, "description": MARKUP, "tags": [MARKUP]}
    view["answer"]["sentence"] = MARKUP
    view["findings"] = [{"code": "x", "severity": "error", "message": MARKUP, "suggestion": MARKUP}]
    view["variants"][0]["label"] = MARKUP
    view["follow_ups"][0]["answer"] = MARKUP
    view["charts"][0]["title"] = MARKUP
    view["charts"][0]["traces"][0]["name"] = MARKUP
    view["diagram"]["boxes"][0]["title"] = MARKUP
    said = squeezed(text_of(build.document(view)))
    assert said.count(squeezed(MARKUP.replace("*", ""))) + said.count(squeezed(MARKUP)) >= 8


def test_a_hostile_name_in_a_picture_cannot_leave_its_text() -> None:
    view = views.design_view("engine_instance")
    view["charts"][0]["title"] = view["charts"][0]["summary"] = "</svg><script>alert(1)</script>"
    view["charts"][0]["traces"][0]["name"] = "</text></svg><image href='file:///etc/passwd'/>"
    assert "passwd" in squeezed(text_of(build.document(view)))


def test_chinese_is_set_in_a_font_that_has_it() -> None:
    view = views.design_view("engine_instance")
    view["design"]["name"] = "每秒五百个请求的推理集群"
    view["charts"][0]["traces"][0]["name"] = "权重"
    document = build.document(view, language="zh-hans")
    said = squeezed(text_of(document))
    assert "每秒五百个请求的推理集群" in said
    assert "权重" in said
    fonts = {
        str(font.get_object()["/BaseFont"])
        for page in read(document).pages
        for font in page["/Resources"].get("/Font", {}).values()
    }
    assert any("NotoSansSC" in font for font in fonts)


def test_only_our_own_fonts_are_needed() -> None:
    fonts = {
        str(font.get_object()["/BaseFont"]).split("+")[-1]
        for page in read(build.document(views.design_view("llm_serving"))).pages
        for font in page["/Resources"].get("/Font", {}).values()
    }
    assert {font for font in fonts if font.startswith("SourceSans3")}
    ours = ("SourceSans3", "NotoSansSC", "Libertinus", "NewCM", "NewComputerModern", "DejaVu")
    assert all(font.startswith(ours) for font in fonts), fonts


def test_a_design_without_extras_still_reports() -> None:
    view = views.design_view("engine_instance")
    view |= {
        "charts": [],
        "diagram": None,
        "questions": [],
        "variants": [],
        "follow_ups": [],
        "findings": [],
        "provenance": {},
    }
    assert squeezed(words()["nothing"]) in squeezed(text_of(build.document(view)))


def test_a_figure_that_does_not_exist_is_a_dash() -> None:
    view = views.design_view("engine_instance")
    row = view["metrics"][0]["rows"][0]
    row |= {"value": None, "text": "—", "unit_text": "", "range": ""}
    assert "nan" not in text_of(build.document(view)).lower().split()


def test_a_comparison_says_its_verdict_and_every_design() -> None:
    view = views.comparison_view()
    said = squeezed(text_of(build.comparison_document(view)))
    assert squeezed(view["verdict"]["sentence"].replace("**", "")) in said
    assert said.find(squeezed(view["verdict"]["sentence"].replace("**", ""))) < said.find(squeezed("Side by side"))
    for item in view["items"]:
        assert squeezed(f"{item['label']} {item['name']}") in said
    for row in view["inputs"]["differing"]:
        assert squeezed(row["label"]) in said
    for chart in view["charts"]:
        assert squeezed(chart["title"]) in said


def test_a_comparison_tells_deltas_as_the_page_does() -> None:
    view = views.comparison_view()
    said = squeezed(text_of(build.comparison_document(view)))
    cells = [row["cells"][1] for group in view["metrics"] for row in group["rows"] if row["cells"][1]]
    told = [cell["delta"]["text"] for cell in cells if cell["delta"] and cell["delta"]["change"] in ("better", "worse")]
    assert told
    assert all(squeezed(text) in said for text in told)


def test_the_csv_holds_every_input_and_every_figure_in_full() -> None:
    view = views.design_view("llm_serving")
    rows = list(csv.DictReader(io.StringIO(build.csv_of(view))))
    by_name = {(row["section"], row["name"]): row for row in rows}
    for group in view["metrics"]:
        for metric in group["rows"]:
            row = by_name["metric", metric["name"]]
            assert row["unit"] == metric["unit"]
            expected = metric["value"]
            assert (
                (float(row["value"]) == pytest.approx(expected, rel=1e-14))
                if expected is not None
                else row["value"] == ""
            )
    fields = [field for group in view["inputs"]["groups"] for field in group["fields"]]
    assert len([row for row in rows if row["section"] == "input"]) == len(fields)


def test_the_csv_of_a_comparison_has_a_column_for_each_design() -> None:
    view = views.comparison_view()
    rows = list(csv.DictReader(io.StringIO(build.comparison_csv(view))))
    nodes = next(row for row in rows if row["section"] == "metric" and row["name"] == "nodes")
    assert nodes["A Reference"] == "68"
    assert float(nodes["B Roomy"]) > 68
    assert next(row for row in rows if row["name"] == "headroom")["B Roomy"] == "0.5"
    assert build.csv_of(view) == build.comparison_csv(view)


def test_a_csv_cell_is_no_formula_and_a_negative_number_stays_one() -> None:
    view = views.design_view("engine_instance")
    view["inputs"]["groups"][0]["fields"][0] |= {"label": "=HYPERLINK(1)", "value": -2.5}
    row = next(csv.DictReader(io.StringIO(build.csv_of(view))))
    assert row["label"] == "'=HYPERLINK(1)"
    assert row["value"] == "-2.5"


MEASURED = ("engine_instance", "llm_serving")
"""Kinds whose figures lean on published measurements of the like."""


@pytest.mark.parametrize("slug", MEASURED)
def test_the_report_holds_badges_ranges_and_the_nearest_measurement(slug: str) -> None:
    view = views.design_view(slug)
    assert view["evidence"]
    said = squeezed(text_of(build.document(view)))
    for found in view["evidence"]:
        for text in (found["configuration"], found["said"], found["source"], found["differs_text"]):
            assert squeezed(text) in said
        for row in found["rows"]:
            assert squeezed(row["measured"]) in said
    for fact in view["answer"]["facts"]:
        assert squeezed(fact["range"]) in said
    assert squeezed("extrapolated: the same formula away from its measurements") in said


def test_a_comparison_holds_ranges_and_the_nearest_measurement_of_each_design() -> None:
    view = views.comparison_view()
    said = squeezed(text_of(build.comparison_document(view)))
    cells = [cell for group in view["metrics"] for row in group["rows"] for cell in row["cells"] if cell]
    assert all(squeezed(cell["range"]) in said for cell in cells)
    for item in view["items"]:
        assert item["evidence"]
        assert all(squeezed(found["configuration"]) in said for found in item["evidence"])


def test_a_comparison_that_was_drilled_tells_the_answer_and_the_phases() -> None:
    view = views.comparison_view()
    rows = view["metrics"][0]["rows"]
    drill = {
        "question": "A unit is lost. Who notices?",
        "answer": "With one **everybody**, with two nobody.",
        "phases": {
            "columns": ["phase", "TTFT P99"],
            "rows": [{"order": order, "cells": ["during", f"{order + 3}.25 s"]} for order in (0, 1)],
        },
        "runs": [{"label": "A", "name": "One", "order": 0}, {"label": "B", "name": "Two", "order": 1}],
        "metrics": [{"name": "Simulated figures", "rows": rows}],
    }
    said = squeezed(text_of(build.comparison_document({**view, "simulated": None, "drill": drill})))
    for told in ("A unit is lost. Who notices?", "With one everybody, with two nobody.", "A One", "4.25 s"):
        assert squeezed(told) in said
    assert squeezed("Simulated on the same requests") in said
    assert squeezed("Simulated on the same requests") not in squeezed(text_of(build.comparison_document(view)))


def test_the_report_says_what_moves_the_answer_and_what_would_change_the_decision() -> None:
    told = sensitivity_charts.brief(views.estimate_of("llm_serving"))
    said = squeezed(text_of(build.document({**views.design_view("llm_serving"), "sensitivity": told})))
    assert squeezed("What moves the answer") in said
    assert squeezed("moves it most") in said
    assert len(told["flips"]) == 3
    for sentence in told["flips"]:
        assert squeezed(sentence) in said

"""The stored rows: written and read the same, refused when they are not what they must be, asked in order."""

from __future__ import annotations

import csv
import io
import json

import pytest

from planner.catalog import validation, validation_query
from planner.core.validation import UNSEEN, Row
from tests.validation import collect, document, report, store
from tests.validation.__main__ import DOCUMENT


def row(id: str = "a", **more) -> Row:
    figures = {"predicted": 110.0, "measured": 100.0, **more}
    return Row("tpot", id, "someone", **figures)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "validation"


def write(folder, rows, *, date: str = "2026-01-01", digest: str = "d") -> None:
    store.written(folder, {"tpot": rows}, date=date, digest=digest, whole=True)


def test_rows_come_back_as_they_were_but_for_digits(folder) -> None:
    rows = [
        row("a", predicted=0.0123456789, measured=12_345_678_901.0, group=UNSEEN, low=1e-7, conditions="8, or “more”"),
        row("b", predicted=None, status="not expressible", reason="because"),
    ]
    write(folder, rows)
    back = {each.id: each for each in validation.read(folder).rows["tpot"]}
    assert back["a"].predicted == 0.012346
    assert back["a"].measured == 12_345_678_901
    assert back["a"].low == 1e-7
    assert (back["a"].group, back["a"].conditions) == (UNSEEN, "8, or “more”")
    assert back["b"] == rows[1]


def test_the_same_rows_make_the_same_bytes_and_keep_their_date(folder) -> None:
    write(folder, [row("a"), row("b")])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(folder, [row("b"), row("a")], date="2026-02-02", digest="other")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    write(folder, [row("a")], date="2026-02-02", digest="other")
    found = validation.read(folder)
    assert found.stamp["tpot"] == {"date": "2026-02-02", "catalog": "other", "rows": 1}
    assert found.date == "2026-02-02"


def test_a_whole_run_removes_what_no_source_gives(folder) -> None:
    write(folder, [row("a")])
    found = {"parameters": [Row("parameters", "x", "s", predicted=1, measured=1)]}
    store.written(folder, found, date="2026-01-01", digest="d", whole=False)
    assert list(validation.read(folder).rows) == ["parameters", "tpot"]
    store.written(folder, found, date="2026-01-01", digest="d", whole=True)
    assert list(validation.read(folder).rows) == ["parameters"]
    assert list(validation.read(folder).stamp) == ["parameters"]


def test_a_check_says_what_differs(folder) -> None:
    write(folder, [row("a"), row("b")])
    assert store.changes(folder, {"tpot": [row("a"), row("b")]}, whole=True) == []
    (line,) = store.changes(folder, {"tpot": [row("a", predicted=120.0), row("c")]}, whole=True)
    assert line.startswith("tpot: 1 new; 1 gone; 1 changed, the first a: predicted 110 → 120")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("110", "many"), "line 2: predicted, measured, low, high must be numbers"),
        (("110", "nan"), "line 2: a figure must be finite"),
        (("compared", "guessed"), "line 2: status must be one of compared"),
        (("source_url", "url"), "the columns must be"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_line(folder, change, words) -> None:
    write(folder, [row("a")])
    path = folder / "tpot.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(validation.StoredRowError, match=f"tpot.csv.*{words}"):
        validation.read(folder)


def test_a_figure_that_is_not_finite_is_not_written() -> None:
    with pytest.raises(validation.StoredRowError, match="predicted of a must be finite"):
        validation.text_of([row("a", predicted=float("inf"))])


def test_no_folder_is_no_rows(tmp_path) -> None:
    found = validation.read(tmp_path / "nowhere")
    assert (dict(found.rows), found.date) == ({}, "")


def test_what_ships_is_readable_and_says_where_it_is_from() -> None:
    found = validation.stored()
    assert {"parameters", "kv_bytes_per_token", "reference_designs"} <= set(found.rows)
    assert set(found.stamp) == set(found.rows)
    for name, rows in found.rows.items():
        assert found.stamp[name]["rows"] == len(rows)
        assert len({(each.group, each.id) for each in rows}) == len(rows)
        assert all(each.source for each in rows)
        assert all(each.reason for each in rows if each.status != "compared")
        assert all(each.error is not None for each in rows if each.status == "compared")


def test_the_document_is_that_of_the_stored_rows() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document.text_of(validation.stored()), "run make validate"


ROWS = [
    row("a", predicted=90.0, gpu="h100-sxm", group=UNSEEN),
    row("b", predicted=150.0, gpu="h200-sxm"),
    row("c", predicted=None, status="set aside", reason="x", gpu="h100-sxm"),
    row("d", predicted=100.0, gpu="h100-sxm"),
]


def test_filters_are_exact_and_combine() -> None:
    found = validation_query.select(ROWS, {"gpu": "h100-sxm", "status": "compared", "engine": ""})
    assert [each.id for each in found] == ["a", "d"]
    assert validation_query.select(ROWS, {"gpu": "h100"}) == []


@pytest.mark.parametrize(("sort", "ids"), [("-error", "badc"), ("error", "dabc"), ("id", "abcd")])
def test_rows_without_an_error_come_last(sort: str, ids: str) -> None:
    assert "".join(each.id for each in validation_query.ordered(ROWS, sort)) == ids


def test_the_file_holds_every_column_and_is_inert_in_a_spreadsheet() -> None:
    text = validation_query.as_csv([row("=1+1", conditions='a "b", c', low=99.5), ROWS[2]])
    first, second = csv.DictReader(io.StringIO(text))
    assert first["id"] == "'=1+1"
    assert first["conditions"] == 'a "b", c'
    assert (first["predicted"], first["low"], first["high"], first["error_percent"]) == ("110", "99.5", "", "10")
    assert (second["predicted"], second["error_percent"], second["reason"]) == ("", "", "x")


def test_the_report_has_the_agreed_shape_and_no_figure_that_json_lacks() -> None:
    found = report.as_json({"tpot": ROWS, "empty": [ROWS[2]]})
    assert set(found["tpot"]) == {"all", "group:unseen", "gpu:h100-sxm", "gpu:h200-sxm"}
    assert found["tpot"]["gpu:h100-sxm"] == {"n": 2, "median": 5.0, "p90": 9.0, "coverage": None}
    assert found["empty"]["all"] == {"n": 0, "median": None, "p90": None, "coverage": None}
    json.dumps(found, allow_nan=False)


def test_the_printed_table_says_what_was_missed() -> None:
    lines = list(report.lines({"parameters": [Row("parameters", "x", "s", predicted=2, measured=1)]}))
    assert lines[0].split()[:3] == ["quantity", "slice", "n"]
    assert lines[1].split() == [
        "parameters",
        "all",
        "1",
        "100.00",
        "100.00",
        "—",
        "100.00",
        "0",
        "0",
        "missed:",
        "within",
    ]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([row("a"), row("a")], "two rows of this name"),
        ([row("a", predicted=None)], "both figures"),
        ([row("a", status="set aside")], "says why"),
        ([Row("tpot", "a", "", predicted=1, measured=1)], "names its source"),
    ],
)
def test_rows_that_say_too_little_stop_the_run(bad, words) -> None:
    with pytest.raises(collect.BadRowsError, match=words):
        collect.collected([lambda: bad])


def test_only_the_sources_asked_for_are_run() -> None:
    def mine():
        return [row("a")]

    def other():
        raise AssertionError("not asked for")

    mine.quantities, other.quantities = ("tpot",), ("ttft",)
    assert list(collect.collected([mine, other], only=["tpot"])) == ["tpot"]

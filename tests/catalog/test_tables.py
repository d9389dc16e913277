"""Measured rows beside a calibration: read whole or refused by file and line, and part of the digest."""

from __future__ import annotations

import hashlib

import pytest

from planner.catalog import files, tables
from planner.catalog.files import CatalogFileError
from planner.core.catalog import UnknownEntry
from tests.catalog.conftest import write

ROWS = "llm,tpot_s\ntoy,0.01\nother,0.02\n"


@pytest.fixture
def with_rows(folder):
    write(folder, "calibrations/anything.csv", ROWS)
    return folder


def test_columns_come_back_in_the_order_of_their_lines(with_rows):
    table = files.load(with_rows).table("anything")
    assert dict(table.columns) == {"llm": ("toy", "other"), "tpot_s": ("0.01", "0.02")}
    assert table.meta["group"]["mfu"] == 0.5
    with pytest.raises(TypeError):
        table.columns["llm"] = ()


def test_one_catalog_reads_them_once(with_rows):
    catalog = files.load(with_rows)
    assert catalog.table("anything") is catalog.table("anything")
    assert catalog.with_records([]).table("anything") is catalog.table("anything")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("llm,tpot_s\ntoy,0.01\nother\n", "line 3 has 1 values, not 2"),
        ("llm,tpot_s\ntoy,0.01,7\n", "line 2 has 3 values, not 2"),
        ("llm,tpot_s\ntoy,0.01\n\n", "line 3 has 0 values, not 2"),
        ("", "the file is empty: its first line names the columns"),
        ("\n", "the file is empty: its first line names the columns"),
        ("llm,tpot_s\n\xff,0.01\n", "utf-8"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_line(folder, text, words):
    (folder / "calibrations" / "anything.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(CatalogFileError, match=words) as caught:
        files.load(folder)
    assert caught.value.file == "calibrations/anything.csv"
    assert "calibrations/anything.csv" in str(caught.value)


def test_rows_nobody_says_how_to_use_are_refused(folder):
    write(folder, "calibrations/orphan.csv", ROWS)
    with pytest.raises(
        CatalogFileError, match=r"orphan\.csv: there is no orphan\.toml that says how the rows are used"
    ):
        files.load(folder)


def test_rows_are_part_of_the_digest_of_the_catalog(with_rows):
    before = files.load(with_rows)
    assert before.calibration("anything")[tables.DIGEST] == hashlib.sha256(ROWS.encode()).hexdigest()
    write(with_rows, "calibrations/anything.csv", ROWS.replace("0.02", "0.03"))
    after = files.load(with_rows)
    assert after.digest != before.digest
    write(with_rows, "calibrations/anything.csv", ROWS)
    assert files.load(with_rows).digest == before.digest


def test_a_calibration_without_rows_has_no_table(folder):
    with pytest.raises(UnknownEntry, match="anything"):
        files.load(folder).table("anything")


def test_the_shipped_measurements_are_covered(shipped):
    path = files.DATA / files.CALIBRATIONS / "step_time.csv"
    assert shipped.calibration("step_time")[tables.DIGEST] == tables.digest(path)
    assert shipped.table("step_time").meta["rows"] == len(path.read_text(encoding="utf-8").splitlines()) - 1

"""Rows that cannot be read: told together by line and column, left out only when that is asked for."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.importers import ImportProblem, bad_rows, trace_file
from planner.catalog.importers.traces import Trace, read_trace

HEADER = "arrival_s,input_tokens,output_tokens\n"
BAD = {
    "soon,1,1": ("arrival_s", "neither a number nor a date"),
    "1,many,1": ("input_tokens", "not a number of tokens"),
    "1,1,1.5": ("output_tokens", "not a whole number"),
    "1,-3,1": ("input_tokens", "not between 0"),
    "1,1": ("output_tokens", "is missing in this row"),
    "nan,1,1": ("arrival_s", "is not a time"),
    "x,y,z": ("arrival_s", "neither a number nor a date"),
}


def read(text: str, **options) -> Trace:
    limits = {"max_bytes": 2**24, "max_unpacked_bytes": 2**25, "max_rows": 100_000}
    return read_trace(text.encode(), **{**limits, **options})


def refused(text: str, **options) -> ImportProblem:
    with pytest.raises(ImportProblem) as caught:
        read(text, **options)
    return caught.value


def test_all_bad_rows_are_told_at_once_in_the_order_of_the_file():
    lines = ["0,1,1"]
    for bad in BAD:
        lines += [bad, "2,1,1"]
    found = refused(HEADER + "\n".join(lines) + "\n")
    assert found.bad_rows == len(BAD)
    assert [(row.line, row.field) for row in found.rows] == [
        (3 + 2 * place, field) for place, (field, _) in enumerate(BAD.values())
    ]
    for row, (_, words) in zip(found.rows, BAD.values(), strict=True):
        assert words in row.message
    assert (found.line, found.field) == (3, "arrival_s")


def test_with_leave_the_rest_is_kept_and_what_was_left_out_is_counted():
    text = HEADER + "\n".join(["0,5,1", *BAD, "", "7,6,1"]) + "\n"
    trace = read(text, skip_bad_rows=True)
    assert trace.input_tokens.tolist() == [5, 6]
    assert (trace.notices["rows"], trace.notices["skipped_rows"]) == (2, len(BAD))
    assert [row["line"] for row in trace.notices["skipped"]] == list(range(3, 3 + len(BAD)))
    json.dumps(trace.notices)


def test_a_file_without_bad_rows_says_nothing_of_them():
    assert "skipped_rows" not in read(HEADER + "0,1,1\n", skip_bad_rows=True).notices


def test_at_most_twenty_are_told_and_all_are_counted():
    text = HEADER + "0,1,1\n" + "0,x,1\n" * 300
    found = refused(text)
    assert (len(found.rows), found.bad_rows) == (20, 300)
    assert [row.line for row in found.rows] == list(range(3, 23))
    kept = read(text, skip_bad_rows=True)
    assert (len(kept.notices["skipped"]), kept.notices["skipped_rows"]) == (20, 300)


def test_a_file_of_another_sort_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(trace_file, "BATCH_ROWS", 10)
    monkeypatch.setattr(bad_rows, "MOST_BAD", 30)
    found = refused(HEADER + "a,b,c\n" * 100_000)
    assert found.bad_rows == 30


def test_nothing_left_is_an_error_of_its_own():
    assert refused(HEADER + "x,1,1\n", skip_bad_rows=True).message == "has no request with input and output"


def test_lines_of_json_are_told_too():
    good = {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}
    texts = [
        json.dumps(good),
        "{oops",
        "[]",
        json.dumps(good | {"hash_ids": "x"}),
        "",
        json.dumps(good | {"hash_ids": [1]}),
    ]
    text = "\n".join([*texts, json.dumps(good | {"timestamp": None})])
    found = refused(text)
    # How many hashes a prompt should have is known once all are read: that is told after the others are mended.
    assert [(row.line, row.field) for row in found.rows] == [
        (2, "line"),
        (3, "line"),
        (4, "hash_ids"),
        (7, "timestamp"),
    ]
    kept = read(text, skip_bad_rows=True)
    assert kept.input_tokens.tolist() == [600, 600]
    assert kept.notices["skipped_rows"] == 4


def test_hashes_that_do_not_cover_their_prompt_are_bad_rows():
    rows = [{"timestamp": at, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2]} for at in range(4)]
    rows[1]["hash_ids"] = [0]
    rows[3]["hash_ids"] = list(range(9))
    text = "\n".join(map(json.dumps, rows))
    found = refused(text)
    assert [(row.line, row.field) for row in found.rows] == [(2, "hash_ids"), (4, "hash_ids")]
    assert "1 hashes do not cover 1500 tokens in blocks of 512" in found.message
    kept = read(text, skip_bad_rows=True)
    assert kept.arrival_s.tolist() == [0, 0.002]
    assert kept.cached_tokens.tolist() == [0, 1499]
    assert (kept.notices["rows"], kept.notices["skipped_rows"]) == (2, 2)


def test_what_is_wrong_with_the_file_itself_is_not_skipped():
    for text in (HEADER + "0,1,1\n1,\0,1\n", HEADER + "0,1,1\n" + "1,1,1\n" * 20):
        assert refused(text, skip_bad_rows=True, max_rows=10).field == "file"


cells = st.sampled_from(["0", "1", "17", " 3 ", "2.0", "x", "-1", "", "1e3", "٣", '"4\n"', '"a\nb"'])
rows = st.lists(
    st.one_of(st.tuples(cells, cells, cells).map(",".join), st.sampled_from(["", " ", "5", "1,2"])), max_size=30
)


@given(rows, st.sampled_from([1, 2, 7]), st.sampled_from([1, 5, 64]), st.booleans())
def test_batches_and_pieces_change_nothing(lines: list[str], batch: int, piece: int, packed: bool) -> None:
    """Read a few rows or bytes at a time, the answer is that of the whole: numbers, lines and words."""

    def outcome() -> object:
        data = (HEADER + "0,1,1\n" + "\n".join(lines)).encode()
        limits = {"max_bytes": 2**20, "max_unpacked_bytes": 2**20, "max_rows": 1000}
        try:
            trace = read_trace(gzip.compress(data) if packed else data, skip_bad_rows=True, **limits)
        except ImportProblem as problem:
            return str(problem)
        return trace.arrival_s.tolist(), trace.input_tokens.tolist(), trace.output_tokens.tolist(), trace.notices

    whole = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_file, "BATCH_ROWS", batch)
        patch.setattr(trace_file, "PIECE_BYTES", piece)
        assert outcome() == whole


@given(st.lists(st.sampled_from(["0,1,1", "0,x,1", "", '0,1,"2\n"', '0,"y\n\n",1', "0,1"]), min_size=1, max_size=25))
def test_a_bad_row_is_told_by_the_line_it_ends_on(lines: list[str]) -> None:
    """Counted by hand: the line breaks before the end of the row, those in its cells included."""
    line, wanted = 2, []
    for row in ["0,1,1", *lines]:
        line += row.count("\n")
        if "x" in row or "y" in row or row == "0,1":
            wanted.append(line)
        line += 1
    trace = read(HEADER + "\n".join(["0,1,1", *lines]), skip_bad_rows=True)
    assert [row["line"] for row in trace.notices.get("skipped", [])] == wanted[:20]


def test_hits_are_those_of_a_dictionary():
    """Prefixes found by arrays against a plain set, on random chains."""
    draws = np.random.default_rng(2)
    records, seen, hits = [], set(), []
    for at in range(300):
        chain = [f"{draws.integers(3)}"]
        while len(chain) < 1 + draws.integers(6):
            chain.append(chain[-1] + f"{draws.integers(2)}")
        records.append({"timestamp": at, "input_length": 512 * len(chain), "output_length": 1, "hash_ids": chain})
        known = next((place for place, block in enumerate(chain) if block not in seen), len(chain))
        hits.append(min(512 * known, 512 * len(chain) - 1))
        seen.update(chain)
    trace = read("\n".join(map(json.dumps, records)))
    assert trace.cached_tokens.tolist() == hits
    assert trace.blocks.distinct == len(seen)

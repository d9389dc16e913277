from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from planner.catalog.columns import pack, unpack
from planner.catalog.facts import trace_facts
from planner.catalog.importers import ImportProblem
from planner.catalog.importers.traces import read_trace

PLAIN = "arrival_s,input_tokens,output_tokens\n0,100,10\n1.5,200,20\n"


def read(text, **limits):
    data = text if isinstance(text, bytes) else text.encode()
    return read_trace(data, **{"max_bytes": 2**20, "max_unpacked_bytes": 2**21, "max_rows": 1000, **limits})


def problem(text, **limits) -> ImportProblem:
    with pytest.raises(ImportProblem) as caught:
        read(text, **limits)
    return caught.value


def jsonl(*records) -> str:
    return "\n".join(json.dumps(record) for record in records)


def test_a_plain_csv_is_read():
    trace = read(PLAIN)
    assert trace.arrival_s.tolist() == [0, 1.5]
    assert trace.input_tokens.tolist() == [100, 200]
    assert trace.output_tokens.tolist() == [10, 20]
    assert trace.cached_tokens is None


def test_azure_columns_and_dates_are_read():
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n"
        "2023-11-16 18:15:50.9951690,396,109\n"
    )
    trace = read(text)
    assert trace.arrival_s.tolist() == pytest.approx([0, 4.314579], abs=2e-6)
    assert trace.output_tokens.tolist() == [44, 109]


def test_a_date_with_an_offset_is_read():
    text = "timestamp,input_tokens,output_tokens\n2024-05-12 00:00:00+00:00,1,1\n2024-05-12T01:00:01+01:00,1,1\n"
    assert read(text).arrival_s.tolist() == [0, 1]


def test_burstgpt_columns_are_read_and_its_failures_counted():
    text = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n"
        "45,GPT-4,1087,0,1087,API log\n"
        "118,ChatGPT,417,276,693,Conversation log\n"
    )
    trace = read(text)
    assert trace.arrival_s.tolist() == [0, 113]
    assert trace.input_tokens.tolist() == [472, 417]
    facts = trace_facts(trace)
    assert (facts["rows"], facts["requests"], facts["zero_output_rows"]) == (3, 2, 1)
    assert facts["ignored_columns"] == ["Model", "Total tokens", "Log Type"]


def test_mooncake_lines_are_read_with_the_prefix_found_in_an_endless_cache():
    text = jsonl(
        {"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2]},
        {"timestamp": 2000, "input_length": 1200, "output_length": 5, "hash_ids": [0, 1, 9]},
        {"timestamp": 3000, "input_length": 1024, "output_length": 5, "hash_ids": [0, 1]},
        {"timestamp": 4000, "input_length": 700, "output_length": 5, "hash_ids": [7, 1]},
    )
    trace = read(text)
    assert trace.arrival_s.tolist() == [0, 2, 3, 4]
    # 2 blocks of 512; both blocks, but one token is computed; block 1 behind an unknown block does not count.
    assert trace.cached_tokens.tolist() == [0, 1024, 1023, 0]
    assert (trace.notices["block_tokens"], trace.notices["distinct_blocks"]) == (512, 5)
    # Numbered as they first occur.
    assert trace.blocks.ids.tolist() == [0, 1, 2, 0, 1, 3, 0, 1, 4, 1]
    assert trace.blocks.offsets.tolist() == [0, 3, 6, 8, 10]


def test_the_block_size_follows_from_the_number_of_hashes():
    text = jsonl(
        {"arrival_s": 0, "input_tokens": 40, "output_tokens": 5, "hash_ids": ["a", "b", "c"]},
        {"arrival_s": 1, "input_tokens": 48, "output_tokens": 5, "hash_ids": ["a", "b", "x"]},
    )
    trace = read(text)
    assert trace.notices["block_tokens"] == 16
    assert trace.cached_tokens.tolist() == [0, 32]


def test_hashes_that_fit_no_block_size_are_refused():
    found = problem(
        jsonl(
            {"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2]},
            {"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2, 3, 4]},
        )
    )
    assert (found.line, found.field) == (2, "hash_ids")


def test_hits_are_counted_in_the_order_of_arrival_not_of_the_file():
    first = {"timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": [0]}
    second = {"timestamp": 9, "input_length": 1024, "output_length": 5, "hash_ids": [0, 1]}
    assert read(jsonl(second, first)).cached_tokens.tolist() == [0, 512]


def test_adapters_are_numbered_as_they_arrive_and_an_empty_cell_is_the_base():
    trace = read("arrival_s,input_tokens,output_tokens,lora_name\n3,1,1,law\n1,1,1,tax\n2,1,1,\n4,1,1, tax\n")
    assert trace.adapters.tolist() == [0, -1, 1, 0]
    assert trace.notices["adapters"] == 2
    again = unpack(pack(trace), name="ours", source="a test")
    assert again.adapters.tolist() == [0, -1, 1, 0]


def test_a_trace_without_adapters_has_none():
    assert read(PLAIN).adapters is None
    assert unpack(pack(read(PLAIN)), name="ours", source="a test").adapters is None


def test_adapters_may_be_numbers_and_names_of_json():
    lines = [
        {"timestamp": at, "input_length": 5, "output_length": 5, "adapter": name}
        for at, name in enumerate((7, "7", None))
    ]
    assert read(jsonl(*lines)).adapters.tolist() == [0, 0, -1]


def test_arrivals_are_sorted_from_zero_and_the_late_ones_counted():
    trace = read("arrival_s,input_tokens,output_tokens\n20,1,1\n10,2,2\n30,3,3\n5,4,4\n")
    assert trace.arrival_s.tolist() == [0, 5, 15, 25]
    assert trace.input_tokens.tolist() == [4, 2, 1, 3]
    assert trace.notices["out_of_order_rows"] == 2


@pytest.mark.parametrize(
    ("name", "values", "seconds"),
    [("arrival_ms", (0, 1500), 1.5), ("arrival_time_ns", (0, 2_500_000_000), 2.5), ("timestamp", (7, 8), 1)],
)
def test_the_unit_of_an_arrival_is_in_its_name(name, values, seconds):
    text = f"{name},input_tokens,output_tokens\n{values[0]},1,1\n{values[1]},1,1\n"
    assert read(text).arrival_s[1] == pytest.approx(seconds)


def test_gzip_is_unpacked_and_a_byte_order_mark_dropped():
    assert read(gzip.compress(b"\xef\xbb\xbf" + PLAIN.encode())).input_tokens.tolist() == [100, 200]


def test_windows_lines_quotes_and_blank_lines_are_read():
    text = 'input_tokens,"output_tokens",arrival_s,prompt\r\n"100",10.0,0,"two\nlines, one field"\r\n\r\n200,20,1,x\r\n'
    assert read(text).input_tokens.tolist() == [100, 200]


def test_blank_lines_above_the_header_are_read_over():
    found = problem("\n,,\n" + PLAIN + "2,abc,10\n")
    assert read("\n  \n" + PLAIN).input_tokens.tolist() == [100, 200]
    assert found.line == 6


def test_prompt_text_is_never_kept():
    text = jsonl({"arrival": 0, "input_length": 5, "output_length": 5, "prompt": "SECRET", "messages": ["SECRET"]})
    trace = read(text)
    assert "SECRET" not in repr(trace) + json.dumps(trace_facts(trace))
    assert trace.notices["ignored_columns"] == ["prompt", "messages"]


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("", 1, "file"),
        ("   \n", 1, "file"),
        (",,\n,\n", 1, "arrival"),
        ("arrival_s,input_tokens,output_tokens\n", 2, "file"),
        ("arrival_s,input_tokens\n0,1\n", 1, "output_tokens"),
        ("when,input_tokens,output_tokens\n0,1,1\n", 1, "arrival"),
        (PLAIN + "2,abc,10\n", 4, "input_tokens"),
        (PLAIN + "2,1.5,10\n", 4, "input_tokens"),
        (PLAIN + "2,-1,10\n", 4, "input_tokens"),
        (PLAIN + "2,1e12,10\n", 4, "input_tokens"),
        (PLAIN + f"2,{'9' * 400},10\n", 4, "input_tokens"),
        (PLAIN + "2,1,nan\n", 4, "output_tokens"),
        (PLAIN + "2,1,\n", 4, "output_tokens"),
        (PLAIN + "2,1\n", 4, "output_tokens"),
        (PLAIN + "inf,1,1\n", 4, "arrival_s"),
        (PLAIN + "yesterday,1,1\n", 4, "arrival_s"),
        (PLAIN + '2,"broken,1\n', 4, "output_tokens"),
        (PLAIN + "3,1,1\n2\x00,1,1\n", 5, "file"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46,1,1\n", 2, "TIMESTAMP"),
        ("arrival_s,input_tokens,output_tokens,cached_tokens\n0,10,1,11\n", 2, "cached_tokens"),
        (jsonl({"timestamp": 0, "input_length": 5, "output_length": 5}) + "\n{oops}", 2, "line"),
        (jsonl({"timestamp": 0, "input_length": 5, "output_length": 5}) + "\n[1]", 2, "line"),
        (jsonl({"timestamp": 0, "input_length": 5, "output_length": 5}, {"timestamp": 1}), 2, "input_length"),
        (jsonl({"timestamp": True, "input_length": 5, "output_length": 5}), 1, "timestamp"),
        (jsonl({"timestamp": 0, "input_length": [5], "output_length": 5}), 1, "input_length"),
        (jsonl({"timestamp": 0, "input_length": 10**400, "output_length": 5}), 1, "input_length"),
        (jsonl({"timestamp": 10**400, "input_length": 5, "output_length": 5}), 1, "timestamp"),
        ('{"timestamp": 0, "input_length": 5, "output_length": NaN}', 1, "line"),
        (jsonl({"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [[1]]}), 1, "hash_ids"),
        (jsonl({"timestamp": 0, "input_length": 5, "output_length": 5, "adapter": [1]}), 1, "adapter"),
        ("[" * 100_000, 1, "line"),
        ('{"a":' + "[" * 100_000, 1, "line"),
        (b"arrival_s,input_tokens,output_tokens\n0,1,\xff\n", 2, "file"),
        (b"\x1f\x8bnot really gzip", None, "file"),
        (b"PK\x03\x04whatever", None, "file"),
        ("arrival_s,input_tokens,output_tokens\n0,0,5\n1,5,0\n", 2, "file"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_field(text, line, field):
    found = problem(text)
    assert (found.line, found.field) == (line, field)
    assert found.message
    assert len(str(found)) < 400


def test_a_truncated_gzip_is_refused():
    assert "unpacked" in problem(gzip.compress(PLAIN.encode() * 50)[:-20]).message


def test_limits_are_kept():
    assert "larger" in problem(PLAIN, max_bytes=10).message
    rows = PLAIN + "2,1,1\n" * 20
    assert problem(rows, max_rows=10).line == 12
    assert read(rows, max_rows=22).notices["rows"] == 22


def test_a_gzip_bomb_is_refused_before_it_unfolds():
    bomb = gzip.compress(b"0" * 50_000_000)
    assert len(bomb) < 100_000
    assert "unpacks to more" in problem(bomb).message


def test_facts_are_those_of_arithmetic():
    lines = [f"{second},{tokens},{2 * tokens}" for second, tokens in ((0, 1), (30, 2), (61, 3), (120, 4))]
    facts = trace_facts(read("arrival_s,input_tokens,output_tokens\n" + "\n".join(lines)))
    assert (facts["requests"], facts["duration_s"]) == (4, 120)
    assert facts["rate_rps"] == pytest.approx(4 / 120)
    assert facts["peak_rps"] == pytest.approx(2 / 60)
    assert facts["input_tokens"] == 2.5
    assert facts["output_tokens"] == 5
    shown = {"mean": 2.5, "p50": 2.5, "p90": 3.7, "p99": 3.97, "max": 4}
    assert facts["lengths"]["input_tokens"] == pytest.approx(shown)
    assert facts["arrivals"] == {"bin_s": 60, "requests": [2, 1, 1]}
    assert facts["output_sigma"] == pytest.approx(np.std(np.log([2, 4, 6, 8])))
    assert "prefix_hit_rate" not in facts


def test_the_hit_rate_is_the_share_of_input_tokens():
    text = "arrival_s,input_tokens,output_tokens,cached_tokens\n0,100,1,0\n1,300,1,300\n"
    assert trace_facts(read(text))["prefix_hit_rate"] == 0.75


def test_a_single_request_has_no_rate():
    facts = trace_facts(read("arrival_s,input_tokens,output_tokens\n5,1,1\n"))
    assert facts["rate_rps"] is None
    assert facts["duration_s"] == 0
    json.dumps(facts, allow_nan=False)


def test_a_long_trace_keeps_its_list_of_arrivals_short():
    week = 7 * 86400
    text = "arrival_s,input_tokens,output_tokens\n" + "".join(
        f"{second},1,1\n" for second in range(0, week + 1, week // 500)
    )
    arrivals = trace_facts(read(text))["arrivals"]
    assert len(arrivals["requests"]) <= 1440
    assert arrivals["bin_s"] % 60 == 0
    assert sum(arrivals["requests"]) == 501

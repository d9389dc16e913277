"""Each format as it is published, read whole: columns, units of time, failures, sessions, orders."""

from __future__ import annotations

import gzip
import json

import pytest

from planner.catalog.importers.traces import Trace, read_trace

AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:00+00:00,2399,6
2024-05-10 00:00:01.5+00:00,76,15
2024-05-10 01:00:02+01:00,9,1
"""
AZURE_WHOLE_SECONDS = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16T18:15:51,879,55
"""
BURSTGPT_1 = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,0,417,API log
"""
BURSTGPT_2 = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
10.0,9f3,4.1,ChatGPT,31,104,135,Conversation log
12.5,,0.8,GPT-4,900,12,912,API log
"""
VLLM = [
    {"arrival_time": 0.0, "prompt_len": 14, "prompt": "not read", "prompt_tokens": 14, "completion_tokens": 3},
    {"arrival_time": 0.25, "prompt_len": 20, "prompt": "not read", "prompt_tokens": 20, "completion_tokens": 9},
]
SERVING_SIM = [
    {"input_toks": 33, "output_toks": 5, "arrival_time_ns": 1_000_000_000, "hash_ids": [0, 1, 2]},
    {"input_toks": 40, "output_toks": 6, "arrival_time_ns": 3_500_000_000, "hash_ids": [0, 1, 9]},
]
TOOLAGENT = [
    {"timestamp": 0, "input_length": 9013, "output_length": 4, "hash_ids": list(range(18))},
    {"timestamp": 3000, "input_length": 9100, "output_length": 30, "hash_ids": [*range(17), 99]},
]


def read(text: str | bytes) -> Trace:
    data = text if isinstance(text, bytes) else text.encode()
    return read_trace(data, max_bytes=2**20, max_unpacked_bytes=2**21, max_rows=1000)


def jsonl(rows: list[dict]) -> str:
    return "\n".join(map(json.dumps, rows))


@pytest.mark.parametrize(
    ("text", "arrivals", "inputs", "outputs"),
    [
        (AZURE_2024, [0, 0.00993, 1.5, 2], [2399, 2162, 76, 9], [6, 5, 15, 1]),
        (AZURE_WHOLE_SECONDS, [0, 4.995169, 5], [374, 396, 879], [44, 109, 55]),
        (BURSTGPT_1, [0, 40], [472, 1087], [18, 230]),
        (BURSTGPT_2, [0, 2.5], [31, 900], [104, 12]),
        (jsonl(VLLM), [0, 0.25], [14, 20], [3, 9]),
        (jsonl(SERVING_SIM), [0, 2.5], [33, 40], [5, 6]),
        (jsonl(TOOLAGENT), [0, 3], [9013, 9100], [4, 30]),
        ("timestamp_ms,input_length,output_length\n6011,178,8\n6917,258,40\n", [0, 0.906], [178, 258], [8, 40]),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,2\n0.25,11,3\n", [0, 0.25], [11, 10], [3, 2]),
    ],
)
def test_each_published_layout_is_read(text, arrivals, inputs, outputs):
    for form in (text, text.replace("\n", "\r\n"), gzip.compress(text.encode())):
        trace = read(form)
        assert trace.arrival_s.tolist() == pytest.approx(arrivals, abs=2e-6)
        assert (trace.input_tokens.tolist(), trace.output_tokens.tolist()) == (inputs, outputs)


def test_unsorted_rows_are_sorted_without_changing_the_order_of_equal_moments():
    trace = read("arrival_s,input_tokens,output_tokens\n3,1,1\n1,2,1\n3,3,1\n1,4,1\n")
    assert trace.input_tokens.tolist() == [2, 4, 1, 3]
    assert trace.notices["out_of_order_rows"] == 2


def test_failures_are_counted_and_columns_that_are_not_read_are_named():
    assert read(BURSTGPT_1).notices["zero_output_rows"] == 1
    assert "Session ID" in read(BURSTGPT_2).notices["ignored_columns"]
    assert read(BURSTGPT_2).notices["rows"] == 2


def test_blocks_are_those_of_the_publisher():
    mooncake, short = read(jsonl(TOOLAGENT)), read(jsonl(SERVING_SIM))
    assert (mooncake.blocks.tokens, mooncake.cached_tokens.tolist()) == (512, [0, 17 * 512])
    assert (short.blocks.tokens, short.cached_tokens.tolist()) == (16, [0, 32])

"""Result files of load generators: each tool's keys as its documentation names them, and files that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.benchmarks import read

SERVE: dict[str, Any] = {
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "request_rate": "inf",
    "max_concurrency": 32,
    "duration": 150.87,
    "completed": 32,
    "total_input_tokens": 65536,
    "total_output_tokens": 65536,
    "request_throughput": 0.21,
    "output_throughput": 434.4,
    "total_token_throughput": 868.8,
    "mean_ttft_ms": 7279.56,
    "median_ttft_ms": 7099.88,
    "p99_ttft_ms": 10999.46,
    "mean_tpot_ms": 70.14,
    "p99_tpot_ms": 72.63,
    "mean_itl_ms": 70.14,
    "p99_itl_ms": 72.47,
}
PERF: dict[str, Any] = {
    "input_config": {"endpoint": {"model_names": ["Qwen/Qwen3-32B"]}, "loadgen": {"concurrency": 8}},
    "time_to_first_token": {"unit": "ms", "avg": 250.0, "p50": 240.0, "p99": 400.0},
    "inter_token_latency": {"unit": "ms", "avg": 12.5, "p99": 20.0},
    "request_latency": {"unit": "sec", "avg": 3.5},
    "request_throughput": {"unit": "requests/sec", "avg": 2.25},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 576.0},
    "output_sequence_length": {"unit": "tokens", "avg": 256.0},
}
GUIDE: dict[str, Any] = {
    "benchmarks": [
        {
            "metrics": {
                "time_to_first_token_ms": {"successful": {"mean": 40.0, "median": 30.0, "percentiles": {"p99": 70.0}}},
                "inter_token_latency_ms": {"successful": {"mean": 15.0, "percentiles": {"p99": 30.0}}},
                "time_per_output_token_ms": {"successful": {"mean": 99.0}},
                "request_latency": {"successful": {"mean": 2.0}},
                "requests_per_second": {"successful": {"mean": 1.5}},
                "output_tokens_per_second": {"successful": {"mean": 150.5}},
                "request_concurrency": {"successful": {"mean": 4.0}},
            }
        }
    ]
}


def one(written: Any) -> Any:
    (found,) = read(json.dumps(written).encode())
    return found


def test_vllm() -> None:
    found = one(SERVE)
    assert found.tool == "vLLM bench serve"
    assert found.figures["ttft_mean_s"] == pytest.approx(7.27956)
    assert found.figures["ttft_p50_s"] == pytest.approx(7.09988)
    assert found.figures["tpot_p99_s"] == pytest.approx(0.07263)
    assert found.figures["output_tokens_per_s"] == 434.4
    assert found.load == {
        "concurrency": 32,
        "requests": 32,
        "duration_s": 150.87,
        "input_tokens": 2048,
        "output_tokens": 2048,
    }
    assert found.name == "vLLM bench serve · Llama-3.1-8B-Instruct · concurrency 32"


def test_sglang_writes_a_run_a_line() -> None:
    line = json.dumps(SERVE | {"input_throughput": 434.4, "mean_e2e_latency_ms": 150_000.0})
    found = read(f"{line}\n\n{line}\n".encode())
    assert [run.tool for run in found] == ["SGLang bench_serving"] * 2
    assert found[1].figures["e2e_mean_s"] == pytest.approx(150.0)


def test_aiperf_tells_its_units() -> None:
    found = one(PERF)
    assert found.llm == "Qwen/Qwen3-32B"
    assert found.figures == pytest.approx(
        {
            "ttft_mean_s": 0.25,
            "ttft_p50_s": 0.24,
            "ttft_p99_s": 0.4,
            "tpot_mean_s": 0.0125,
            "tpot_p99_s": 0.02,
            "e2e_mean_s": 3.5,
            "request_rate_rps": 2.25,
            "output_tokens_per_s": 576.0,
        }
    )
    assert found.load == {"output_tokens": 256.0, "concurrency": 8.0}


def test_guidellm() -> None:
    found = one(GUIDE)
    assert found.figures["ttft_p99_s"] == pytest.approx(0.07)
    # Its inter-token latency leaves the first token out, as TPOT does; its time per output token does not.
    assert found.figures["tpot_mean_s"] == pytest.approx(0.015)
    assert "itl_mean_s" not in found.figures
    assert found.figures["request_rate_rps"] == 1.5
    assert found.load == {"concurrency": 4.0}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "file"),
        (b"\xff\xfe\x00", "file"),
        (b"[1, 2]", "file"),
        (b'{"a": 1}', "file"),
        (b'{"mean_ttft_ms": 1}\n{nonsense', "line 2, file"),
        (json.dumps(SERVE | {"mean_ttft_ms": "fast"}).encode(), "mean_ttft_ms"),
        (json.dumps(SERVE | {"p99_tpot_ms": -1}).encode(), "p99_tpot_ms"),
        (b'{"mean_ttft_ms": NaN}', "mean_ttft_ms"),
        (json.dumps(PERF | {"request_latency": {"unit": "fortnights", "avg": 1}}).encode(), "request_latency/unit"),
        (b'{"benchmarks": [{}]}', "benchmarks/0/metrics"),
        (b"[" * 100_000, "file"),
        (json.dumps([SERVE] * 201).encode(), "file"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, place: str) -> None:
    with pytest.raises(ImportProblem) as caught:
        read(data)
    assert place in str(caught.value)

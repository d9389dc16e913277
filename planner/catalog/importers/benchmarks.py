"""Reads what a load generator wrote about a run: vLLM `bench serve`, SGLang `bench_serving`, AIPerf or GenAI-Perf,
and GuideLLM. Figures come out in base units under the names that estimates use; texts of prompts are never kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalog.importers import ImportProblem, excerpt

MOST_BYTES = 32 * 2**20
MOST_RUNS = 200
MOST_SECONDS, MOST_PER_S = 1e6, 1e12


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One run: its figures in base units (s, tokens/s, requests/s) and the load it was put under."""

    tool: str
    llm: str
    figures: Mapping[str, float]
    load: Mapping[str, float]

    @property
    def name(self) -> str:
        """The run in a few words."""
        at = next((f"{label} {self.load[key]:g}" for key, label in _NAMED if key in self.load), "")
        return " · ".join(part for part in (self.tool, self.llm.rsplit("/", 1)[-1], at) if part)


_NAMED = (("concurrency", "concurrency"), ("rate_rps", "req/s"))
_TAILS = {"mean": "mean", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
_TIMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "e2e_latency": "e2e"}
_RATES = {
    "request_throughput": "request_rate_rps",
    "output_throughput": "output_tokens_per_s",
    "input_throughput": "input_tokens_per_s",
    "total_token_throughput": "total_tokens_per_s",
    "total_throughput": "total_tokens_per_s",
    "request_goodput": "goodput_rps",
}
_LOAD = {
    "max_concurrency": "concurrency",
    "request_rate": "rate_rps",
    "completed": "requests",
    "duration": "duration_s",
}

# AIPerf and GenAI-Perf: their inter-token latency is the mean of a request, which is what TPOT means here.
_PERF_TIMES = {"time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2e"}
_PERF_RATES = {
    "request_throughput": "request_rate_rps",
    "output_token_throughput": "output_tokens_per_s",
    "goodput": "goodput_rps",
}
_PERF_LOAD = {
    "input_sequence_length": "input_tokens",
    "output_sequence_length": "output_tokens",
    "request_count": "requests",
    "benchmark_duration": "duration_s",
}
_UNITS_S = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}
# GuideLLM's inter-token latency is (last - first token) / (tokens - 1) of a request, which is TPOT; what it calls time
# per output token holds the wait for the first token too, and is left out.
_GUIDE_TIMES = {
    "time_to_first_token_ms": ("ttft", 1e-3),
    "inter_token_latency_ms": ("tpot", 1e-3),
    "request_latency": ("e2e", 1.0),
}
_GUIDE_RATES = {
    "requests_per_second": "request_rate_rps",
    "output_tokens_per_second": "output_tokens_per_s",
    "tokens_per_second": "total_tokens_per_s",
}
_GUIDE_LOAD = {
    "request_concurrency": "concurrency",
    "prompt_token_count": "input_tokens",
    "output_token_count": "output_tokens",
}


def read(data: bytes) -> tuple[Benchmark, ...]:
    """The runs of a result file, in its order.

    Raises
    ------
    ImportProblem
        naming the line (of JSON lines) and the key at fault
    """
    if len(data) > MOST_BYTES:
        raise ImportProblem(None, "file", f"has more than {MOST_BYTES // 2**20} MiB")
    found = [run for line, written in _objects(data) for run in _runs(written, line=line)]
    if len(found) > MOST_RUNS:
        raise ImportProblem(None, "file", f"has more than {MOST_RUNS} runs")
    return tuple(found)


def _objects(data: bytes) -> list[tuple[int | None, Mapping[str, Any]]]:
    """The objects of a file: one, a list of them, or one a line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ImportProblem(None, "file", "is not UTF-8 text") from None
    if not text.strip():
        raise ImportProblem(None, "file", "is empty")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [
            (number, _parsed(line, line=number)) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    return [(None, _object(item, line=None)) for item in (whole if isinstance(whole, list) else [whole])]


def _parsed(line_text: str, *, line: int) -> Mapping[str, Any]:
    try:
        return _object(json.loads(line_text), line=line)
    except (ValueError, RecursionError):
        raise ImportProblem(line, "file", f"is not JSON: {excerpt(line_text)}") from None


def _object(value: Any, *, line: int | None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ImportProblem(line, "file", "is not a JSON object with the figures of a run")
    return value


def _runs(written: Mapping[str, Any], *, line: int | None) -> Iterator[Benchmark]:
    if isinstance(written.get("benchmarks"), list):
        for place, run in enumerate(written["benchmarks"]):
            yield _guide(_object(run, line=line), at=f"benchmarks/{place}")
    elif any(isinstance(written.get(name), Mapping) for name in _PERF_TIMES | _PERF_RATES):
        yield _perf(written)
    elif any(name.endswith("_ttft_ms") for name in written):
        yield _serve(written, line=line)
    else:
        raise ImportProblem(
            line,
            "file",
            "is no result that is known here: vLLM bench serve, SGLang bench_serving, AIPerf, GenAI-Perf or GuideLLM",
        )


def _serve(written: Mapping[str, Any], *, line: int | None) -> Benchmark:
    """vLLM `bench serve --save-result` and SGLang `bench_serving --output-file`: flat keys, times in ms."""
    figures: dict[str, float] = {}
    for tail, tail_name in _TAILS.items():
        for time, time_name in _TIMES.items():
            key = f"{tail}_{time}_ms"
            if written.get(key) is not None:
                figures[f"{time_name}_{tail_name}_s"] = _seconds(written[key], key=key, scale=1e-3, line=line)
    for key, name in _RATES.items():
        if written.get(key) is not None:
            figures[name] = _number(written[key], key=key, most=MOST_PER_S, line=line)
    load = {name: value for key, name in _LOAD.items() if (value := _finite(written.get(key))) is not None}
    load |= _means(written, completed=load.get("requests"))
    llm = written.get("model_id") or written.get("model") or ""
    # SGLang alone says how much it read a second.
    tool = "SGLang bench_serving" if "input_throughput" in written else "vLLM bench serve"
    return Benchmark(tool, str(llm)[:120], figures, load)


def _means(written: Mapping[str, Any], *, completed: float | None) -> dict[str, float]:
    totals = {name: _finite(written.get(f"total_{name}")) for name in ("input_tokens", "output_tokens")}
    return {name: total / completed for name, total in totals.items() if total is not None and completed}


def _perf(written: Mapping[str, Any]) -> Benchmark:
    """AIPerf `profile_export_aiperf.json` and GenAI-Perf: {metric: {unit, avg, p99, …}}."""
    figures: dict[str, float] = {}
    for key, name in _PERF_TIMES.items():
        block = written.get(key)
        if isinstance(block, Mapping):
            scale = _UNITS_S.get(str(block.get("unit", "ms")))
            if scale is None:
                raise ImportProblem(None, f"{key}/unit", f"{excerpt(block.get('unit'))} is no unit of time")
            figures |= _tails(block, name=name, scale=scale, at=key)
    for key, name in _PERF_RATES.items():
        value = _average(written.get(key))
        if value is not None:
            figures[name] = _number(value, key=key, most=MOST_PER_S, line=None)
    load = {
        name: value for key, name in _PERF_LOAD.items() if (value := _finite(_average(written.get(key)))) is not None
    }
    asked = _asked(written)
    return Benchmark("AIPerf", asked.pop("llm", ""), figures, load | asked)


def _asked(written: Mapping[str, Any]) -> dict[str, Any]:
    """What the run was asked to do, where the file says so."""
    config = written.get("input_config")
    if not isinstance(config, Mapping):
        return {}
    generator, endpoint = config.get("loadgen"), config.get("endpoint")
    found: dict[str, Any] = {}
    for key, name in (("concurrency", "concurrency"), ("request_rate", "rate_rps")):
        value = _finite(generator.get(key)) if isinstance(generator, Mapping) else None
        if value is not None:
            found[name] = value
    names = endpoint.get("model_names") if isinstance(endpoint, Mapping) else None
    if isinstance(names, list) and names:
        found["llm"] = str(names[0])[:120]
    return found


def _average(block: Any) -> Any:
    return block.get("avg") if isinstance(block, Mapping) else None


def _guide(run: Mapping[str, Any], *, at: str) -> Benchmark:
    """GuideLLM: benchmarks of a report, each with metrics by how requests ended."""
    metrics = run.get("metrics")
    if not isinstance(metrics, Mapping):
        raise ImportProblem(None, f"{at}/metrics", "is missing")
    figures: dict[str, float] = {}
    for key, (name, scale) in _GUIDE_TIMES.items():
        block = _successful(metrics.get(key))
        if block:
            figures |= _tails(block, name=name, scale=scale, at=f"{at}/metrics/{key}")
    for key, name in _GUIDE_RATES.items():
        value = _finite(_successful(metrics.get(key)).get("mean"))
        if value is not None:
            figures[name] = _number(value, key=f"{at}/metrics/{key}", most=MOST_PER_S, line=None)
    means = {name: _finite(_successful(metrics.get(key)).get("mean")) for key, name in _GUIDE_LOAD.items()}
    return Benchmark("GuideLLM", "", figures, {name: value for name, value in means.items() if value is not None})


def _successful(block: Any) -> Mapping[str, Any]:
    inner = block.get("successful") if isinstance(block, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _tails(block: Mapping[str, Any], *, name: str, scale: float, at: str) -> dict[str, float]:
    """Mean and percentiles of a block; GuideLLM keeps its percentiles one level down."""
    inner = block.get("percentiles")
    known = {**block, **(inner if isinstance(inner, Mapping) else {})}
    known.setdefault("mean", known.get("avg"))
    return {
        f"{name}_{tail_name}_s": _seconds(known[tail], key=f"{at}/{tail}", scale=scale, line=None)
        for tail, tail_name in _TAILS.items()
        if known.get(tail) is not None
    }


def _seconds(value: Any, *, key: str, scale: float, line: int | None) -> float:
    return _number(value, key=key, most=MOST_SECONDS / scale, line=line) * scale


def _number(value: Any, *, key: str, most: float, line: int | None) -> float:
    number = _finite(value)
    if number is None or not 0 <= number <= most:
        raise ImportProblem(line, key, f"{excerpt(value)} is not a number from 0 to {most:g}")
    return number


def _finite(value: Any) -> float | None:
    """A number as such; none for text (a rate of "inf"), NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None

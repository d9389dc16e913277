"""Published results of one replica: aggregated serving, whole batches, single requests and prefill alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from planner import kinds
from planner.core.result import Metric, Result
from planner.kinds.engine_instance import fit, load, plan
from tests.validation import published_text as text
from tests.validation.rows import Row
from tests.validation.shipped import catalog

KIND = kinds.get("engine_instance")
Published = Mapping[str, str]
QUANTITY = "published_results"
_EVERYTHING_AT_ONCE = 1e6
"""Requests in the system when a whole batch is queued: more than any replica runs."""


def replica(row: Published) -> Iterator[Row]:
    """Latency or throughput of one replica at a concurrency, or with all places taken."""
    spec, cut = _spec(row)
    saturated = "max" in row["concurrency_or_batch"]
    concurrency = _places(spec) if saturated else text.tokens_of(row["concurrency_or_batch"], what="load")
    result = _estimate({**spec, "concurrency": concurrency / cut.replicas})
    if (measured := text.number(row["ttft_ms"])) is not None:
        yield compared(row, "TTFT", _metric(result, "ttft_mean_s"), measured / 1e3, unit="s")
    if (measured := text.number(row["tpot_ms"])) is not None:
        yield compared(row, "TPOT", _metric(result, "tpot_mean_s"), measured / 1e3, unit="s")
    if saturated:
        measured = text.tokens_of(row["value"], what="throughput")
        metric = _metric(result, "output_tokens_per_s")
        yield compared(row, "Throughput", metric, measured, unit="tok/s", times=cut.replicas)


def whole_batch(row: Published) -> Iterator[Row]:
    """A batch submitted at once: tokens in and out over the time that all of it took."""
    spec, _ = _spec(row)
    batch = text.tokens_of(row["concurrency_or_batch"], what="batch")
    metric = _metric(_estimate({**spec, "concurrency": batch}), "total_tokens_per_s")
    yield compared(row, "Throughput", metric, text.tokens_of(row["total_tok_s"], what="throughput"), unit="tok/s")


def overloaded(row: Published) -> Iterator[Row]:
    """Poisson arrivals of a thousand requests: at a rate above what the replica serves, its places are all taken."""
    spec, cut = _spec(row, layout=f"TP{row['n_gpus']}")
    rate = text.tokens_of(row["concurrency_or_batch"].removeprefix("QPS "), what="rate")
    result = _estimate({**spec, "rate_rps": rate})
    if result.value("output_tokens_per_s") is None:
        result = _estimate({**spec, "concurrency": _places(spec)})
    measured = text.tokens_of(row["decode_tok_s_per_gpu"], what="throughput") * cut.gpus
    yield compared(row, "Throughput", _metric(result, "output_tokens_per_s"), measured, unit="tok/s")
    for group in ("TTFT", "TPOT"):
        yield set_aside(row, "A thousand requests at a rate beyond what is served: no steady state to compare.", group)


def prefill_alone(row: Published) -> Iterator[Row]:
    """Input tokens a second and GPU of a replica that only prefills."""
    spec, cut = _spec(row, layout=_prefill_layout(row))
    load = text.number(row["concurrency_or_batch"]) or 64.0 * cut.data
    result = _estimate({**spec, "output_tokens": 1.0, "concurrency": load})
    measured = text.tokens_of(row["prefill_tok_s_per_gpu"], what="throughput") * cut.gpus
    yield compared(row, "Throughput", _metric(result, "input_tokens_per_s"), measured, unit="tok/s")


def _prefill_layout(row: Published) -> str:
    """“DP2 EP2” and “TP1 DP4 EP” in the words of an aggregated layout."""
    words = {"DP2 EP2": "TP1 PP1 attnDP2 moeTP1 moeEP2", "TP1 DP4 EP": "TP1 PP1 attnDP4 moeTP1 moeEP4"}
    return words.get(row["parallelism"], row["parallelism"])


def _spec(row: Published, *, layout: str | None = None) -> tuple[dict[str, Any], text.Cut]:
    engine, llm = text.engine_of(row["engine"]), text.llm_of(row["model"])
    cut = text.cut_of(row["parallelism"] if layout is None else layout, engine=engine, row=row["source"])
    prompt = text.tokens_of(row["isl"], what="input")
    answer = 1.0 if row["osl"] == "" and row["mode"] == "prefill-only" else text.tokens_of(row["osl"], what="output")
    return {
        "llm": llm.slug,
        "gpu": text.gpu_of(row["gpu"]).slug,
        "engine": engine,
        "tensor_parallel": cut.tensor,
        "pipeline_parallel": cut.pipeline,
        "data_parallel_attention": cut.data,
        "gpus": cut.gpus,
        "expert_parallel": cut.experts if llm.moe else None,
        "weight_dtype": text.format_of(row["precision"]),
        "kv_dtype": _cache_format(row),
        "input_tokens": prompt,
        "output_tokens": answer,
        "max_model_len": math.ceil(prompt + answer) + 1,
    }, cut


def _cache_format(row: Published) -> str | None:
    """NVIDIA's quantised checkpoints, which its overview runs, name FP8 for the cache in hf_quant_config.json."""
    return "fp8" if "perf-overview" in row["source"] and row["precision"] in ("fp4", "fp8") else None


def _places(spec: dict[str, Any]) -> float:
    """Requests that run at once on this replica when more are queued."""
    resolved = plan.resolve(KIND.spec.model_validate({**spec, "concurrency": _EVERYTHING_AT_ONCE}), catalog())
    fitted = fit.fit(resolved)
    if not fitted.starts:
        raise text.UnreadError(f"The estimate says that this replica does not start ({fitted.problem}).")
    return max(load.places(resolved, fitted), 1.0)


def _estimate(spec: dict[str, Any]) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), catalog())


def _metric(result: Result, name: str) -> Metric:
    metric = result.metrics[name]
    if metric.value is None:
        codes = ", ".join(finding.code for finding in result.findings if finding.severity == "error")
        raise text.UnreadError(f"The estimate gives no {metric.definition.label} here ({codes or 'no steady state'}).")
    return metric


def compared(row: Published, group: str, metric: Metric, measured: float, *, unit: str, times: float = 1.0) -> Row:
    """One figure beside ours; ``times`` is the number of replicas."""
    value, low, high = (None if each is None else each * times for each in (metric.value, metric.low, metric.high))
    return Row(**facts(row), group=group, predicted=value, measured=measured, low=low, high=high, unit=unit)


def set_aside(row: Published, reason: str, group: str = "") -> Row:
    """A row that the data itself rules out."""
    return Row(**facts(row), group=group, status="set aside", reason=reason)


def not_expressible(row: Published, reason: str, group: str = "") -> Row:
    """A row that no spec can say yet, or that says too little."""
    return Row(**facts(row), group=group, status="not expressible", reason=reason)


def facts(row: Published) -> dict[str, Any]:
    """Who published it and what was run."""
    found: dict[str, Any] = {"quantity": QUANTITY, "id": row["id"], "source": row["source"]}
    found |= {"source_url": row["source_url"], "conditions": _conditions(row)}
    try:
        llm = text.llm_of(row["model"])
        found |= {"llm": llm.slug, "family": llm.family}
    except text.UnreadError:
        found["llm"] = row["model"]
    for name, read in (("gpu", lambda words: text.gpu_of(words).slug), ("engine", text.engine_of)):
        try:
            found[name] = read(row[name])
        except text.UnreadError:
            found[name] = ""
    return found


def _conditions(row: Published) -> str:
    lengths = f"{row['isl']} in, {row['osl']} out" if row["isl"] or row["osl"] else ""
    load = row["concurrency_or_batch"]
    parts = (row["model"], row["gpu"], row["parallelism"], row["mode"], lengths, load and f"load {load}")
    return ", ".join(part for part in parts if part)

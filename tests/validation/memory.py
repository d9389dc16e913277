"""Memory of a rank against what engines logged at start-up (kv_logs.csv): every row of the table, each quantity."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from planner import kinds
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.result import Result
from tests.validation.memory_specs import CONFIGURED_ASIDE, GIB, POOL_ASIDE, SPECS
from tests.validation.rows import VERDICT, Row, gives
from tests.validation.shipped import catalog

Log = Mapping[str, str]
_KV_DTYPES = {"fp8": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16"}
_DOES_NOT_START = {"kv063", "kv064", "kv065"}
MIXED = "kv022"
WHOLE_LOGS = {"kv001", "kv022"}
"""Logs whose rules cannot be compared, but whose terms can."""
_CONDITIONS = ("model", "gpu", "engine_version", "max_model_len")


@lru_cache(maxsize=1)
def logs() -> tuple[Log, ...]:
    with (catalog().folder / "measured" / "kv_logs.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def figure(log: Log, name: str) -> float | None:
    """A number of a row; one that is approximate or a range is none."""
    text = log[name].removesuffix("(default)").strip()
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else None


def spec_of(log: Log, **more: Any) -> dict[str, Any]:
    """The spec of a row: its columns, then what `SPECS` adds."""
    spec: dict[str, Any] = {"engine": log["engine"]}
    if re.match(r"v?\d", log["engine_version"]) and not log["engine_version"].startswith("20"):
        spec["engine_version"] = log["engine_version"]
    for field, column in (("tensor_parallel", "tp"), ("pipeline_parallel", "pp"), ("max_model_len", "max_model_len")):
        if (value := figure(log, column)) is not None:
            spec[field] = int(value)
    if (fraction := figure(log, "mem_fraction")) is not None:
        spec["memory_fraction"] = fraction
    if (total := figure(log, "gpu_total_gib")) is not None:
        spec["visible_memory_bytes"] = total * GIB
    if log["kv_dtype"] in _KV_DTYPES:
        spec["kv_dtype"] = _KV_DTYPES[log["kv_dtype"]]
    spec |= SPECS.get(log["id"], {}) | more
    return spec


def answer(log: Log, **more: Any) -> Result | str:
    """Our answer to a row, or why there is none."""
    kind = kinds.get("engine_instance")
    try:
        return kind.estimate(kind.spec.model_validate(spec_of(log, **more)), catalog())
    except (UnknownEntry, MissingFigure) as missing:
        return str(missing)


def row(log: Log, quantity: str, **more: Any) -> Row:
    spec = SPECS.get(log["id"], {})
    try:
        llm = catalog().llm(spec.get("llm", ""))
        slug, family = llm.slug, llm.family
    except UnknownEntry:
        slug, family = spec.get("llm", ""), ""
    return Row(
        quantity=quantity,
        source=log["source"],
        source_url=log["source_url"],
        gpu=spec.get("gpu", ""),
        engine=log["engine"],
        llm=slug,
        family=family,
        conditions=", ".join(filter(None, (log[name] for name in _CONDITIONS))),
        **{"id": log["id"], **more},
    )


def compared(
    log: Log,
    quantity: str,
    *,
    found: Result | str,
    metric: str,
    measured: float,
    unit: str,
    row_id: str = "",
    decimals: int | None = None,
) -> Row:
    """A row whose figure is compared, in the digits of the log, or one that says why it cannot be."""
    given = {"id": row_id or log["id"], "measured": measured, "unit": unit}
    if isinstance(found, str):
        return row(log, quantity, **given, status="not expressible", reason=found)
    made = found.metrics[metric]
    scale = GIB if unit == "GiB" else 1
    value = (made.value or 0.0) / scale
    low, high = (None if end is None else end / scale for end in (made.low, made.high))
    return row(
        log, quantity, **given, predicted=value if decimals is None else round(value, decimals), low=low, high=high
    )


def aside(log: Log, quantity: str, reason: str) -> Row:
    return row(log, quantity, status="set aside", reason=reason)


@gives("memory_weights")
def weights() -> Iterator[Row]:
    """Weights of a rank against “Model loading took” and its like."""
    for log in logs():
        measured = figure(log, "weights_gib")
        if measured is None:
            yield aside(log, "memory_weights", "the log has no line on weights")
            continue
        found = answer(log)
        yield compared(log, "memory_weights", found=found, metric="weights_bytes", measured=measured, unit="GiB")


@gives("memory_pool_rules")
def pool_rules() -> Iterator[Row]:
    """Tokens from the pool's bytes, and concurrency from its tokens: the engine's own arithmetic."""
    for log in logs():
        made = [*_tokens_of_pool(log), *_concurrency_of_tokens(log)]
        yield from made or [
            aside(log, "memory_pool_rules", "the log does not have two of pool, tokens and concurrency")
        ]


def _tokens(log: Log) -> float | None:
    return figure(log, "kv_tokens")


def _tokens_of_pool(log: Log) -> Iterator[Row]:
    size, tokens = figure(log, "kv_gib"), _tokens(log)
    if size is None or tokens is None or size <= 0:
        return
    name = f"{log['id']}-tokens"
    if log["id"] in POOL_ASIDE and log["id"] != MIXED:
        yield row(log, "memory_pool_rules", id=name, status="set aside", reason=POOL_ASIDE[log["id"]])
        return
    found = answer(log, measured_kv_pool_bytes=size * GIB)
    yield compared(
        log, "memory_pool_rules", found=found, metric="kv_pool_tokens", measured=tokens, unit="tokens", row_id=name
    )


def _concurrency_of_tokens(log: Log) -> Iterator[Row]:
    concurrency, tokens = figure(log, "max_concurrency"), _tokens(log)
    if concurrency is None or tokens is None:
        return
    name = f"{log['id']}-concurrency"
    if log["id"] == MIXED:
        yield row(log, "memory_pool_rules", id=name, status="set aside", reason=POOL_ASIDE[MIXED])
        return
    found = answer(log, measured_kv_tokens=int(tokens))
    yield compared(
        log,
        "memory_pool_rules",
        found=found,
        metric="max_concurrency",
        measured=concurrency,
        unit="requests",
        row_id=name,
        decimals=len(log["max_concurrency"].partition(".")[2]),
    )


@gives("memory_kv_tokens_configured")
def configured() -> Iterator[Row]:
    """Tokens of the pool from the configuration alone."""
    quantity = "memory_kv_tokens_configured"
    for log in logs():
        tokens = _tokens(log)
        if log["id"] in CONFIGURED_ASIDE:
            yield aside(log, quantity, CONFIGURED_ASIDE[log["id"]])
        elif tokens is None:
            yield aside(log, quantity, "the log does not name the tokens of the pool")
        else:
            found = answer(log)
            yield compared(log, quantity, found=found, metric="kv_pool_tokens", measured=tokens, unit="tokens")


@gives("memory_kv_tokens_from_log")
def from_log() -> Iterator[Row]:
    """Tokens of the pool given one line of the start-up."""
    quantity = "memory_kv_tokens_from_log"
    for log in logs():
        tokens, line = _tokens(log), one_line(log)
        if tokens is None or line is None:
            yield aside(log, quantity, "the log has no line on the pool, on all but the pool, or on free memory")
            continue
        if log["id"] in POOL_ASIDE and log["id"] not in WHOLE_LOGS:
            yield aside(log, quantity, POOL_ASIDE[log["id"]])
            continue
        found = answer(log, **line)
        yield compared(log, quantity, found=found, metric="kv_pool_tokens", measured=tokens, unit="tokens")


def one_line(log: Log) -> dict[str, float] | None:
    """One measured figure of a row: all but the pool, what was free before loading, or the pool itself."""
    parts = [figure(log, name) for name in ("weights_gib", "activation_peak_gib", "non_torch_gib")]
    known = [part for part in parts if part is not None]
    if len(known) == len(parts) and figure(log, "mem_fraction") is not None:
        return {"measured_non_kv_bytes": sum(known) * GIB}
    begin = re.search(r"begin (\d+\.\d+)", log["log_fields_verbatim"])
    if begin and figure(log, "mem_fraction") is not None:
        return {"measured_free_before_load_bytes": float(begin[1]) * GIB}
    size = figure(log, "kv_gib")
    return None if size is None or size <= 0 else {"measured_kv_pool_bytes": size * GIB}


@gives("memory_fit")
def fit() -> Iterator[Row]:
    """Whether the engine starts; a verdict inside its range may stay open."""
    for log in logs():
        measured = 1.0 if _starts(log) else 0.0
        if log["id"] in CONFIGURED_ASIDE:
            yield aside(log, "memory_fit", CONFIGURED_ASIDE[log["id"]])
            continue
        found = answer(log)
        if isinstance(found, str):
            yield row(log, "memory_fit", measured=measured, unit=VERDICT, status="not expressible", reason=found)
            continue
        verdict = found.metrics["fits"]
        is_open = verdict.low is not None and verdict.low != verdict.high
        yield row(
            log,
            "memory_fit",
            predicted=0.5 if is_open else verdict.value,
            low=verdict.low if is_open else None,
            high=verdict.high if is_open else None,
            measured=measured,
            unit=VERDICT,
        )


def _starts(log: Log) -> bool:
    """What the log says; vLLM refuses to start with fewer tokens than one request of the longest length."""
    tokens, longest = _tokens(log), figure(log, "max_model_len")
    short = log["engine"] == "vllm" and tokens is not None and longest is not None and tokens < longest
    return log["id"] not in _DOES_NOT_START and not short

"""How sure the memory is: verdicts inside a range, what a start-up log settled, where it speaks against the spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planner.core.catalog import MissingFigure
from planner.core.quantities import show
from planner.core.result import Finding
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import ignored
from planner.kinds.engine_instance.measured import Calibration
from planner.kinds.engine_instance.plan import Plan

_WORDS = {
    "visible": "visible memory",
    "weights": "weights",
    "activation": "activations",
    "non_torch": "buffers",
    "graph": "graphs",
    "kv_pool": "KV pool",
    "non_kv": "all but the KV pool",
    "free_before": "free before loading",
    "free_after": "free after loading",
    "peak": "peak of the trial run",
}
_COUNTS = {"blocks": "blocks", "tokens": "tokens", "concurrency": "longest requests at once"}
_LINES = {
    "vllm": "“Available KV cache memory”",
    "sglang": "“Load weight begin. avail mem”",
    "tensorrt_llm": "“Allocated … for max tokens in paged KV cache”",
}


def findings(plan: Plan, fitted: fits.Fit, bounds: fits.Bounds, known: Calibration | None) -> Iterator[Finding]:
    """Findings about the range of the memory and about a log."""
    if bounds.too_close and fits.is_of_memory(fitted):
        yield _too_close(plan, fitted)
    stored = plan.spec.checkpoint_dtype
    if stored and stored != plan.weight_dtype and fitted.load_peak > fitted.tight.terms.weights and fitted.starts:
        yield _load_peak(plan, fitted)
    yield from ignored.findings(plan)
    if known is None:
        return
    # What was free before loading is of no use to an engine that takes its fraction of all memory.
    unused = () if plan.takes_free_memory else ("free_before",)
    figures = {name: size for name, size in known.figures.items() if name not in unused}
    if figures:
        yield _taken(plan, replace(known, figures=figures))
    for name, mine, theirs in known.against:
        yield _against(plan, name, mine, theirs)
    for sentence in known.disagreements:
        yield Finding(
            code="log_disagrees",
            severity="warning",
            message=f"The start-up log does not fit the spec: {sentence}.",
            metric="kv_pool_tokens",
        )


def missing(problem: MissingFigure | None) -> Iterator[Finding]:
    """A figure that the catalog does not have keeps latency from being known, not memory."""
    if problem is None:
        return
    words = str(problem)
    yield Finding(
        code="missing_figure",
        severity="warning",
        message=f"{words[0].upper()}{words[1:]}, so latency, throughput and price a token are not known.",
        metric="tpot_mean_s",
    )


def _too_close(plan: Plan, fitted: fits.Fit) -> Finding:
    terms = fitted.tight.terms
    low, high = max(terms.pool_low, 0.0), max(terms.pool_high, 0.0)
    needed = (
        f"one request of {plan.max_model_len:,} tokens" if plan.spec.engine == "vllm" else "one request of any length"
    )
    verdict = "it starts" if fitted.starts else "it does not start"
    return Finding(
        code="too_close_to_call",
        severity="warning",
        message=(
            f"Whether it starts is too close to call: the KV pool is {show(low, 'bytes')} to {show(high, 'bytes')} a "
            f"GPU, and {needed} fits only at the upper end. Taken at its most likely size {verdict}. "
            f"{_LINES[plan.spec.engine]} of a start-up of this engine decides."
        ),
        metric="fits",
    )


def _load_peak(plan: Plan, fitted: fits.Fit) -> Finding:
    stored = (plan.spec.checkpoint_dtype or plan.weight_dtype).upper()
    return Finding(
        code="load_peak",
        severity="info",
        message=(
            f"While {stored} files are converted to {plan.weight_dtype.upper()}, a GPU holds up to "
            f"{show(fitted.load_peak, 'bytes')}, {show(fitted.load_peak - fitted.tight.terms.weights, 'bytes')} more "
            "than afterwards."
        ),
        metric="load_peak_bytes",
    )


def _taken(plan: Plan, known: Calibration) -> Finding:
    sizes = [
        f"{words} {show(known.figures[name], 'bytes', shown='GiB')}"
        for name, words in _WORDS.items()
        if name in known.figures
    ]
    counts = [f"{known.figures[name]:,.10g} {words}" for name, words in _COUNTS.items() if name in known.figures]
    filled = [f"{plan.spec.label_of(name)} {_said(value)}" for name, value in known.filled.items()]
    follow = f" Fields left blank follow it: {', '.join(filled)}." if filled else ""
    unsaid = (
        "" if _knows_fraction(plan, known) else " It does not say its memory fraction; the one of the spec is taken."
    )
    return Finding(
        code="calibrated_by_log",
        severity="info",
        message=f"Memory is calibrated by a start-up: {', '.join((*sizes, *counts))}.{follow}{unsaid}",
        metric="kv_pool_bytes",
    )


def _knows_fraction(plan: Plan, known: Calibration) -> bool:
    named = plan.spec.measured_memory_fraction is not None or "memory_fraction" in known.filled
    return (
        named or any(name == "memory_fraction" for name, _mine, _theirs in known.against) or "non_kv" in known.figures
    )


def _against(plan: Plan, name: str, mine: Any, theirs: Any) -> Finding:
    label = plan.spec.label_of(name)
    given = "blank" if mine is None else _said(mine)
    return Finding(
        code="log_of_other_settings",
        severity="info",
        message=(
            f"The log was taken with {label} {_said(theirs)}, the spec has {given}: what was measured is carried over."
        ),
        metric="kv_pool_bytes",
        suggestion=f"Take {label} from the log.",
        change={name: theirs},
    )


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)

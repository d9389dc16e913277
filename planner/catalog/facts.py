"""What a page says of a trace without drawing its requests: rate, lengths, arrivals over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.catalog.importers.traces import Trace

FACTS_VERSION = 2
"""Raise it when the facts below change: shipped traces are read again on the next load."""
MINUTE_S = 60.0
MOST_BINS = 1440


def trace_facts(trace: Trace) -> dict[str, Any]:
    """Facts of a trace, ready for JSON.

    The means carry the names that specs use (``rate_rps``, ``peak_rps``, ``input_tokens``, ``output_tokens``,
    ``prefix_hit_rate``, ``input_sigma``, ``output_sigma``), so that a trace can fill a form like a profile does.
    """
    requests = len(trace.arrival_s)
    duration_s = float(trace.arrival_s[-1])
    rate_rps = requests / duration_s if duration_s > 0 else None
    facts: dict[str, Any] = {
        "requests": requests,
        "duration_s": duration_s,
        "rate_rps": rate_rps,
        "peak_rps": max(_busiest_minute(trace.arrival_s) / MINUTE_S, rate_rps or 0.0),
        "input_tokens": float(trace.input_tokens.mean()),
        "output_tokens": float(trace.output_tokens.mean()),
        "input_sigma": _spread(trace.input_tokens),
        "output_sigma": _spread(trace.output_tokens),
        "lengths": {"input_tokens": _lengths(trace.input_tokens), "output_tokens": _lengths(trace.output_tokens)},
        "arrivals": arrivals(trace.arrival_s),
        **trace.notices,
    }
    if trace.cached_tokens is not None:
        facts["prefix_hit_rate"] = float(trace.cached_tokens.sum() / trace.input_tokens.sum())
    return facts


def arrivals(arrival_s: NDArray[np.float64]) -> dict[str, Any]:
    """Requests a minute, or in as many whole minutes as keep the list within a day's length."""
    width_s = MINUTE_S * (1 + math.floor(float(arrival_s[-1]) / MINUTE_S / MOST_BINS))
    counts = np.bincount((arrival_s / width_s).astype(np.int64))
    return {"bin_s": width_s, "requests": [int(count) for count in counts]}


def _busiest_minute(arrival_s: NDArray[np.float64]) -> int:
    minutes = (arrival_s / MINUTE_S).astype(np.int64)
    return int(np.unique(minutes, return_counts=True)[1].max())


def _lengths(tokens: NDArray[np.int64]) -> dict[str, float]:
    p50, p90, p99 = (float(value) for value in np.percentile(tokens, (50, 90, 99)))
    return {"mean": float(tokens.mean()), "p50": p50, "p90": p90, "p99": p99, "max": float(tokens.max())}


def _spread(tokens: NDArray[np.int64]) -> float:
    """Standard deviation of the logarithm: the σ of a log-normal with these lengths."""
    return float(np.log(tokens).std())

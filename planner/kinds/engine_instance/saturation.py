"""Ranges of latency under arrivals at a rate: near saturation a small error of the times moves the waits much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from planner.formulas import overload, serving
from planner.kinds.engine_instance import load

_WAITS = {"ttft_mean_s": 0.5, "ttft_p50_s": 0.5, "ttft_p90_s": 0.9, "ttft_p99_s": 0.99}
"""Share of the requests whose wait counts: that of half of them is also the mean where it grows evenly."""
_GAPS = ("tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s", "itl_p99_s")
_HELD = ("concurrency", "running_requests")


@dataclass(frozen=True, slots=True)
class Ends:
    """Latencies with all times a factor shorter and longer, by metric name. ``overloaded``: then it cannot keep up."""

    quick: dict[str, float | None]
    slow: dict[str, float | None]
    overloaded: bool


def ends(ready: load.Operation, *, rate_rps: float, width: float) -> Ends:
    """Both ends of the range of an operating point under arrivals at a rate."""
    quick, slow = _scaled(ready, rate_rps=rate_rps, factor=1 / width), _scaled(ready, rate_rps=rate_rps, factor=width)
    return Ends(
        quick={} if quick is None else _figures(ready, quick),
        slow=_overloaded(ready, rate_rps=rate_rps, factor=width) if slow is None else _figures(ready, slow),
        overloaded=slow is None,
    )


def _scaled(ready: load.Operation, *, rate_rps: float, factor: float) -> serving.Point | None:
    """With all times longer by the factor, a rate is met as so many times the rate without it."""
    point = ready.at_rate(rate_rps * factor)
    if point is None:
        return None
    longer = point.leaning(tpot=factor, ttft=factor)
    return replace(longer, concurrency=rate_rps * longer.e2e_s).settled(limit=inf)


def _figures(ready: load.Operation, point: serving.Point) -> dict[str, float | None]:
    found = load.figures(ready.plan, point)
    return {name: found[name] for name in (*_WAITS, *_GAPS, "e2e_mean_s", *_HELD)}


def _overloaded(ready: load.Operation, *, rate_rps: float, factor: float) -> dict[str, float | None]:
    """All places taken, and the waits that an hour of this load leaves."""
    full = ready.at(ready.capacity).leaning(tpot=factor, ttft=factor)
    gaps = load.figures(ready.plan, full)
    served_s = full.base_s + full.prefill_s + full.first_step_s
    load_of_it = max(rate_rps * factor / ready.max_rate_rps, 1.0)
    waits = {
        name: served_s + overload.wait_quantile_s(share, utilisation=load_of_it, lasting_s=overload.PEAK_S)
        for name, share in _WAITS.items()
    }
    decode_s = full.e2e_s - full.ttft_s
    e2e_s = waits["ttft_mean_s"] + decode_s
    return {
        **waits,
        **{name: gaps[name] for name in _GAPS},
        "e2e_mean_s": e2e_s,
        "running_requests": ready.capacity,
        "concurrency": rate_rps * e2e_s,
    }

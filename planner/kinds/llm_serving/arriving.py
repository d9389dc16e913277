"""The requests of a run: drawn at a rate over time with the spec's lengths, or a trace replayed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.core.run_options import check_length
from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.llm_serving.arrival_options import DAY_S, USUAL_MEAN_TO_PEAK, ArrivalOptions
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.parts.arrivals import Drawn, Lengths, Table
    from sims.parts.rates import Rate
    from sims.parts.trace_plan import Plan
    from sims.parts.traces import Chains, Trace

DEFAULT_DURATION_S = 600.0
MAX_REQUESTS = 50_000_000


def rate_for(spec: LlmServingSpec, *, chosen: ArrivalOptions) -> Rate:
    """The rate of drawn arrivals over time [req/s]: of days the design's rate is the peak, else it is the mean."""
    from sims.parts.rates import Bursts, Daily, Spike, Steady, sine_day

    per_s = spec.peak_rps * chosen.rate_scale
    rate: Rate = Steady(per_s)
    if chosen.arrivals == "diurnal":
        shares = chosen.hours or sine_day(_mean_to_peak(spec, chosen=chosen), peak_h=chosen.peak_h)
        mean_to_peak = sum(shares) / len(shares) / max(shares)
        start_s = chosen.start_h / 24 * chosen.day_s
        rate = Daily(per_s * mean_to_peak, shares, day_s=chosen.day_s, start_s=start_s)
    elif chosen.arrivals == "bursty":
        rate = Bursts(per_s, chosen.burst_times, chosen.burst_s, chosen.calm_s)
    if chosen.spike_at_s is not None:
        rate = Spike(rate, chosen.spike_times, chosen.spike_at_s, chosen.spike_for_s)
    return rate


def _mean_to_peak(spec: LlmServingSpec, *, chosen: ArrivalOptions) -> float:
    if chosen.mean_to_peak is not None:
        return chosen.mean_to_peak
    return spec.mean_to_peak if spec.mean_to_peak < 1 else USUAL_MEAN_TO_PEAK


def usual_duration_s(chosen: ArrivalOptions) -> float:
    """How long a run of drawn arrivals is where nobody says: of a day its whole."""
    return chosen.day_s if chosen.arrivals == "diurnal" else DEFAULT_DURATION_S


def ends(spec: LlmServingSpec, *, request: SimulationRequest, chosen: ArrivalOptions) -> tuple[Rate, float | None]:
    """The rate of drawn arrivals, and when they end [s] if not by their number; raises ValueError for far too many."""
    from sims.parts.rates import expected_count

    rate, usual_s = rate_for(spec, chosen=chosen), usual_duration_s(chosen)
    duration_s = request.duration_s
    if duration_s is None and request.requests is None:
        duration_s = usual_s
    mean = rate.mean_per_s
    if duration_s is not None and 0 < duration_s < math.inf:
        mean = expected_count(rate, until_s=duration_s) / duration_s
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=mean, usual_s=usual_s)
    return rate, duration_s


def drawn_for(spec: LlmServingSpec, *, request: SimulationRequest, chosen: ArrivalOptions, lengths: Lengths) -> Drawn:
    """Drawn arrivals; raises ValueError when the run would be far too long."""
    from sims.parts.arrivals import Drawn

    rate, duration_s = ends(spec, request=request, chosen=chosen)
    return Drawn(
        rate,
        lengths,
        duration_s=duration_s,
        requests=request.requests,
        sample=None if request.workload is None else table_of(request.workload),
        gap_cv=chosen.gap_cv if chosen.arrivals == "gamma" else 1.0,
    )


def mean_rps(spec: LlmServingSpec, *, request: SimulationRequest, chosen: ArrivalOptions) -> float:
    """Mean rate of drawn arrivals over the run; raises ValueError when the run would be far too long."""
    from sims.parts.rates import expected_count, expected_moment_s

    rate, duration_s = ends(spec, request=request, chosen=chosen)
    end_s = math.inf if duration_s is None else duration_s
    if request.requests is not None:
        end_s = min(end_s, expected_moment_s(rate, count=request.requests))
    return expected_count(rate, until_s=end_s) / end_s if math.isfinite(end_s) else rate.mean_per_s


def lengths_for(spec: LlmServingSpec, *, spread_hits: bool, most_tokens: int) -> Lengths:
    """The spec's distributions of lengths."""
    from sims.parts.arrivals import Lengths

    return Lengths(
        input_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        input_sigma=spec.input_sigma,
        output_sigma=spec.output_sigma,
        prefix_hit_rate=spec.prefix_hit_rate,
        spread_hits=spread_hits,
        most_tokens=most_tokens,
    )


def arrive(spec: LlmServingSpec, *, request: SimulationRequest, chosen: ArrivalOptions) -> bool:
    """Whether any request arrives."""
    trace = request.workload
    if trace is not None and chosen.replays(has_trace=True):
        return plan_for(trace, request=request, chosen=chosen).count > 0
    if chosen.is_closed:
        return trace is None or trace.requests > 0
    return spec.peak_rps > 0 and (trace is None or trace.requests > 0)


def plan_for(workload: Workload, *, request: SimulationRequest, chosen: ArrivalOptions) -> Plan:
    """When each request of a trace comes; raises ValueError for a run that is far too long."""
    from sims.parts.trace_plan import plan_of

    plan = plan_of(table_of(workload).at_s, **_replay(request, chosen=chosen))
    if plan.count > MAX_REQUESTS:
        raise ValueError(f"options.repeat: {plan.count:,} requests would arrive; the most is {MAX_REQUESTS:,}")
    return plan


def _replay(request: SimulationRequest, *, chosen: ArrivalOptions) -> dict[str, Any]:
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=None, usual_s=DAY_S)
    return {
        "rate_scale": chosen.rate_scale,
        "duration_s": request.duration_s,
        "requests": request.requests,
        "start_s": chosen.trace_start_s,
        "warp_to_s": chosen.warp_to_s,
        "keep_rate": chosen.warp_to_s is not None and chosen.warp_keeps == "rate",
        "rounds": int(chosen.repeat),
    }


def replayed_for(
    spec: LlmServingSpec,
    *,
    request: SimulationRequest,
    workload: Workload,
    chosen: ArrivalOptions,
    spread_hits: bool = False,
    own_caches: bool = False,
) -> Trace:
    """The trace as it is replayed; raises ValueError when it is not fit for that, or far too long."""
    from sims.parts.traces import Trace

    plan_for(workload, request=request, chosen=chosen)
    return Trace(
        table_of(workload),
        **_replay(request, chosen=chosen),
        prefix_hit_rate=spec.prefix_hit_rate,
        spread_hits=spread_hits,
        chains=chains_of(workload) if own_caches else None,
    )


def chains_of(workload: Workload) -> Chains | None:
    """What the prompts of a trace share; nothing where it does not tell."""
    from sims.parts.paths import compress
    from sims.parts.traces import Chains

    blocks = workload.blocks
    if blocks is None:
        return None
    return Chains(compress(blocks.ids, offsets=blocks.offsets), blocks.tokens)


def table_of(workload: Workload) -> Table:
    """The columns of a trace; raises ValueError where they do not fit together."""
    from sims.parts.arrivals import Table

    at_s = np.asarray(workload.arrival_s, np.float64)
    prompt, answer = np.asarray(workload.input_tokens, np.int64), np.asarray(workload.output_tokens, np.int64)
    cached = None if workload.cached_tokens is None else np.asarray(workload.cached_tokens, np.int64)
    columns = [prompt, answer] + ([] if cached is None else [cached])
    if any(len(column) != len(at_s) for column in columns):
        raise ValueError(f"workload {workload.name}: its columns differ in length")
    if len(at_s) and not (np.isfinite(at_s).all() and (np.diff(at_s) >= 0).all()):
        raise ValueError(f"workload {workload.name}: its arrivals are not sorted")
    if any(column.min(initial=0) < 0 for column in columns):
        raise ValueError(f"workload {workload.name}: a length is negative")
    return Table(at_s=at_s, input=prompt, output=answer, cached=cached)

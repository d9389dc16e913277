"""The estimate of a run: the fleet that the design buys, under the load that the run brings.

Without it a trace of five requests a second would be held against the estimate of the five hundred the fleet was
sized for. The estimate and the simulation then answer one question, and their difference is queueing and chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.llm_serving import closed_loop, engine
from planner.kinds.llm_serving.arriving import mean_rps, plan_for
from planner.kinds.llm_serving.estimate import answer
from planner.kinds.llm_serving.fleet import Fleet, fleet_for
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.plan import plan
from planner.kinds.llm_serving.simulation_options import Options, check, options
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.parts.trace_plan import Plan

    Load = dict[str, Any]

LONGEST_SIGMA = 2.0


def expected(spec: LlmServingSpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """The estimate at the mean rate, lengths and hits of the run, on the fleet sized for the spec's own peak.

    Raises
    ------
    ValueError
        When an option is impossible; the message names it.
    """
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    facts = physics(spec, catalog=catalog)
    sized = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    engine.check_fleet(spec, facts=facts, fleet=sized, chosen=chosen)
    load = load_of(spec, request=request, chosen=chosen)
    if chosen.is_closed:
        load["peak_rps"] = closed_rps(spec, catalog, request, fleet=sized)
    return answer(plan(spec.model_copy(update=load), catalog=catalog, bought=sized), catalog=catalog)


def closed_rps(spec: LlmServingSpec, catalog: Catalog, request: SimulationRequest, *, fleet: Fleet) -> float:
    """What the clients of a closed loop reach [req/s] by the estimate; raises ValueError for a run far too long."""
    chosen = options(request.options)
    loaded = spec.model_copy(update=load_of(spec, request=request, chosen=chosen))
    rps = closed_loop.rate_rps(loaded, facts=physics(loaded, catalog=catalog), fleet=fleet, chosen=chosen)
    closed_loop.check(request, rps=rps)
    return rps


def load_of(spec: LlmServingSpec, *, request: SimulationRequest, chosen: Options) -> Load:
    """Fields of the spec that the run sets: its mean rate, and of a trace also lengths, spreads and hits.

    A rate that varies over the run is taken at its mean: what it does at its height is what the simulation is for, and
    the design's own estimate is of its peak.
    """
    trace = request.workload
    if chosen.is_closed:
        return {} if trace is None or not trace.requests else _in_turn(trace, requests=request.requests)
    if trace is None:
        return {"peak_rps": mean_rps(spec, request=request, chosen=chosen)}
    if not trace.requests:
        return {"peak_rps": 0.0}
    if not chosen.replays(has_trace=True):
        all_alike = _lengths(trace, times=np.ones(trace.requests, np.int64))
        return {**all_alike, "peak_rps": mean_rps(spec, request=request, chosen=chosen)}
    replay = plan_for(trace, request=request, chosen=chosen)
    if not replay.count:
        return {"peak_rps": 0.0}
    return {**_lengths(trace, times=replay.times), **_hits(trace, times=replay.times), "peak_rps": _rate(replay)}


def _in_turn(trace: Workload, *, requests: int | None) -> Load:
    """What clients bring that send the requests of a trace in its order, again and again; all alike without an end."""
    times = np.ones(trace.requests, np.int64)
    if requests is not None:
        rounds, rest = divmod(requests, trace.requests)
        times = rounds + (np.arange(trace.requests) < rest)
    return {**_lengths(trace, times=times), **_hits(trace, times=times)}


def _hits(trace: Workload, *, times: NDArray[np.int64]) -> Load:
    """The share of the input that a trace says is found in a cache, if it does."""
    prompts = trace.input_tokens
    if trace.cached_tokens is None or not prompts @ times:
        return {}
    return {"prefix_hit_rate": float(trace.cached_tokens @ times / (prompts @ times))}


def _rate(replay: Plan) -> float:
    """Mean rate [req/s] between the first and the last arrival."""
    first_s, last_s = replay.at_s(np.array([0, replay.count - 1]))
    return float((replay.count - 1) / (last_s - first_s)) if last_s > first_s else 0.0


def _lengths(trace: Workload, *, times: NDArray[np.int64]) -> Load:
    """Means and spreads of the requests that come, each as often as it comes."""
    return {
        "input_tokens": float(np.average(trace.input_tokens, weights=times)),
        "output_tokens": float(np.average(trace.output_tokens, weights=times)),
        "input_sigma": _sigma(trace.input_tokens, times=times),
        "output_sigma": _sigma(trace.output_tokens, times=times),
    }


def _sigma(tokens: NDArray[np.int64], *, times: NDArray[np.int64]) -> float:
    """Spread of the log-normal with the same squared coefficient of variation: sqrt(ln(1 + c²))."""
    mean = float(np.average(tokens, weights=times))
    if mean <= 0:
        return 0.0
    variance = float(np.average((tokens - mean) ** 2, weights=times))
    return min(math.sqrt(math.log1p(variance / mean**2)), LONGEST_SIGMA)

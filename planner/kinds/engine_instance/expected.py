"""The estimate of a run: the replica under the load that the run brings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.engine_instance.estimate import estimate
from planner.kinds.engine_instance.simulation_options import Options, check, options
from planner.kinds.engine_instance.spec import EngineInstanceSpec

_SHORTEST_TOKENS = 1.0


def expected(spec: EngineInstanceSpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """The estimate at the load of the run; raises ValueError that names an option that is impossible."""
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    return estimate(loaded(spec, request=request, chosen=chosen), catalog)


def loaded(spec: EngineInstanceSpec, *, request: SimulationRequest, chosen: Options) -> EngineInstanceSpec:
    """The spec with the load of the run: its rate, and of a trace also lengths and hits."""
    way, trace = chosen.way(spec, request), request.workload
    found: dict[str, Any] = {}
    if way == "poisson" and spec.rate_rps is not None:
        found = {"rate_rps": spec.rate_rps * chosen.rate_scale}
    elif way == "trace" and trace is not None:
        found = _of_trace(trace, part=replayed(trace, request=request, rate_scale=chosen.rate_scale), chosen=chosen)
    if chosen.prefix_cache == "off":
        found |= {"prefix_hit_rate": 0.0}
    return spec.model_copy(update=found)


def _of_trace(trace: Workload, *, part: slice, chosen: Options) -> dict[str, Any]:
    prompts, answers = trace.input_tokens[part], trace.output_tokens[part]
    if not len(prompts):
        return {"rate_rps": 0.0, "concurrency": None}
    span_s = _span_s(trace.arrival_s[part])
    found: dict[str, Any] = {
        "rate_rps": (len(prompts) - 1) / span_s * chosen.rate_scale if span_s > 0 else None,
        # Requests that all come at once are so many clients.
        "concurrency": None if span_s > 0 else float(len(prompts)),
        "input_tokens": max(float(prompts.mean()), _SHORTEST_TOKENS),
        "output_tokens": max(float(answers.mean()), _SHORTEST_TOKENS),
    }
    if trace.cached_tokens is not None and chosen.prefix_cache != "share" and prompts.sum():
        found["prefix_hit_rate"] = float(trace.cached_tokens[part].sum() / prompts.sum())
    return found


def replayed(trace: Workload, *, request: SimulationRequest, rate_scale: float) -> slice:
    """The requests of the trace that the run reaches."""
    last = trace.requests
    if request.duration_s is not None and last:
        end_s = trace.arrival_s[0] + request.duration_s * rate_scale
        last = int(np.searchsorted(trace.arrival_s, end_s, side="right"))
    return slice(0, last if request.requests is None else min(last, request.requests))


def _span_s(arrival_s: NDArray[np.float64]) -> float:
    return float(arrival_s[-1] - arrival_s[0])

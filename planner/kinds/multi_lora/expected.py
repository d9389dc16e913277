"""The estimate of a run: the replicas of the design under the load that the run brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload
from planner.kinds.multi_lora.asked import read, trace_of
from planner.kinds.multi_lora.estimate import answer
from planner.kinds.multi_lora.plan import Plan, plan, planned
from planner.kinds.multi_lora.simulation_options import Options, check, options
from planner.kinds.multi_lora.spec import MultiLoraSpec


def expected(spec: MultiLoraSpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """The estimate at the rate of the run, on the replicas that were sized for the design's own.

    Raises
    ------
    ValueError
        When an option is impossible; the message names it.
    """
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    return answer(planned_for(spec, catalog=catalog, request=request, chosen=chosen))


def planned_for(spec: MultiLoraSpec, *, catalog: Catalog, request: SimulationRequest, chosen: Options) -> Plan:
    """The design worked out at the load of the run; of a trace its lengths, and its adapters if it names some."""
    change: dict[str, Any] = {"replicas": plan(spec, catalog=catalog).fleet.replicas}
    change["requests_per_s"] = spec.requests_per_s * chosen.rate_scale
    trace = trace_of(spec, catalog=catalog)
    if request.workload is not None and chosen.replays(request):
        given = request.workload
        change["requests_per_s"] = rate_of(given, request=request, chosen=chosen)
        if given.adapters is not None:
            trace = read(given)
        else:
            trace = None
            change |= _lengths(given) | {"popularity": "zipf"}
    return planned(spec.model_copy(update=change), catalog=catalog, trace=trace)


def _lengths(workload: Workload) -> dict[str, float]:
    if not workload.requests:
        return {}
    return {
        "input_tokens": max(float(workload.input_tokens.mean()), 1.0),
        "output_tokens": max(float(workload.output_tokens.mean()), 1.0),
    }


def rate_of(workload: Workload, *, request: SimulationRequest, chosen: Options) -> float:
    """Requests a second of the part that the run comes to."""
    last = workload.requests
    if request.duration_s is not None and last:
        until_s = float(workload.arrival_s[0]) + request.duration_s * chosen.rate_scale
        last = int(np.searchsorted(workload.arrival_s, until_s, side="right"))
    if request.requests is not None:
        last = min(last, request.requests)
    span_s = float(workload.arrival_s[last - 1] - workload.arrival_s[0]) / chosen.rate_scale if last > 1 else 0.0
    return (last - 1) / span_s if span_s > 0 else 0.0

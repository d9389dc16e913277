"""The estimate of a run: the gateway and the instances of the design, under the load that the run brings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest
from planner.kinds.gateway.estimate import answer
from planner.kinds.gateway.plan import plan
from planner.kinds.gateway.simulated_system import reached
from planner.kinds.gateway.simulation_options import Options, check, options
from planner.kinds.gateway.spec import GatewaySpec


def expected(spec: GatewaySpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """The estimate at the rate of the run, with the replicas that were bought for the design's own peak.

    Raises
    ------
    ValueError
        When an option is impossible; the message names it.
    """
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    made = answer(plan(loaded(spec, request=request, chosen=chosen)), catalog=catalog)
    shares = request.workload is not None and request.workload.blocks is not None and chosen.replays(request)
    return _without_hits(made) if shares else made


def _without_hits(made: Result) -> Result:
    """Prompts of a trace share what only its replay finds: the estimate has no figure for it, rather than a zero."""
    metrics = {
        name: replace(metric, value=None) if name.startswith("hit_share") else metric
        for name, metric in made.metrics.items()
    }
    policies = made.series["policies"]
    columns = tuple(
        replace(column, values=[None] * len(column.values)) if "hit_share" in column.name else column
        for column in policies.columns
    )
    series = {**made.series, "policies": replace(policies, columns=columns)}
    return replace(made, metrics=metrics, series=series)


def loaded(spec: GatewaySpec, *, request: SimulationRequest, chosen: Options) -> GatewaySpec:
    """The spec at the load of the run; of a trace the lengths, and nothing of what its prompts share."""
    change: dict[str, Any] = {"gateway_replicas": max(plan(spec).sizing.replicas, 1)}
    change["peak_rps"] = spec.peak_rps * chosen.rate_scale
    trace = request.workload
    if trace is not None and chosen.replays(request):
        last = reached(trace, request=request, chosen=chosen)
        span_s = float(trace.arrival_s[last - 1] - trace.arrival_s[0]) / chosen.rate_scale if last > 1 else 0.0
        change |= {
            "peak_rps": (last - 1) / span_s if span_s > 0 else 0.0,
            "input_tokens": max(float(trace.input_tokens[:last].mean()), 1.0) if last else spec.input_tokens,
            "output_tokens": float(trace.output_tokens[:last].mean()) if last else spec.output_tokens,
            "prefix_groups": 0,
            "prefix_tokens": 0.0,
            "turns": 1.0,
        }
    return spec.model_copy(update=change)

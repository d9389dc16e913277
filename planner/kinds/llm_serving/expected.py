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
from planner.kinds.llm_serving.estimate import answer
from planner.kinds.llm_serving.fleet import fleet_for
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.plan import plan
from planner.kinds.llm_serving.simulation_options import Options, check, options
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
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
    sized = fleet_for(spec, physics=physics(spec, catalog=catalog), rps=spec.peak_rps)
    loaded = spec.model_copy(update=load_of(spec, request=request, chosen=chosen))
    return answer(plan(loaded, catalog=catalog, bought=sized), catalog=catalog)


def load_of(spec: LlmServingSpec, *, request: SimulationRequest, chosen: Options) -> Load:
    """Fields of the spec that the run sets: its rate, and of a trace also lengths, spreads and hits."""
    trace = request.workload
    poisson_rps = spec.peak_rps * chosen.rate_scale
    if trace is None:
        return {"peak_rps": poisson_rps}
    replayed = chosen.arrivals != "poisson"
    part = _replayed(trace, request=request, rate_scale=chosen.rate_scale) if replayed else slice(None)
    prompts, answers = trace.input_tokens[part], trace.output_tokens[part]
    if not len(prompts):
        return {"peak_rps": 0.0}
    load: Load = {
        "peak_rps": _rate(trace.arrival_s[part]) * chosen.rate_scale if replayed else poisson_rps,
        "input_tokens": float(prompts.mean()),
        "output_tokens": float(answers.mean()),
        "input_sigma": _sigma(prompts),
        "output_sigma": _sigma(answers),
    }
    if trace.cached_tokens is not None and replayed and prompts.sum():
        load["prefix_hit_rate"] = float(trace.cached_tokens[part].sum() / prompts.sum())
    return load


def _replayed(trace: Workload, *, request: SimulationRequest, rate_scale: float) -> slice:
    """The requests of the trace that the run reaches."""
    last = trace.requests
    if request.duration_s is not None:
        last = int(np.searchsorted(trace.arrival_s, request.duration_s * rate_scale, side="right"))
    if request.requests is not None:
        last = min(last, request.requests)
    return slice(0, last)


def _rate(arrival_s: NDArray[np.float64]) -> float:
    """Mean rate [req/s] between the first and the last arrival."""
    span_s = float(arrival_s[-1] - arrival_s[0]) if len(arrival_s) else 0.0
    return (len(arrival_s) - 1) / span_s if span_s > 0 else 0.0


def _sigma(tokens: NDArray[np.int64]) -> float:
    """Spread of the log-normal with the same squared coefficient of variation: sqrt(ln(1 + c²))."""
    mean = float(tokens.mean())
    if mean <= 0:
        return 0.0
    return min(math.sqrt(math.log1p(float(tokens.var()) / mean**2)), LONGEST_SIGMA)

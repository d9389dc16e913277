"""The simulation of this kind: the estimator's physics as step-time coefficients, run through ``sims``.

Estimate and simulation read the same `Physics`; what differs is queueing, batching and chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Finding, Result
from planner.core.run_options import check_seed
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator, Workload
from planner.kinds.llm_serving import closed_loop, engine, simulated
from planner.kinds.llm_serving.arriving import (
    DEFAULT_DURATION_S,
    MAX_REQUESTS,
    arrive,
    drawn_for,
    lengths_for,
    replayed_for,
)
from planner.kinds.llm_serving.controlled import control_for, recovery_for
from planner.kinds.llm_serving.drills import DRILLS
from planner.kinds.llm_serving.expected import closed_rps, expected
from planner.kinds.llm_serving.fleet import Fleet, fleet_for
from planner.kinds.llm_serving.physics import Physics, own_cache_tokens, physics
from planner.kinds.llm_serving.simulation_charts import charts
from planner.kinds.llm_serving.simulation_options import OPTIONS, OWN_CACHES, Options, check, options
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.parts.arrivals import Arrivals
    from sims.systems.llm_serving import Config, Outcome

BUDGET_S = 3600.0


def config_for(
    spec: LlmServingSpec,
    *,
    facts: Physics,
    decode_gpu_nic_bytes_per_s: float | None,
    fleet: Fleet,
    chosen: Options,
) -> Config:
    """The estimator's numbers as the simulator wants them: per unit, per sequence and per token."""
    from sims.systems.llm_serving import Config

    egress_s = ingress_s = 0.0
    if facts.nic_bytes_per_s is not None:
        rank_gpus = facts.prefill_unit_gpus / facts.prefill_lanes
        egress_s = facts.kv_bytes_per_token / (facts.nic_bytes_per_s * rank_gpus)
        if decode_gpu_nic_bytes_per_s:
            ingress_s = facts.kv_bytes_per_token / (
                decode_gpu_nic_bytes_per_s * facts.decode_unit_gpus / facts.decode_lanes
            )
    config = Config(
        **engine.numbers(facts, chosen=chosen),
        aggregated=spec.is_aggregated,
        prefill_units=0 if spec.is_aggregated else fleet.prefill.units,
        decode_units=fleet.decode.units,
        egress_s_per_token=egress_s,
        ingress_s_per_token=ingress_s,
        hand_over_s=facts.handover_fixed_s,
        gateway_s=facts.gateway_s,
        router=chosen.router,
        prefix_cache_tokens=int(own_cache_tokens(spec, facts=facts)) if chosen.prefix_hits == OWN_CACHES else 0,
        recovery=recovery_for(chosen, facts=facts),
        ttft_slo_s=spec.ttft_p99_slo_s,
        tpot_slo_s=spec.tpot_slo_s,
    )
    return engine.with_odd_units(config, chosen=chosen)


def arrivals_for(
    spec: LlmServingSpec, *, request: SimulationRequest, chosen: Options, most_tokens: int, rps: float = 0.0
) -> Arrivals:
    """The source of requests that was asked for; raises ValueError when it is impossible or far too long.

    ``rps`` is what the clients of a closed loop are expected to reach.
    """
    check(spec, request=request, chosen=chosen)
    spread = chosen.prefix_hits == "spread"
    trace = request.workload
    if trace is not None and chosen.replays(has_trace=True):
        own = chosen.prefix_hits == OWN_CACHES
        return replayed_for(spec, request=request, workload=trace, chosen=chosen, spread_hits=spread, own_caches=own)
    lengths = lengths_for(spec, spread_hits=spread, most_tokens=most_tokens)
    if chosen.is_closed:
        return closed_loop.loop_for(spec, request=request, chosen=chosen, lengths=lengths, rps=rps)
    return drawn_for(spec, request=request, chosen=chosen, lengths=lengths)


def residence_s(spec: LlmServingSpec, *, facts: Physics, workload: Workload | None) -> float:
    """About how long a request stays: its answer at the TPOT objective, or at the design's step if that is longer."""
    answer = spec.output_tokens
    if workload is not None and workload.requests:
        answer = float(np.mean(workload.output_tokens))
    return spec.gateway_s + answer * max(spec.tpot_slo_s, facts.decode_fixed_s)


def this_run(spec: LlmServingSpec, catalog: Catalog, request: SimulationRequest) -> simulated.Run:
    """What is to be simulated: the fleet that the estimate sizes for this spec."""
    facts = physics(spec, catalog=catalog)
    fleet = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    chosen = options(request.options)
    engine.check_fleet(spec, facts=facts, fleet=fleet, chosen=chosen)
    return simulated.Run(
        spec=spec,
        facts=facts,
        fleet=fleet,
        request=request,
        chosen=chosen,
        closed_rps=closed_rps(spec, catalog, request, fleet=fleet) if chosen.is_closed else None,
        catalog_digest=catalog.digest,
        stay_s=residence_s(spec, facts=facts, workload=request.workload),
    )


def why_not(this: simulated.Run) -> Finding | None:
    """Why there is nothing to simulate, if there is not."""
    return simulated.nothing_to_run(this, arriving=arrive(this.spec, request=this.request, chosen=this.chosen))


def observe(spec: LlmServingSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Mapping[str, Outcome]:
    """Simulate the fleet once.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    """
    chosen = options(request.options)
    check_seed(request)
    this = this_run(spec, catalog, request)
    if why_not(this):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    from sims.engine import hooks as engine_hooks
    from sims.systems.llm_serving import simulate, warm_up_s

    facts, fleet = this.facts, this.fleet
    decode_gpu = catalog.gpu(spec.decode_gpu or spec.gpu)
    nic = decode_gpu.figure("nic_bytes_per_s") * spec.nic_efficiency if decode_gpu.has("nic_bytes_per_s") else None
    most_tokens = int(catalog.llm(spec.llm).max_context_tokens)
    rps = this.closed_rps or 0.0
    arrivals = arrivals_for(spec, request=request, chosen=chosen, most_tokens=most_tokens, rps=rps)
    horizon_s = arrivals.horizon_s
    usual_s = warm_up_s(horizon_s=horizon_s, residence_s=this.stay_s)
    warmup_s = usual_s if chosen.warmup_s is None else chosen.warmup_s
    if warmup_s >= horizon_s:
        raise ValueError(f"options.warmup_s: {warmup_s:g} s leave nothing of a run of {horizon_s:g} s")
    try:
        outcome = simulate(
            config_for(spec, facts=facts, decode_gpu_nic_bytes_per_s=nic, fleet=fleet, chosen=chosen),
            arrivals=arrivals,
            seed=request.seed,
            warmup_s=warmup_s,
            control=control_for(spec, chosen=chosen, facts=facts, fleet=fleet, horizon_s=horizon_s),
            hooks=hooks,
            budget_s=BUDGET_S,
        )
    except engine_hooks.Cancelled:
        raise Cancelled from None
    return {spec.llm: outcome}


def conclude(
    spec: LlmServingSpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]
) -> Result:
    """What the run shows, or why there was none."""
    this = this_run(spec, catalog, request)
    if reason := why_not(this):
        return simulated.empty(this, finding=reason)
    if this.chosen.odd_units:
        this = replace(this, alike_tpot_p99_s=expected(spec, catalog, request).value("tpot_p99_s"))
    return simulated.result(this, outcome=next(iter(observed.values())))


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.llm_serving import Outcome

    return Outcome


def warm() -> None:
    """Compile or load the kernels, so that the first run starts at once."""
    import sims.systems.llm_serving  # noqa: F401 - registers its kernels
    from sims.engine import kernel

    kernel.warm()


TRIAL = Repeated(observe=observe, conclude=conclude, outcome=outcome)
SIMULATOR = Simulator(
    run=TRIAL.run,
    trial=TRIAL,
    charts=charts,
    expected=expected,
    options=OPTIONS,
    drills=DRILLS,
    default_duration_s=DEFAULT_DURATION_S,
    max_requests=MAX_REQUESTS,
    warm=warm,
)

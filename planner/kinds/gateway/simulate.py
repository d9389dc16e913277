"""The simulation of this kind: the policies in turn on the same requests, the one of the design in full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Result
from planner.core.run_options import check_seed, warm_up_s
from planner.core.simulated import PartHooks
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator
from planner.kinds.gateway import simulated, simulated_series
from planner.kinds.gateway.expected import expected
from planner.kinds.gateway.plan import plan
from planner.kinds.gateway.simulated_system import canary_for, config_for, failures_for, source_for
from planner.kinds.gateway.simulation_charts import charts
from planner.kinds.gateway.simulation_options import (
    DEFAULT_DURATION_S,
    MAX_REQUESTS,
    OPTIONS,
    Options,
    check,
    options,
)
from planner.kinds.gateway.spec import GatewaySpec

if TYPE_CHECKING:
    from sims.systems.gateway import Outcome

BUDGET_S = 3600.0
WARM_UP_SHARE = 0.5
"""Cut from the measurements: caches start empty, and half of a run is what one should spare for that."""
FILLING = 0.5
"""Share of the warm-up in which prefill is eased; in the rest queues come to rest."""
SAMPLES, SIDE_SAMPLES = simulated_series.MOMENTS, 60
"""Moments of the time line: of the policy of the design, and of those beside it."""
DRILL_STEP_S = 0.1
MOST_CELLS = 2_000_000
"""Moments times instances that a drill keeps."""


def this_run(spec: GatewaySpec, catalog: Catalog, request: SimulationRequest) -> simulated.Run:
    """What is to be simulated: the gateway that the estimate sizes for this spec."""
    chosen = options(request.options)
    return simulated.Run(plan=plan(spec), request=request, options=chosen, catalog_digest=catalog.digest)


def observe(spec: GatewaySpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Mapping[str, Outcome]:
    """Simulate the gateway once with each policy.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    """
    made = this_run(spec, catalog, request)
    check(spec, request=request, chosen=made.options)
    check_seed(request)
    if simulated.nothing_to_run(made):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    names = [spec.policy, *(other for other in made.plan.policies.outcomes if other != spec.policy)]
    if made.options.policies == "chosen":
        names = names[:1]
    outcomes: dict[str, Outcome] = {}
    for place, name in enumerate(names):
        outcomes[name] = _simulate(
            made, policy=name, hooks=PartHooks(hooks, place=place, count=len(names)), in_full=place == 0
        )
    return outcomes


def conclude(
    spec: GatewaySpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]
) -> Result:
    """What the runs show, or why there were none."""
    made = this_run(spec, catalog, request)
    if reason := simulated.nothing_to_run(made):
        return simulated.empty(made, finding=reason)
    return simulated.result(made, outcomes=observed)


def _simulate(made: simulated.Run, *, policy: str, hooks: Hooks, in_full: bool) -> Outcome:
    from sims.engine import hooks as engine_hooks
    from sims.systems.gateway import simulate

    chosen = made.options
    source = source_for(made.plan, request=made.request, chosen=chosen)
    horizon_s = source.horizon_s
    warmup_s = warm_up_s(chosen.warmup_s, horizon_s=horizon_s, usual=WARM_UP_SHARE)
    try:
        return simulate(
            config_for(
                made.plan,
                policy=policy,
                chosen=chosen,
                block_tokens=made.block_tokens,
                eased_until_s=eased_until_s(chosen, warmup_s=warmup_s, horizon_s=horizon_s),
            ),
            source=source,
            seed=made.request.seed,
            warmup_s=warmup_s,
            failures=failures_for(made.plan.spec, chosen=chosen, horizon_s=horizon_s),
            canary=canary_for(made.plan.spec, chosen=chosen),
            hooks=hooks,
            budget_s=BUDGET_S,
            samples=_samples(made, horizon_s=horizon_s) if in_full else SIDE_SAMPLES,
        )
    except engine_hooks.Cancelled:
        raise Cancelled from None


def _samples(made: simulated.Run, *, horizon_s: float) -> int:
    """A drill is looked at more often, because what is lost is lost within a second; even multiples of the usual."""
    if made.options.fail_at_s is None:
        return SAMPLES
    room = max(MOST_CELLS // (SAMPLES * made.plan.spec.instances), 1)
    wanted = math.ceil(horizon_s / (SAMPLES * DRILL_STEP_S))
    return SAMPLES * max(1, min(wanted, room, 10))


def eased_until_s(chosen: Options, *, warmup_s: float, horizon_s: float) -> float:
    """Until when caches fill at leisure: a part of the warm-up, and never beyond what is made to happen."""
    moments = (chosen.fail_at_s, chosen.canary_at_s)
    return min(FILLING * warmup_s, *(at_s for at_s in moments if at_s is not None), horizon_s)


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.gateway import Outcome

    return Outcome


def warm() -> None:
    """Compile or load the kernels, so that the first run starts at once."""
    import sims.systems.gateway  # noqa: F401 - registers its kernels
    from sims.engine import kernel

    kernel.warm()


TRIAL = Repeated(observe=observe, conclude=conclude, outcome=outcome)
SIMULATOR = Simulator(
    run=TRIAL.run,
    trial=TRIAL,
    charts=charts,
    expected=expected,
    options=OPTIONS,
    default_duration_s=DEFAULT_DURATION_S,
    max_requests=MAX_REQUESTS,
    warm=warm,
)

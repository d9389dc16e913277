"""The simulation of this kind: modes in turn on the same answers, the one of the design first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Result
from planner.core.run_options import check_seed
from planner.core.simulated import PartHooks
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator
from planner.kinds.rl_rollout import simulated
from planner.kinds.rl_rollout.expected import expected, plan_of
from planner.kinds.rl_rollout.simulated_system import (
    Case,
    cases_of,
    config_for,
    failures_for,
    problems_for,
    trace_of,
)
from planner.kinds.rl_rollout.simulation_charts import charts
from planner.kinds.rl_rollout.simulation_options import (
    DEFAULT_DURATION_S,
    MAX_REQUESTS,
    OPTIONS,
    check,
    check_answers,
    options,
    steps_of,
)
from planner.kinds.rl_rollout.spec import RlRolloutSpec

if TYPE_CHECKING:
    from sims.systems.rl_rollout import Outcome

BUDGET_S = 3600.0


def this_run(spec: RlRolloutSpec, catalog: Catalog, request: SimulationRequest) -> simulated.Run:
    """What is to be simulated: the rollout that the estimate sizes for this spec."""
    chosen = options(request.options)
    check(request=request, chosen=chosen)
    check_seed(request)
    made = plan_of(spec, catalog=catalog, request=request, chosen=chosen)
    trace = trace_of(spec, request=request, chosen=chosen, catalog=catalog)
    size = {"step_s": made.turn.step_s, "answers": made.base.demand.completed}
    check_answers(chosen, request=request, staleness_bound=made.spec.staleness_bound, **size)
    steps = steps_of(chosen, request=request, cases=chosen.side_by_side(made.spec.staleness_bound), **size)
    return simulated.Run(
        plan=made,
        request=request,
        options=chosen,
        catalog_digest=catalog.digest,
        warmup=chosen.warms_up(request=request, **size),
        steps=steps,
        trace=trace,
    )


def observe(spec: RlRolloutSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Mapping[str, Outcome]:
    """Simulate the rollout once in each mode.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    """
    made = this_run(spec, catalog, request)
    if simulated.nothing_to_run(made):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    cases = cases_of(made.plan, chosen=made.options)
    return {
        case.label: _simulate(made, case=case, hooks=PartHooks(hooks, place=place, count=len(cases)))
        for place, case in enumerate(cases)
    }


def conclude(
    spec: RlRolloutSpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]
) -> Result:
    """What the runs show, or why there were none."""
    made = this_run(spec, catalog, request)
    if reason := simulated.nothing_to_run(made):
        return simulated.empty(made, finding=reason)
    return simulated.result(made, cases=cases_of(made.plan, chosen=made.options), outcomes=observed)


def _simulate(made: simulated.Run, *, case: Case, hooks: Hooks) -> Outcome:
    from sims.engine import hooks as engine_hooks
    from sims.systems.rl_rollout import simulate

    warmup = made.warmup
    try:
        return simulate(
            config_for(case, chosen=made.options),
            problems=problems_for(case.base.spec, trace=made.trace),
            steps=warmup + made.steps,
            warmup_steps=warmup,
            seed=made.request.seed,
            failures=failures_for(case, chosen=made.options),
            hooks=hooks,
            budget_s=BUDGET_S,
        )
    except engine_hooks.Cancelled:
        raise Cancelled from None


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.rl_rollout import Outcome

    return Outcome


def warm() -> None:
    """Compile or load the kernels, so that the first run starts at once."""
    import sims.systems.rl_rollout  # noqa: F401 - registers its kernels
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

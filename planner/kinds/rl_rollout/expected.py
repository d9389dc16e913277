"""The estimate of a run: the GPUs of the design, with what the run sets otherwise."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest
from planner.kinds.rl_rollout.estimate import answer
from planner.kinds.rl_rollout.plan import Plan, plan
from planner.kinds.rl_rollout.simulated_system import law_of, trace_of
from planner.kinds.rl_rollout.simulation_options import Options, check, check_answers, options
from planner.kinds.rl_rollout.spec import RlRolloutSpec


def expected(spec: RlRolloutSpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """The estimate with the lengths, the bound, the scoring and the over-sampling of the run.

    Raises
    ------
    ValueError
        When an option is impossible, or more answers would be written than a run may have; the message names it.
    """
    chosen = options(request.options)
    check(request=request, chosen=chosen)
    made = plan_of(spec, catalog=catalog, request=request, chosen=chosen)
    check_answers(
        chosen,
        request=request,
        step_s=made.turn.step_s,
        answers=made.base.demand.completed,
        staleness_bound=made.spec.staleness_bound,
    )
    return answer(made, catalog=catalog)


def plan_of(spec: RlRolloutSpec, *, catalog: Catalog, request: SimulationRequest, chosen: Options) -> Plan:
    """What the run is a run of: GPUs as the design has them, whatever the options change."""
    trace = trace_of(spec, request=request, chosen=chosen, catalog=catalog)
    changes = dict(chosen.changes)
    law = law_of(spec, trace=trace)
    if chosen.lengths == "law" and spec.lengths == "trace":
        changes["lengths"] = "lognormal"
    if spec.rollout_gpus is None and (changes or law is not None) and spec.mode != "colocated":
        changes["rollout_gpus"] = plan(spec, catalog=catalog).turn.rollout_gpus
    return plan(spec.model_copy(update=changes), catalog=catalog, law=law)

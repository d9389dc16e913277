"""The simulation of this kind: ways to route, or to schedule, in turn on the same requests; the design's in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Result
from planner.core.run_options import check_seed, warm_up_s
from planner.core.simulated import PartHooks
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator
from planner.kinds.multi_lora import simulated
from planner.kinds.multi_lora.expected import expected, planned_for
from planner.kinds.multi_lora.simulated_system import Way, config_for, failures_for, source_for, tenants_for, ways
from planner.kinds.multi_lora.simulation_charts import charts
from planner.kinds.multi_lora.simulation_options import (
    DEFAULT_DURATION_S,
    MAX_REQUESTS,
    OPTIONS,
    check,
    options,
)
from planner.kinds.multi_lora.spec import MultiLoraSpec

if TYPE_CHECKING:
    from sims.systems.multi_lora import Outcome

BUDGET_S = 3600.0
WARM_UP_SHARE = 0.2
SAMPLES, SIDE_SAMPLES = 240, 60
"""Moments of the time line: of the design, and of what runs beside it."""


def this_run(spec: MultiLoraSpec, catalog: Catalog, request: SimulationRequest) -> simulated.Run:
    """What is to be simulated: the fleet that the estimate sizes for this spec."""
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    return simulated.Run(
        plan=planned_for(spec, catalog=catalog, request=request, chosen=chosen),
        request=request,
        options=chosen,
        catalog_digest=catalog.digest,
    )


def observe(spec: MultiLoraSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Mapping[str, Outcome]:
    """Simulate the fleet once in each way.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    MissingFigure
        When a trace is to be replayed that names no adapters.
    """
    check_seed(request)
    made = this_run(spec, catalog, request)
    if simulated.nothing_to_run(made):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    found = ways(made.plan, chosen=made.options)
    outcomes: dict[str, Outcome] = {}
    for place, way in enumerate(found):
        outcomes[way.label] = _simulate(
            made, way=way, hooks=PartHooks(hooks, place=place, count=len(found)), in_full=place == 0
        )
    return outcomes


def conclude(
    spec: MultiLoraSpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]
) -> Result:
    """What the runs show, or why there were none."""
    made = this_run(spec, catalog, request)
    if reason := simulated.nothing_to_run(made):
        return simulated.empty(made, finding=reason)
    return simulated.result(made, outcomes=observed)


def _simulate(made: simulated.Run, *, way: Way, hooks: Hooks, in_full: bool) -> Outcome:
    from sims.engine import hooks as engine_hooks
    from sims.systems.multi_lora import simulate

    source = source_for(made.plan, request=made.request, chosen=made.options)
    try:
        return simulate(
            config_for(made.plan, way=way, chosen=made.options),
            source=source,
            tenants=tenants_for(made.plan),
            seed=made.request.seed,
            warmup_s=warm_up_s(made.options.warmup_s, horizon_s=source.horizon_s, usual=WARM_UP_SHARE),
            failures=failures_for(made.plan, chosen=made.options, horizon_s=source.horizon_s),
            hooks=hooks,
            budget_s=BUDGET_S,
            samples=SAMPLES if in_full else SIDE_SAMPLES,
        )
    except engine_hooks.Cancelled:
        raise Cancelled from None


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.multi_lora import Outcome

    return Outcome


def warm() -> None:
    """Compile or load the kernels, so that the first run starts at once."""
    import sims.systems.multi_lora  # noqa: F401 - registers its kernels
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

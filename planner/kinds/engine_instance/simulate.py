"""The simulation of this kind: the estimator's step times as numbers, run through an engine's scheduler in ``sims``.

Estimate and simulation take the same steps; what differs is queueing, batching, preemption and chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Finding, Result
from planner.core.run_options import check_seed
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator
from planner.kinds.engine_instance import findings as notes
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import simulated, steps
from planner.kinds.engine_instance.expected import expected, loaded
from planner.kinds.engine_instance.measured import plan_of
from planner.kinds.engine_instance.simulation_charts import charts
from planner.kinds.engine_instance.simulation_options import (
    DEFAULT_DURATION_S,
    MAX_REQUESTS,
    OPTIONS,
    check,
    options,
)
from planner.kinds.engine_instance.simulation_system import arrivals_for, config_for, warm_up_s
from planner.kinds.engine_instance.spec import EngineInstanceSpec

if TYPE_CHECKING:
    from sims.systems.llm_serving import Outcome

BUDGET_S = 3600.0


def this_run(spec: EngineInstanceSpec, catalog: Catalog, request: SimulationRequest) -> simulated.Run:
    """What is to be simulated: one replica under the load of its spec, or under a trace."""
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    return simulated.Run(
        spec=loaded(spec, request=request, chosen=chosen),
        request=request,
        chosen=chosen,
        way=chosen.way(spec, request),
        catalog_digest=catalog.digest,
    )


def observe(spec: EngineInstanceSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> dict[str, Outcome]:
    """Run the replica once; nothing where there is nothing to run.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    """
    made = this_run(spec, catalog, request)
    check_seed(request)
    found = _ready(made, catalog)
    if isinstance(found, Finding):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    return {"replica": _simulate(made, served=found, hooks=hooks)}


def conclude(
    spec: EngineInstanceSpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]
) -> Result:
    """What the run shows, or why there was none."""
    made = this_run(spec, catalog, request)
    found = _ready(made, catalog)
    if isinstance(found, Finding):
        return simulated.empty(made, finding=found)
    return simulated.result(made, served=found, outcome=observed["replica"])


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.llm_serving import Outcome

    return Outcome


def _ready(made: simulated.Run, catalog: Catalog) -> steps.Served | Finding:
    """The replica as it is simulated, or why nothing runs."""
    plan, _known = plan_of(made.spec, catalog)
    fitted = fits.fit(plan)
    if not fitted.starts:
        return notes.does_not_start(plan, fitted, None, close=fits.bounds(plan, fitted).too_close)
    if made.has_no_requests:
        return Finding("no_requests", "info", "No requests arrive, so there is nothing to measure.")
    if not notes.request_fits(plan, fitted) and made.way != "trace":
        return notes.request_too_long(plan, fitted)
    return steps.served(plan, fitted, catalog)


def _simulate(made: simulated.Run, *, served: steps.Served, hooks: Hooks) -> Outcome:
    from sims.engine import hooks as engine_hooks
    from sims.systems.llm_serving import simulate

    arrivals = arrivals_for(made, served=served)
    try:
        return simulate(
            config_for(served, spec=made.spec, chosen=made.chosen),
            arrivals=arrivals,
            seed=made.request.seed,
            warmup_s=warm_up_s(made, served=served, horizon_s=arrivals.horizon_s),
            hooks=hooks,
            budget_s=BUDGET_S,
        )
    except engine_hooks.Cancelled:
        raise Cancelled from None


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
    default_duration_s=DEFAULT_DURATION_S,
    max_requests=MAX_REQUESTS,
    warm=warm,
)

"""The simulation of this kind: the estimator's figures as a system of caches, links and units, run through ``sims``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.core.catalog import Catalog
from planner.core.replications import Repeated
from planner.core.result import Result
from planner.core.run_options import check_seed
from planner.core.simulated import PartHooks
from planner.core.simulation import Cancelled, Hooks, SimulationRequest, Simulator
from planner.kinds.kv_pool import simulated, stream
from planner.kinds.kv_pool.expected import expected
from planner.kinds.kv_pool.run_plan import Run, prepare
from planner.kinds.kv_pool.simulation_charts import charts
from planner.kinds.kv_pool.simulation_options import DEFAULT_DURATION_S, MAX_REQUESTS, OPTIONS
from planner.kinds.kv_pool.spec import KvPoolSpec

if TYPE_CHECKING:
    from sims.systems.kv_pool import Loss, Outcome, Sessions, Switch, TraceSource

POLICIES = ("lru", "ttl", "value")
BUDGET_S = 3600.0
FILLING = 0.8
"""Share of the warm-up in which nobody computes or waits: queues are at rest long before it ends."""


def source_of(run: Run) -> Sessions | TraceSource:
    """The stream of turns."""
    if run.trace is not None:
        return stream.trace_source(run.trace, turns_per_s=run.turns_per_s)
    return stream.sessions_for(run.spec, turns_per_s=run.turns_per_s, lasts_s=run.horizon_s)


def policies_of(run: Run) -> tuple[str, ...]:
    """The design's own first; the others after it on the same stream, if they are asked for."""
    own = run.spec.eviction
    if run.chosen.policies == "chosen":
        return (own,)
    return (own, *(name for name in POLICIES if name != own))


def losses_of(run: Run) -> list[Loss]:
    """The unit that is lost, if one is."""
    from sims.systems.kv_pool import Loss

    at_s = run.chosen.lose_unit_at_s
    return (
        [] if at_s is None else [Loss(node=0, at_s=_inside(run, "lose_unit_at_s", at_s), rejoin_s=run.chosen.rejoin_s)]
    )


def switches_of(run: Run) -> list[Switch]:
    """The upgrade, if there is one; each version has room by its traffic."""
    from sims.systems.kv_pool import Switch

    at_s, share = run.chosen.upgrade_at_s, run.chosen.upgrade_share
    if at_s is None:
        return []
    by_request = run.spec.version_by == "request"
    return [Switch(at_s=_inside(run, "upgrade_at_s", at_s), share=share, by_request=by_request)]


def serves_from_s(run: Run) -> float:
    """Until when caches are only filled: most of the warm-up, and never beyond what is made to happen."""
    moments = (run.chosen.upgrade_at_s, run.chosen.lose_unit_at_s)
    return min(FILLING * run.warmup_s, *(at_s for at_s in moments if at_s is not None), run.horizon_s)


def _inside(run: Run, name: str, at_s: float) -> float:
    if at_s >= run.horizon_s:
        raise ValueError(f"options.{name}: {at_s:g} s lies beyond the run of {run.horizon_s:g} s")
    return at_s


def is_empty(this: Run) -> bool:
    """Whether no turns arrive."""
    return this.turns_per_s <= 0 or this.horizon_s <= 0


def observe(spec: KvPoolSpec, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Mapping[str, Outcome]:
    """Simulate the pool once with each policy.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When an option, the duration or the workload is impossible; the message names it.
    """
    check_seed(request)
    this = prepare(spec, catalog=catalog, request=request)
    if is_empty(this):
        return {}
    hooks.progress(0.0, simulated_s=0.0, events=0)
    from sims.engine import hooks as engine_hooks

    try:
        return _outcomes(this, hooks=hooks)
    except engine_hooks.Cancelled:
        raise Cancelled from None


def conclude(spec: KvPoolSpec, catalog: Catalog, request: SimulationRequest, observed: Mapping[str, Outcome]) -> Result:
    """What the runs show, or that there were none."""
    this = prepare(spec, catalog=catalog, request=request)
    return simulated.empty(this) if is_empty(this) else simulated.result(this, outcomes=observed)


def _outcomes(this: Run, *, hooks: Hooks) -> dict[str, Outcome]:
    from sims.systems.kv_pool import simulate

    names, source = policies_of(this), source_of(this)
    block_tokens = this.spec.block_tokens if this.trace is None else this.trace.blocks.tokens
    return {
        name: simulate(
            stream.config_for(
                this.made,
                place=this.place,
                eviction=name,
                block_tokens=block_tokens,
                serves_from_s=serves_from_s(this),
            ),
            source=source,
            seed=this.request.seed,
            warmup_s=this.warmup_s,
            losses=losses_of(this),
            switches=switches_of(this),
            hooks=PartHooks(hooks, place=place, count=len(names)),
            budget_s=BUDGET_S / len(names),
        )
        for place, name in enumerate(names)
    }


def outcome() -> type[Outcome]:
    """The class of what is observed."""
    from sims.systems.kv_pool import Outcome

    return Outcome


def warm() -> None:
    """Compile or load the kernels, so that the first run starts at once."""
    import sims.systems.kv_pool  # noqa: F401 - registers its kernels
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

"""What a run is: the fleet that the design sizes, under the load that the run brings, from empty caches on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.catalog import Catalog
from planner.core.simulation import SimulationRequest
from planner.kinds.kv_pool import stream, traces
from planner.kinds.kv_pool.plan import Plan, plan
from planner.kinds.kv_pool.reach import Start
from planner.kinds.kv_pool.simulation_options import Options, check, options
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, HBM, SSD
from planner.kinds.kv_pool.writes import stored_tokens_per_s

AGES = 24
"""Moments of the measuring window at which the hits of young caches are taken."""
MOST_UNITS = 4096
_MOST_PAUSES = 0.99


@dataclass(frozen=True, slots=True)
class Run:
    """A request, worked out: the design, its load, and how long it is followed."""

    given: KvPoolSpec
    request: SimulationRequest
    chosen: Options
    made: Plan
    """The estimate for the load of the run, on the fleet of the design."""
    trace: traces.Trace | None
    turns_per_s: float
    horizon_s: float
    warmup_s: float
    place: str
    """Which unit serves a turn."""

    @property
    def spec(self) -> KvPoolSpec:
        return self.made.spec


def prepare(spec: KvPoolSpec, *, catalog: Catalog, request: SimulationRequest) -> Run:
    """Read a request; raises ValueError that names what is impossible."""
    chosen = options(request.options)
    check(spec, request=request, chosen=chosen)
    own = catalog.workload(spec.workload) if spec.source == "trace" and spec.workload else None
    trace = stream.trace_for(request, workload=own)
    rate = stream.rate_of(spec, trace=trace, request=request, chosen=chosen)
    sized = plan(spec, catalog=catalog).fleet.units
    if sized > MOST_UNITS:
        raise ValueError(f"prefill_units: {sized:,} units are more than are simulated, {MOST_UNITS:,}")
    loaded = _loaded(spec, trace=trace, turns_per_s=rate, units=max(sized, 1))
    first = plan(loaded, catalog=catalog, trace=trace)
    horizon_s = _horizon_s(request, trace=trace, turns_per_s=rate)
    warmup_s = _warmup_s(first, chosen=chosen, horizon_s=horizon_s, trace=trace)
    place = stream.place_of(first, chosen=chosen)
    start = _start(spec, place=place, trace=trace, warmup_s=warmup_s, horizon_s=horizon_s)
    made = plan(loaded, catalog=catalog, trace=trace, start=start)
    return Run(spec, request, chosen, made, trace, rate if sized else 0.0, horizon_s, warmup_s, place)


def _loaded(spec: KvPoolSpec, *, trace: traces.Trace | None, turns_per_s: float, units: int) -> KvPoolSpec:
    """The design's fleet under the load of the run."""
    change: dict[str, object] = {"turns_per_s": turns_per_s, "prefill_units": units}
    if trace is not None:
        change |= {"source": "trace"}
    return spec.model_copy(update=change)


def _horizon_s(request: SimulationRequest, *, trace: traces.Trace | None, turns_per_s: float) -> float:
    if turns_per_s <= 0:
        return 0.0
    if trace is None:
        return stream.duration_s(request, turns_per_s=turns_per_s)
    return trace.workload.requests / turns_per_s


def _warmup_s(made: Plan, *, chosen: Options, horizon_s: float, trace: traces.Trace | None) -> float:
    """As asked for; a trace is measured from its first request, sessions from when the caches are at rest.

    That is when caches that fill in the first half have filled twice and all but a hundredth of what comes back has
    done so once; at most half of the run. Most of it only fills the caches (`simulate.serves_from_s`), so that empty
    ones leave no queue behind.
    """
    if chosen.warmup_s is not None:
        if chosen.warmup_s >= horizon_s > 0:
            raise ValueError(f"options.warmup_s: {chosen.warmup_s:g} s leave nothing of a run of {horizon_s:g} s")
        return chosen.warmup_s
    if trace is not None or horizon_s <= 0:
        return 0.0
    per_s = max(stored_tokens_per_s(made), 1e-9)
    filled_s = [2 * float(made.room.tokens[tier]) / per_s for tier in (HBM, DRAM, SSD)]
    settled_s = [one for one in filled_s if one <= horizon_s / 2] + [made.tail_s(_MOST_PAUSES)]
    return min(max(settled_s), horizon_s / 2)


def _start(spec: KvPoolSpec, *, place: str, trace: traces.Trace | None, warmup_s: float, horizon_s: float) -> Start:
    """A trace counts what is asked again within it, so its law holds from the first request on."""
    ages = np.zeros(0)
    if trace is None and horizon_s > warmup_s:
        ages = warmup_s + (np.arange(AGES) + 0.5) / AGES * (horizon_s - warmup_s)
    # Requests behind a popular prefix are no sessions: nothing tells the simulator which unit has the prefix.
    by_chance = spec.placement == "pool" and (place != "affinity" or spec.source == "zipf")
    apart = place in ("affinity", "random", "round_robin")
    return Start(ages, apart=apart, bound=place == "affinity", scattered_hbm=by_chance)

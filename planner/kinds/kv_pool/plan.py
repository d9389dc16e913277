"""Everything that is computed about one pool, before it is put into metrics, findings and series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog
from planner.formulas import fetching
from planner.formulas.caching import OneShots, Sessions
from planner.formulas.tiers import hits_by_tier
from planner.kinds.kv_pool import serving, traces
from planner.kinds.kv_pool.bound import Served, fleet_for, serves
from planner.kinds.kv_pool.links import links
from planner.kinds.kv_pool.physics import Physics, physics
from planner.kinds.kv_pool.reach import Start, admitted_hits, counting_copies, keep_s, not_met, reach_hits, since
from planner.kinds.kv_pool.reuse import Reuse, Streams, item_streams, session_streams, turn_classes
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import (
    HBM,
    SSD,
    Capacities,
    Link,
    capacities,
    reach_tokens,
)
from planner.kinds.kv_pool.turns import Sort, item_sorts, session_sorts
from planner.kinds.kv_pool.wandering import wandering

Array = NDArray[np.float64]
_DIGITS = 7
"""Of a hit share: what an approximation says beyond is noise."""
_TIMES_S: Array = 10.0 ** np.arange(-5.0, 12.0, 1 / 64)
"""At which it is known how much has come back."""
_KEPT = 32


@dataclass(frozen=True)
class Plan:
    """A pool and the prefill fleet in front of it. What few ask for is computed when asked."""

    given: KvPoolSpec
    spec: KvPoolSpec
    """With the lengths of the trace, if there is one."""
    catalog: Catalog
    trace: traces.Trace | None
    physics: Physics
    settled: Reuse
    """As if every session were found where it was left."""
    reuse: Reuse
    """As sessions really meet caches."""
    sorts: tuple[Sort, ...]
    room: Capacities
    keep_s: Array
    """How long an entry stays within the reach of the tiers down to each."""
    reach_hits: Array
    """Share of the reusable tokens hit within the reach."""
    dram: Link
    ssd: Link
    network_utilisation: float
    seen_share: float
    """Of what comes back, what was seen since the caches were empty; 1 unless a run starts so."""
    served: Served
    turns: serving.Turns
    fleet: serving.Fleet
    without_turns: serving.Turns
    """With prefixes kept in HBM only."""
    without_fleet: serving.Fleet

    @property
    def hits(self) -> Array:
        """What each tier adds to the hits."""
        return hits_by_tier(self.reach_hits)

    def hits_with(self, tokens: Array) -> Array:
        """Hits within the reach of each tier if the tiers held so many tokens; tiers along the last axis."""
        within = reach_hits(self.spec, reuse=self.reuse, reach=reach_tokens(tokens, relation=self.spec.relation))
        return admitted_hits(self.spec, reuse=self.reuse, within=within)

    @property
    def links(self) -> tuple[Link, Link]:
        return self.dram, self.ssd

    @property
    def context_bytes(self) -> float:
        """KV of a mean context, one copy, with the states saved along it."""
        return self.spec.context_tokens * self.physics.stored_bytes_per_token

    @property
    def recompute_s(self) -> float:
        return float(self.physics.compute_s(self.spec.context_tokens))

    @cached_property
    def prompt_tokens(self) -> float:
        """Mean prompt."""
        return math.fsum(sort.weight * float(sort.prompt_tokens.mean()) for sort in self.sorts)

    @property
    def output_tokens(self) -> float:
        """Mean answer."""
        return self.spec.output_tokens

    @cached_property
    def pooled_hits(self) -> Array:
        """Hits within the reaches if all nodes read all."""
        within = reach_hits(self.spec, reuse=self.settled, reach=self.room.reach_tokens)
        return admitted_hits(self.spec, reuse=self.settled, within=within)

    @property
    def idle_links(self) -> tuple[Link, Link]:
        """The links as if nobody else read."""
        return self.dram.idle(), self.ssd.idle()

    @property
    def reusable_share(self) -> float:
        """u: of the prompt tokens, what a cache without limit would hold."""
        return self.reusable_tokens_per_turn / self.prompt_tokens if self.prompt_tokens > 0 else 0.0

    @property
    def reusable_tokens_per_turn(self) -> float:
        rate = self.spec.turns_per_s
        return self.reuse.reusable_tokens_per_s / rate if rate > 0 else 0.0

    @property
    def computed_tokens_per_turn(self) -> float:
        return float(self.turns.weight @ self.turns.computed_tokens)

    @property
    def least_bytes_per_s(self) -> float:
        """B_min at the mean context."""
        return fetching.least_bytes_per_s(
            self.spec.context_tokens,
            kv_bytes_per_token=self.physics.stored_bytes_per_token * self.physics.read_copies,
            recompute=self.physics.recompute,
        )

    def tail_s(self, share: float) -> float:
        """The time within which this share of all that comes back has come back."""
        times, hits = self._returned
        return float(times[min(int(np.searchsorted(hits, share * hits[-1])), len(times) - 1)])

    @cached_property
    def _returned(self) -> tuple[Array, Array]:
        return _TIMES_S, np.asarray(self.reuse.hit_share(_TIMES_S), dtype=float)

    @cached_property
    def ttft(self) -> Sequence[float | None]:
        """P50, P90 and P99 with the pool [s]."""
        return serving.ttft_s(self.spec, made=self.turns, of=self.fleet, probabilities=(0.5, 0.9, 0.99))

    @cached_property
    def any_unit_ttft_p99_s(self) -> float | None:
        """P99 if any unit could serve any turn as well [s]."""
        there = serving.fleet(self.spec, made=self.turns, units=self.fleet.units)
        return serving.ttft_s(self.spec, made=self.turns, of=there, probabilities=(0.99,))[0]

    @cached_property
    def without_ttft(self) -> Sequence[float | None]:
        """The same with prefixes kept in HBM only, on a fleet sized for that."""
        return serving.ttft_s(self.spec, made=self.without_turns, of=self.without_fleet, probabilities=(0.5, 0.9, 0.99))


def plan(given: KvPoolSpec, *, catalog: Catalog, trace: traces.Trace | None = None, start: Start | None = None) -> Plan:
    """Work out a pool: hits of each tier, links, prefill work and its fleet, with and without the pool.

    ``trace`` replaces what comes back; ``start`` tells of a run that begins with empty caches.
    """
    if trace is None and given.source == "trace":
        trace = traces.trace_of(given, catalog=catalog)
    spec = given if trace is None else traces.with_own_lengths(given, trace=trace)
    block_tokens = 1.0 if trace is None else float(trace.blocks.tokens)
    facts = physics(spec, catalog=catalog, block_tokens=block_tokens)
    sorts = traces.sorts(trace) if trace is not None else own_sorts(spec)
    return _worked(given, spec, catalog=catalog, trace=trace, facts=facts, sorts=sorts, start=start)


@lru_cache(maxsize=_KEPT)
def plan_of(spec: KvPoolSpec, *, catalog: Catalog) -> Plan:
    """`plan` with nothing else given, kept for who asks next: after the estimate what counts the units."""
    return plan(spec, catalog=catalog)


def at_rates(made: Plan, *, turns_per_s: Sequence[float]) -> list[Plan]:
    """The same pool and inputs at other rates."""
    times = _times_at(made, turns_per_s=turns_per_s)
    found = []
    for rate, keep in zip(turns_per_s, times, strict=True):
        change = {"turns_per_s": rate}
        there = made.given.model_copy(update=change), made.spec.model_copy(update=change)
        found.append(
            _worked(*there, catalog=made.catalog, trace=made.trace, facts=made.physics, sorts=made.sorts, keep=keep)
        )
    return found


def _times_at(made: Plan, *, turns_per_s: Sequence[float]) -> Sequence[Array | None]:
    """How long entries stay at other rates, in one go where sessions fill a cache in proportion to their rate."""
    reuse, now = made.reuse, made.spec.turns_per_s
    proportional = isinstance(reuse, Streams) and all(isinstance(load, Sessions | OneShots) for load in reuse.loads)
    if not proportional or now <= 0 or made.spec.placement == "random":
        return [None] * len(turns_per_s)
    reach = made.room.reach_tokens * (now / np.asarray(turns_per_s))[:, None]
    return list(keep_s(made.spec, reuse=reuse, reach_tokens=reach))


def _worked(
    given: KvPoolSpec,
    spec: KvPoolSpec,
    *,
    catalog: Catalog,
    trace: traces.Trace | None,
    facts: Physics,
    sorts: tuple[Sort, ...],
    keep: Array | None = None,
    start: Start | None = None,
) -> Plan:
    room = capacities(spec, physics=facts)
    settled = reuse_of(spec, trace=trace)
    reuse = met(spec, settled=settled, trace=trace, most_tokens=float(room.reach_tokens[SSD]))
    keep = keep_s(spec, reuse=reuse, reach_tokens=room.reach_tokens) if keep is None else keep
    within = reach_hits(spec, reuse=reuse, reach=room.reach_tokens, keep=keep)
    if isinstance(reuse, Streams) and spec.shared_prefix_tokens > 0 and spec.placement != "random":
        units = spec.nodes * spec.gpus_per_node / spec.prefill_gpus if start is None else float(spec.prefill_units or 1)
        keep, within = counting_copies(spec, reuse=reuse, units=units, room=room)
    by_age = np.full_like(keep, np.inf) if spec.eviction == "value" else keep
    within, seen_share = since(start, reuse=reuse, keep=by_age, within=within)
    within = np.round(admitted_hits(spec, reuse=reuse, within=within), _DIGITS)
    if start is not None and start.scattered_hbm:
        within = within - not_met(spec, settled=settled, room=room, hits=float(within[HBM]))
    hits = hits_by_tier(within)
    served = serves(spec, start=start, hbm_hits=float(hits[HBM]))
    ways = links(spec, physics=facts, reuse=reuse, hits=hits)
    own, shared = reuse.parts(within)
    found = hits_by_tier(own)
    made = serving.turns(
        spec,
        physics=facts,
        sorts=sorts,
        hits=tuple(found),
        links=(ways["dram"], ways["ssd"]),
        prefix_hits=float(shared[SSD]),
    )
    without = serving.turns(
        spec,
        physics=facts,
        sorts=sorts,
        hits=(found[HBM], 0.0, 0.0),
        links=(None, None),
        prefix_hits=float(shared[HBM]),
    )
    return Plan(
        given=given,
        spec=spec,
        catalog=catalog,
        trace=trace,
        physics=facts,
        settled=settled,
        reuse=reuse,
        sorts=sorts,
        room=room,
        keep_s=keep,
        reach_hits=within,
        dram=ways["dram"],
        ssd=ways["ssd"],
        network_utilisation=ways["network"].utilisation,
        seen_share=seen_share,
        served=served,
        turns=made,
        fleet=fleet_for(spec, made=made, units=spec.prefill_units, served=served),
        without_turns=without,
        without_fleet=fleet_for(spec, made=without, units=None, served=served),
    )


def own_sorts(spec: KvPoolSpec) -> tuple[Sort, ...]:
    """The turns of sessions or of popular prefixes."""
    return item_sorts(spec) if spec.source == "zipf" else session_sorts(spec, classes=turn_classes(spec))


def reuse_of(spec: KvPoolSpec, *, trace: traces.Trace | None) -> Reuse:
    """What comes back."""
    if trace is not None:
        return traces.TraceReuse(trace, spec.turns_per_s)
    return item_streams(spec) if spec.source == "zipf" else session_streams(spec)


def met(spec: KvPoolSpec, *, settled: Reuse, trace: traces.Trace | None, most_tokens: float) -> Reuse:
    """What comes back to the cache that holds it: all, unless sessions wander between caches of their own."""
    if spec.placement != "random" or spec.turns_per_s <= 0:
        return settled
    if trace is not None:
        settled = Streams((traces.as_sessions(trace, turns_per_s=spec.turns_per_s),))
    if not isinstance(settled, Streams):
        return settled
    return wandering(settled, nodes=spec.nodes, capacity_tokens=most_tokens)

"""Everything that is computed about one pool, before it is put into metrics, findings and series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog
from planner.formulas import fetching
from planner.formulas.caching import OneShots, Sessions
from planner.formulas.tiers import hits_by_tier
from planner.kinds.kv_pool import serving, traces
from planner.kinds.kv_pool.physics import Physics, physics
from planner.kinds.kv_pool.reuse import Reuse, Streams, item_streams, session_streams, turn_classes
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import (
    DRAM,
    HBM,
    SSD,
    Capacities,
    Link,
    capacities,
    link,
    prompt_bytes_per_s,
    reach_tokens,
)
from planner.kinds.kv_pool.turns import Sort, item_sorts, session_sorts
from planner.kinds.kv_pool.wandering import wandering

Array = NDArray[np.float64]
_DIGITS = 7
"""Of a hit share: what an approximation says beyond is noise."""
_TIMES_S: Array = 10.0 ** np.arange(-5.0, 12.0, 1 / 64)
"""At which it is known how much has come back."""


@dataclass(frozen=True, slots=True)
class Start:
    """A run that begins with empty caches: ages of the caches while it is measured, and who waits for whom."""

    ages_s: Array
    apart: bool
    """Each turn waits for one unit, not for any."""
    scattered_hbm: bool
    """A turn finds its session in HBM by chance only."""


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

    @property
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
    within, seen_share = _since(start, reuse=reuse, keep=keep, within=within)
    within = np.round(admitted_hits(spec, reuse=reuse, within=within), _DIGITS)
    if start is not None and start.scattered_hbm:
        within = within - _not_met(spec, settled=settled, room=room, hits=float(within[HBM]))
    apart = spec.placement != "pool" if start is None else start.apart
    hits = hits_by_tier(within)
    ways = links(spec, physics=facts, reuse=reuse, hits=hits)
    made = serving.turns(spec, physics=facts, sorts=sorts, hits=tuple(hits), links=(ways["dram"], ways["ssd"]))
    without = serving.turns(spec, physics=facts, sorts=sorts, hits=(hits[HBM], 0.0, 0.0), links=(None, None))
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
        turns=made,
        fleet=serving.fleet(spec, made=made, units=spec.prefill_units, apart=apart),
        without_turns=without,
        without_fleet=serving.fleet(spec, made=without, units=None),
    )


def _since(start: Start | None, *, reuse: Reuse, keep: Array, within: Array) -> tuple[Array, float]:
    """Hits of caches that were empty at the start, averaged over their ages, and what was seen since."""
    if start is None or not len(start.ages_s):
        return within, 1.0
    everything = float(reuse.hit_share(math.inf))
    ages = np.minimum(keep[None, :], start.ages_s[:, None])
    fresh = np.asarray(reuse.hit_share(ages), dtype=float).mean(axis=0)
    seen = float(np.mean(reuse.hit_share(start.ages_s))) / everything if everything > 0 else 1.0
    return np.minimum(within, fresh), seen


def _not_met(spec: KvPoolSpec, *, settled: Reuse, room: Capacities, hits: float) -> Array:
    """HBM hits lost when turns go to whichever unit is free; they are found in SSD if that holds all."""
    units, reach = spec.prefill_units or 1, float(room.reach_tokens[HBM])
    met = hits / units
    if isinstance(settled, Streams) and reach > 0:
        spread = wandering(settled, nodes=units, capacity_tokens=reach)
        met = min(hits, float(spread.hit_share(spread.keep_s(reach))))
    in_dram = spec.relation == "inclusive" and room.stored_bytes[DRAM] > 0
    in_ssd = spec.relation != "exclusive" and room.stored_bytes[SSD] > 0
    lost = hits - met
    return np.array([lost, 0.0 if in_dram else lost, 0.0 if in_dram or in_ssd else lost])


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


def keep_s(spec: KvPoolSpec, *, reuse: Reuse, reach_tokens: Array) -> Array:
    """How long an untouched entry stays within each reach, by the eviction chosen."""
    times = np.asarray(reuse.keep_s(reach_tokens), dtype=float)
    return np.minimum(times, spec.ttl_s) if spec.eviction == "ttl" else times


def reach_hits(spec: KvPoolSpec, *, reuse: Reuse, reach: Array, keep: Array | None = None) -> Array:
    """Share of the reusable tokens hit within each reach; ``keep`` are its times, where they are known."""
    if spec.eviction == "value":
        return np.asarray(reuse.hit_share_by_value(reach), dtype=float)
    times = keep_s(spec, reuse=reuse, reach_tokens=reach) if keep is None else keep
    return np.asarray(reuse.hit_share(times), dtype=float)


def admitted_hits(spec: KvPoolSpec, *, reuse: Reuse, within: Array) -> Array:
    """Hits when only a part of the contexts enters the pool: first those are dropped that nobody would ask for."""
    if spec.admitted_share >= 1:
        return within
    asked_again = reuse.reusable_tokens_per_s / max(spec.turns_per_s * spec.context_tokens, 1e-300)
    kept = min(1.0, spec.admitted_share / asked_again) if asked_again > 0 else 1.0
    hbm = within[..., :1]
    return hbm + kept * (within - hbm)


def links(spec: KvPoolSpec, *, physics: Physics, reuse: Reuse, hits: Array) -> Mapping[str, Link]:
    """The links with the traffic that these hits put on them."""
    read = reuse.reusable_tokens_per_s * physics.stored_bytes_per_token * physics.read_copies
    dram_idle, ssd_idle = prompt_bytes_per_s(spec)
    usable = spec.nodes * spec.link_efficiency
    remote = 1 - 1 / spec.nodes if spec.placement == "pool" else 0.0
    over_network = remote * read * float(hits[DRAM] + hits[SSD])
    network = link(
        spec,
        bytes_per_s=spec.network_bytes_per_s * spec.prefill_gpus / spec.gpus_per_node,
        latency_s=0.0,
        wanted_bytes_per_s=over_network,
        total_bytes_per_s=usable * spec.network_bytes_per_s,
    )
    dram = link(
        spec,
        bytes_per_s=dram_idle,
        latency_s=spec.dram_latency_s,
        wanted_bytes_per_s=read * float(hits[DRAM]),
        total_bytes_per_s=usable * spec.dram_read_bytes_per_s,
    )
    ssd = link(
        spec,
        bytes_per_s=ssd_idle,
        latency_s=spec.ssd_latency_s,
        wanted_bytes_per_s=read * float(hits[SSD]),
        total_bytes_per_s=usable * spec.ssd_read_bytes_per_s,
    )
    if remote > 0:
        dram, ssd = _behind(dram, network), _behind(ssd, network)
    return {"dram": dram, "ssd": ssd, "network": network}


def _behind(tier: Link, network: Link) -> Link:
    """A tier read over the network has the narrower of both links, and the share that both serve."""
    return Link(
        min(tier.bytes_per_s, network.bytes_per_s),
        tier.latency_s,
        tier.utilisation,
        min(tier.served_share, network.served_share),
        min(tier.effective_bytes_per_s, network.effective_bytes_per_s),
    )

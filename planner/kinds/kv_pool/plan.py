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
from planner.formulas.gaps import GapLaw
from planner.formulas.tiers import hits_by_tier
from planner.kinds.kv_pool import serving
from planner.kinds.kv_pool.physics import Physics, physics
from planner.kinds.kv_pool.reuse import Reuse, followed_gaps, item_streams, session_streams, turn_classes
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

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A pool and the prefill fleet in front of it. What few ask for is computed when asked."""

    spec: KvPoolSpec
    catalog: Catalog
    physics: Physics
    reuse: Reuse
    gaps: GapLaw | None
    """Pauses after which a turn follows; None where sessions are not what comes back."""
    sorts: tuple[Sort, ...]
    room: Capacities
    keep_s: Array
    """How long an entry stays within the reach of the tiers down to each."""
    reach_hits: Array
    """Share of the reusable tokens hit within the reach."""
    dram: Link
    ssd: Link
    network_utilisation: float
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
        return reach_hits(self.spec, reuse=self.reuse, reach=reach_tokens(tokens, relation=self.spec.relation))

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

    @property
    def pooled_hits(self) -> Array:
        """Hits within the reaches if all nodes read all."""
        return self.reach_hits

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

    @cached_property
    def ttft(self) -> Sequence[float | None]:
        """P50, P90 and P99 with the pool [s]."""
        return serving.ttft_s(self.spec, made=self.turns, of=self.fleet, probabilities=(0.5, 0.9, 0.99))

    @cached_property
    def without_ttft(self) -> Sequence[float | None]:
        """The same with prefixes kept in HBM only, on a fleet sized for that."""
        return serving.ttft_s(self.spec, made=self.without_turns, of=self.without_fleet, probabilities=(0.5, 0.9, 0.99))


def plan(spec: KvPoolSpec, *, catalog: Catalog) -> Plan:
    """Work out a pool: hits of each tier, links, prefill work and its fleet, with and without the pool."""
    facts = physics(spec, catalog=catalog)
    reuse, gaps, sorts = reuse_of(spec)
    room = capacities(spec, physics=facts)
    keep = keep_s(spec, reuse=reuse, reach_tokens=room.reach_tokens)
    within = reach_hits(spec, reuse=reuse, reach=room.reach_tokens)
    hits = hits_by_tier(within)
    ways = links(spec, physics=facts, reuse=reuse, hits=hits)
    made = serving.turns(spec, physics=facts, sorts=sorts, hits=tuple(hits), links=(ways["dram"], ways["ssd"]))
    without = serving.turns(spec, physics=facts, sorts=sorts, hits=(hits[HBM], 0.0, 0.0), links=(None, None))
    return Plan(
        spec=spec,
        catalog=catalog,
        physics=facts,
        reuse=reuse,
        gaps=gaps,
        sorts=sorts,
        room=room,
        keep_s=keep,
        reach_hits=within,
        dram=ways["dram"],
        ssd=ways["ssd"],
        network_utilisation=ways["network"].utilisation,
        turns=made,
        fleet=serving.fleet(spec, made=made, units=spec.prefill_units),
        without_turns=without,
        without_fleet=serving.fleet(spec, made=without, units=None),
    )


def at_rate(made: Plan, *, turns_per_s: float) -> Plan:
    """The same pool and inputs at another rate."""
    return plan(made.spec.model_copy(update={"turns_per_s": turns_per_s}), catalog=made.catalog)


def reuse_of(spec: KvPoolSpec) -> tuple[Reuse, GapLaw | None, tuple[Sort, ...]]:
    """What comes back, after which pauses, and the turns it comes in."""
    if spec.source == "zipf":
        return item_streams(spec), None, item_sorts(spec)
    classes = turn_classes(spec)
    return session_streams(spec), followed_gaps(classes), session_sorts(spec, classes=classes)


def keep_s(spec: KvPoolSpec, *, reuse: Reuse, reach_tokens: Array) -> Array:
    """How long an untouched entry stays within each reach, by the eviction chosen."""
    times = np.asarray(reuse.keep_s(reach_tokens), dtype=float)
    return np.minimum(times, spec.ttl_s) if spec.eviction == "ttl" else times


def reach_hits(spec: KvPoolSpec, *, reuse: Reuse, reach: Array) -> Array:
    """Share of the reusable tokens hit within each reach."""
    return np.asarray(reuse.hit_share(keep_s(spec, reuse=reuse, reach_tokens=reach)), dtype=float)


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

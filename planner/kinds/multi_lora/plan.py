"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from planner.core.catalog import Catalog
from planner.formulas.distinct import TierShares
from planner.formulas.slot_cliff import drain_wait
from planner.formulas.typical_replica import TypicalReplica, beyond
from planner.kinds.multi_lora.asked import Trace, asked_of, trace_of, with_own_lengths
from planner.kinds.multi_lora.base import base_of
from planner.kinds.multi_lora.billing import Bill, bill_of
from planner.kinds.multi_lora.fleet import Fleet, Parts, fleet_of
from planner.kinds.multi_lora.latency import Latency
from planner.kinds.multi_lora.loading import Loading, loading_of
from planner.kinds.multi_lora.memory import memory_of
from planner.kinds.multi_lora.noise import Noise, noise_of
from planner.kinds.multi_lora.replica import Replica
from planner.kinds.multi_lora.shapes import adapter_of
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.tenants import Tenants, tenants_of
from planner.kinds.multi_lora.waiting import law_of_residence, slot_waits_of, unpinned

FELT, SETTLING = 0.02, 6
SETTLED, WAITED_S = 20, 0.01
"""Mean waits for a slot after which they are what they stay (simulated with sixteen slots: 17), and what is felt."""
_KEPT = 32


@dataclass(frozen=True, eq=False)
class Plan:
    """A worked design. ``given`` is the spec as stated, ``spec`` the one with what a trace tells."""

    given: MultiLoraSpec
    spec: MultiLoraSpec
    catalog: Catalog
    parts: Parts
    tenants: Tenants
    fleet: Fleet
    latency: Latency | None
    """None where the replicas cannot keep up."""

    @property
    def replica(self) -> Replica:
        return self.fleet.replica

    @property
    def running(self) -> float:
        """Running requests of a replica; all that fit where it cannot keep up."""
        return self.replica.places if self.latency is None else self.latency.running

    @property
    def served(self) -> int:
        """Replicas that the load needs, of those there are; the rest are spare."""
        needed = self.fleet.needed
        return min(max(self.fleet.replicas if needed is None else needed, 1), self.fleet.replicas)

    @property
    def tiers(self) -> TierShares:
        """Where requests with an adapter find it."""
        return self.replica.tiers if self.latency is None else self.latency.tiers

    @property
    def swapped(self) -> float:
        """Of the requests with an adapter that a replica serves, those that bring it into a slot."""
        return self.replica.missing if self.latency is None else self.latency.replica.missing

    @property
    def slot_wait_s(self) -> float | None:
        """Mean wait for a slot; None where there is none to tell."""
        return None if self.latency is None or self.latency.waits is None else self.latency.waits.mean_s

    @property
    def settles_s(self) -> float | None:
        """Time after which waits for slots are what they stay; None where nobody waits to speak of."""
        waited_s = self.slot_wait_s
        return SETTLED * waited_s if waited_s is not None and waited_s > WAITED_S else None

    @property
    def held(self) -> float:
        """Adapters on the GPUs of a replica at this load."""
        return self.replica.held if self.latency is None else self.latency.replica.held

    @property
    def gpus(self) -> int:
        """GPUs bought, those of cold-start replicas too."""
        return (self.fleet.replicas + self.spec.cold_replicas) * self.spec.gpus_per_replica

    @property
    def gpu_price_usd_per_h(self) -> float | None:
        """The price stated, or that of the catalog; None where nobody offers the GPU."""
        if self.spec.gpu_price_usd_per_h is not None:
            return self.spec.gpu_price_usd_per_h
        found = self.catalog.price(self.spec.gpu)
        return None if found is None else found.usd_per_h

    @property
    def loading(self) -> Loading:
        """What it costs to bring an adapter in."""
        if self.latency is not None:
            return self.latency.loading
        return loading_of(self.spec, adapter=self.parts.adapter, prefill_s=0.0, layers=self.parts.base.llm.layers)

    @cached_property
    def anywhere(self) -> Replica:
        """The same replica when requests go to any."""
        return self.routed("random")

    def routed(self, routing: str) -> Replica:
        """One of these replicas under another way of routing, with as many requests running."""
        other = self.parts.replica(self.fleet.replicas, routing=routing)
        return replace(other, batch=self.running) if self.spec.paged else other

    @cached_property
    def bill(self) -> Bill | None:
        """What it costs; None without a price."""
        return bill_of(self)

    @cached_property
    def noise(self) -> Noise:
        """What a noisy tenant does to the others."""
        return noise_of(self)

    @cached_property
    def cold_utilisation(self) -> float | None:
        """Load of the cold-start replicas over what they can do; None where there are none."""
        there = cold_replica(self.parts, fleet=self.fleet)
        if there is None:
            return None
        can = there.best.rate_rps * self.spec.cold_replicas
        asked = cold_rps(self.fleet)
        return asked / can if can > 0 else (0.0 if asked <= 0 else None)

    @cached_property
    def one_lost(self) -> Fleet | None:
        """The fleet with a replica less; None where it is the only one."""
        left = self.fleet.replicas - 1
        return at_replicas(self, left) if left else None


def at_replicas(made: Plan, count: int) -> Fleet:
    """The same design on so many replicas."""
    return Fleet(made.fleet.rate_rps, made.fleet.needed, count, made.parts.replica(count))


def plan(given: MultiLoraSpec, *, catalog: Catalog) -> Plan:
    """Work a design out: adapters, memory, replicas, latencies; raises `MissingFigure`."""
    trace = trace_of(given, catalog=catalog)
    return planned(given, catalog=catalog, trace=trace)


@lru_cache(maxsize=_KEPT)
def plan_of(spec: MultiLoraSpec, *, catalog: Catalog) -> Plan:
    """`plan`, kept for who asks next: after the estimate what counts the units."""
    return plan(spec, catalog=catalog)


def planned(given: MultiLoraSpec, *, catalog: Catalog, trace: Trace | None) -> Plan:
    """The same with a trace that the spec need not name."""
    spec = given if trace is None else with_own_lengths(given, trace=trace)
    llm, gpu = catalog.llm(spec.llm), catalog.gpu(spec.gpu)
    base, adapter = base_of(spec, llm=llm, gpu=gpu), adapter_of(spec, llm=llm)
    memory = memory_of(spec, base=base, adapter=adapter)
    asked = asked_of(spec, trace=trace)
    parts = Parts(spec, base, adapter, memory, asked)
    tenants = tenants_of(spec, asked=asked)
    fleet = fleet_of(parts, rate_rps=tenants.rate_rps)
    parts = replace(parts, memory=fleet.replica.memory)
    return Plan(given, spec, catalog, parts, tenants, fleet, fleet_latency(parts, fleet=fleet))


def fleet_latency(parts: Parts, *, fleet: Fleet) -> Latency | None:
    """Latencies of the busiest replica, and of the cold-start ones if there are some."""
    found = latency_of(fleet.replica, rate_rps=fleet.busiest_rps)
    there = cold_replica(parts, fleet=fleet)
    if found is None or there is None:
        return found
    return replace(found, cold=latency_of(there, rate_rps=cold_rps(fleet) / parts.spec.cold_replicas))


def cold_rps(fleet: Fleet) -> float:
    """Requests that begin on cold-start replicas."""
    return fleet.rate_rps * (1 - fleet.replica.served_share)


def cold_replica(parts: Parts, *, fleet: Fleet) -> Replica | None:
    """A replica with all adapters in host memory that serves those which no other host has; None where none is kept."""
    if not parts.spec.cold_replicas:
        return None
    rest, _ = beyond(
        parts.asked.popularity, seen=fleet.replica.seen, held=parts.memory.host_adapters, replicas=fleet.replicas
    )
    seen = TypicalReplica(rest, np.full_like(rest.shares, float(parts.spec.cold_replicas)), 1.0)
    spec = parts.spec.model_copy(update={"cold_replicas": 0, "base_share": 0.0, "pinned_adapters": 0})
    memory = replace(parts.memory, host_adapters=parts.spec.adapters)
    return Replica(spec, parts.base, parts.adapter, memory, seen)


def latency_of(replica: Replica, *, rate_rps: float) -> Latency | None:
    """Latencies of a replica at a rate; None where it cannot keep up.

    Where slots are waited for, an adapter is brought in once for all that wait for it: copies, and with them how long
    requests run, follow from the waits, and these from that.
    """
    if replica.spec.paged:
        return _paged(replica, rate_rps=rate_rps)
    found = _at_rate(replica, rate_rps=rate_rps)
    for _ in range(SETTLING):
        if found is None or found.waits is None or found.waits.waiting < FELT:
            break
        swapped, before = _brought_in(found), found.replica.missing
        if abs(swapped - before) <= FELT * before:
            break
        found = _at_rate(replace(replica, swapped=swapped), rate_rps=rate_rps)
    return found


def _paged(replica: Replica, *, rate_rps: float) -> Latency | None:
    """Adapters in pages are those of the running requests."""
    running = replica.running(rate_rps)
    return None if running is None else _at_rate(replace(replica, batch=running[0]), rate_rps=rate_rps)


def _at_rate(replica: Replica, *, rate_rps: float) -> Latency | None:
    found = replica.running(rate_rps)
    if found is None:
        return None
    running, hits = found
    prefill_s, layers = replica.prefill_s(hits), replica.base.llm.layers
    loading = loading_of(replica.spec, adapter=replica.adapter, prefill_s=prefill_s, layers=layers)
    residence_s = prefill_s + replica.spec.output_tokens * replica.tpot_s(running, held_s=replica.held_s(hits))
    waits = slot_waits_of(replica, running=rate_rps * residence_s, residence_s=residence_s)
    return Latency(replica, rate_rps, running, hits, waits, loading)


def _brought_in(found: Latency) -> float:
    """Swaps over the requests with an adapter, by the cycles of the adapters."""
    replica, rate = found.replica, found.rate_rps * found.replica.adapted
    rest, share = unpinned(replica)
    # In units of the residence, as the waits were worked out from it.
    running = found.rate_rps * found.residence_s * replica.adapted * (1 - share)
    drain = drain_wait(rest, running=running, slots=replica.free_slots, law=law_of_residence(replica))
    usual = replica.missing if replica.swapped is None else replica.swapped
    return usual if drain is None else min(drain.activations_per_s / found.residence_s / rate, 1 - replica.tiers.gpu)

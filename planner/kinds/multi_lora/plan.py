"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from planner.core.catalog import Catalog
from planner.formulas import lengths
from planner.formulas.busy_periods import law_of
from planner.formulas.distinct import without_hottest
from planner.formulas.slot_cliff import SlotWaits, slot_waits
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

PLENTY = 8.0
"""Standard deviations above the running adapters from which slots are never all taken."""


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
        return self.parts.replica(self.fleet.replicas, routing="random")

    @cached_property
    def bill(self) -> Bill | None:
        """What it costs; None without a price."""
        return bill_of(self)

    @cached_property
    def noise(self) -> Noise:
        """What a noisy tenant does to the others."""
        return noise_of(self)

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
    return Plan(given, spec, catalog, parts, tenants, fleet, latency_of(fleet.replica, rate_rps=fleet.busiest_rps))


def latency_of(replica: Replica, *, rate_rps: float) -> Latency | None:
    """Latencies of a replica at a rate; None where it cannot keep up."""
    found = replica.running(rate_rps)
    if found is None:
        return None
    running, hits = found
    prefill_s, layers = replica.prefill_s(hits), replica.base.llm.layers
    loading = loading_of(replica.spec, adapter=replica.adapter, prefill_s=prefill_s, layers=layers)
    residence_s = prefill_s + replica.spec.output_tokens * replica.tpot_s(running, held_s=replica.held_s(hits))
    waits = slot_waits_of(replica, running=rate_rps * residence_s, residence_s=residence_s)
    return Latency(replica, rate_rps, running, hits, waits, loading)


def slot_waits_of(replica: Replica, *, running: float, residence_s: float) -> SlotWaits | None:
    """Waits for a slot; None where some adapters never get one."""
    adapted = running * replica.adapted
    different = replica.distinct(running)
    plenty = different.mean + PLENTY * different.deviation <= replica.free_slots
    if not replica.adapter.exists or adapted <= 0 or residence_s <= 0 or plenty:
        return SlotWaits(0.0, 0.0, 0.0, 0.0, 0.0, different, 0.0)
    rest, share = without_hottest(
        replica.seen.popularity, pinned=min(replica.spec.pinned_adapters, replica.memory.slots)
    )
    law = law_of(math.sqrt(lengths.squared_variation(replica.spec.output_sigma)))
    found = slot_waits(rest, running=adapted * (1 - share), slots=replica.free_slots, residence_s=residence_s, law=law)
    return found if found is None or share <= 0 else _thinned(found, share=share)


def _thinned(waits: SlotWaits, *, share: float) -> SlotWaits:
    """Waits over all requests, of which a share asks for pinned adapters and never waits."""
    left = 1 - share

    def at(probability: float) -> float:
        inner = 1 - (1 - probability) / left if left > 0 else 0.0
        known = ((0.5, waits.p50_s), (0.9, waits.p90_s), (0.99, waits.p99_s))
        return max((wait for level, wait in known if level <= inner), default=0.0)

    return SlotWaits(waits.mean_s * left, waits.waiting * left, at(0.5), at(0.9), at(0.99), waits.different, waits.full)

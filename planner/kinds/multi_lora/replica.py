"""One replica as a function of how many requests run: its step, its tokens, the rate it can do and what binds it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from scipy.optimize import brentq

from planner.formulas import shared_steps
from planner.formulas.distinct import (
    Distinct,
    TierShares,
    distinct_in_load,
    lru_hits,
    mean_distinct,
    tier_shares,
    without_hottest,
)
from planner.formulas.popularity import Popularity
from planner.formulas.slot_cliff import safe_slots
from planner.formulas.typical_replica import TypicalReplica
from planner.kinds.multi_lora.base import Base
from planner.kinds.multi_lora.loading import loading_of
from planner.kinds.multi_lora.memory import Memory
from planner.kinds.multi_lora.shapes import Adapter
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.steps import Step, step_of

BINDS = {
    "kv": "KV memory",
    "cap": "the running cap",
    "slots": "slots",
    "tpot": "TPOT",
}


@dataclass(frozen=True, eq=False)
class Replica:
    """A replica and what it sees of the adapters; ``adapted`` is the share of its requests that name one."""

    spec: MultiLoraSpec
    base: Base
    adapter: Adapter
    memory: Memory
    seen: TypicalReplica
    swapped: float | None = None
    """Of the requests with an adapter, those that bring it in, where slots are waited for: then fewer than miss."""
    batch: float | None = None
    """Requests that run, where adapters stay in pages as long as one of theirs does; None: as many as can."""

    @property
    def adapted(self) -> float:
        """Share of the requests that name an adapter."""
        return 1 - self.spec.base_share

    @property
    def pinned(self) -> int:
        """Adapters that keep a slot for good."""
        return 0 if self.spec.paged else min(self.spec.pinned_adapters, self.memory.slots)

    @property
    def free_slots(self) -> int:
        """Slots that are not pinned."""
        return self.memory.slots - self.pinned

    @property
    def held(self) -> float:
        """Adapters on the GPU: as many as slots, or in pages those of the running requests."""
        if self.memory.in_pages is None:
            return float(self.memory.slots)
        return self.memory.in_pages if self.batch is None else self.mean_distinct(self.batch)

    def step(self, batch: float) -> Step:
        """A decode step with so many running."""
        base_s = self.base.step_s(batch, context_tokens=self.memory.request_tokens)
        return step_of(self, base_s=base_s, batch=batch)

    def distinct(self, batch: float) -> Distinct:
        """Different adapters among so many running."""
        return distinct_in_load(self.seen.popularity, running=batch * self.adapted)

    def mean_distinct(self, batch: float) -> float:
        """The mean of them."""
        return mean_distinct(self.seen.popularity, running=batch * self.adapted)

    def tpot_s(self, batch: float, *, held_s: float) -> float:
        """Time of a token with so many running."""
        return shared_steps.tpot_s(
            self.step(batch).total_s,
            batch=batch,
            prefill_s=held_s,
            output_tokens=self.spec.output_tokens,
        )

    def prefix_hits(self, batch: float) -> float:
        """Share of the prompt tokens found, when so many run: free KV keeps the prefixes used last."""
        prefix = self.spec.prefix_share * self.spec.input_tokens
        if prefix < 1:
            return 0.0
        different = self.mean_distinct(batch)
        free = self.memory.kv_tokens - batch * self.memory.request_tokens
        if self.memory.in_pages is not None and self.memory.kv_bytes_per_token > 0:
            free += (self.memory.in_pages - different) * self.memory.gpu_slot_bytes / self.memory.kv_bytes_per_token
        # What runs has its prefix in place; the rest is kept as long as nothing else needs the room.
        return self.spec.prefix_share * lru_hits(self.seen.popularity, slots=max(free / prefix, different, 0.0))

    def prefill_s(self, prefix_hits: float) -> float:
        """Time of the replica for a mean prompt [s]."""
        return self.base.prefill_s(self.spec.input_tokens * (1 - prefix_hits))

    @cached_property
    def tiers(self) -> TierShares:
        """Where requests with an adapter find it."""
        return tiers_of(self)

    @cached_property
    def stall_s(self) -> float:
        """Time of the replica that copies take for a mean request, where all wait for them [s]."""
        if self.spec.copying != "stalls" or self.adapted <= 0:
            return 0.0
        loading = loading_of(self.spec, adapter=self.adapter, prefill_s=0.0, layers=1)
        return self.adapted * self.missing * loading.swap_s

    @property
    def missing(self) -> float:
        """Of the requests with an adapter that it serves, those that bring it into a slot."""
        if self.swapped is not None:
            return self.swapped
        if not self.spec.cold_replicas:
            return 1 - self.tiers.gpu
        kept = self.tiers.gpu + self.tiers.host
        return self.tiers.host / kept if kept > 0 else 0.0

    @property
    def served_share(self) -> float:
        """Of all requests, those that it and its like serve: the rest begin on cold-start replicas."""
        return 1 - self.adapted * self.tiers.store if self.spec.cold_replicas else 1.0

    def held_s(self, prefix_hits: float) -> float:
        """Time of the replica that a request takes beside its decode steps [s]."""
        return self.prefill_s(prefix_hits) + self.stall_s

    @cached_property
    def limits(self) -> dict[str, float]:
        """Running requests that KV memory, the cap and the slots allow."""
        return {
            "kv": self.memory.places,
            "cap": float(self.spec.max_batch),
            "slots": self._within_slots(),
        }

    @cached_property
    def places(self) -> float:
        """Running requests that memory and cap allow; below one nothing runs."""
        return min(self.memory.places, float(self.spec.max_batch))

    def _within_slots(self) -> float:
        """Running requests whose adapters, with two deviations, have slots."""
        slots, popularity = self.memory.slots, self.seen.popularity
        nothing = self.adapted <= 0 or not self.adapter.exists
        if nothing or slots >= self.seen.items - 1e-9 or (self.spec.paged and slots > 0):
            return math.inf
        if slots <= 0:
            return 0.0
        return within_slots(popularity, slots=slots, adapted=self.adapted, most=self.places)

    @cached_property
    def best(self) -> Best:
        """What it can do at most within the objective, and what binds."""
        most, binds = min((limit, name) for name, limit in self.limits.items())
        if most < 1:
            return Best(0.0, 0.0, binds)
        if self.spec.paged:
            return self._best_in_pages(most, binds)
        held_s = self.held_s(self.prefix_hits(most))
        within = shared_steps.batch_within(
            self.spec.tpot_slo_s,
            step=lambda batch: self.step(batch).total_s,
            prefill_s=held_s,
            output_tokens=self.spec.output_tokens,
            most=most,
        )
        if within < most:
            most, binds = within, "tpot"
        return Best(self._rate(most, held_s), most, binds)

    def _best_in_pages(self, most: float, binds: str) -> Best:
        tokens = self.spec.output_tokens
        within = shared_steps.batch_within(
            self.spec.tpot_slo_s, step=self.paced_s, prefill_s=0.0, output_tokens=tokens, most=most
        )
        step_s = self.paced_s(within)
        rate = shared_steps.rate_rps(step_s, batch=within, prefill_s=0.0, output_tokens=tokens)
        return Best(rate, within, binds if within == most else "tpot")

    def _rate(self, batch: float, held_s: float) -> float:
        if batch <= 0:
            return 0.0
        return shared_steps.rate_rps(
            self.step(batch).total_s, batch=batch, prefill_s=held_s, output_tokens=self.spec.output_tokens
        )

    def rate_rps(self, batch: float) -> float:
        """Requests a second that keep so many running."""
        return self._rate(batch, self.held_s(self.prefix_hits(batch)))

    @cached_property
    def full_rps(self) -> float:
        """Requests a second with all places taken, however late they are."""
        return self.rate_rps(self.places) if self.places >= 1 and self._can_serve else 0.0

    @property
    def _can_serve(self) -> bool:
        return self.adapted <= 0 or not self.adapter.exists or self.free_slots > 0 or self.pinned >= self.seen.items

    def paced_s(self, batch: float) -> float:
        """Time of a token with so many running, where the adapters on the GPU are theirs."""
        there = replace(self, batch=batch)
        return there.tpot_s(batch, held_s=there.held_s(there.prefix_hits(batch)))

    def running(self, rate: float) -> tuple[float, float] | None:
        """Running requests at a rate and the prefix hits; None where it cannot keep up."""
        if self.places < 1:
            return None
        if self.spec.paged:
            return self._running_in_pages(rate)
        hits = self.prefix_hits(min(self.places, self.limits["slots"]))
        batch = 0.0
        for _ in range(2):
            found = shared_steps.batch_at(
                rate,
                step=lambda batch: self.step(batch).total_s,
                prefill_s=self.held_s(hits),
                output_tokens=self.spec.output_tokens,
                most=self.places,
            )
            if found is None:
                return None
            batch, hits = found, self.prefix_hits(found)
        return batch, hits

    def _running_in_pages(self, rate: float) -> tuple[float, float] | None:
        found = shared_steps.batch_at(
            rate, step=self.paced_s, prefill_s=0.0, output_tokens=self.spec.output_tokens, most=self.places
        )
        return None if found is None else (found, self.prefix_hits(found))


@dataclass(frozen=True, slots=True)
class Best:
    """The most a replica does: its rate, the batch at that, and what binds."""

    rate_rps: float
    batch: float
    binds: str


@lru_cache(maxsize=1024)
def within_slots(popularity: Popularity, *, slots: int, adapted: float, most: float) -> float:
    """Running requests, of so many at most, whose adapters have slots; infinite: all."""
    if safe_slots(popularity, running=most * adapted) <= slots:
        return math.inf
    # One request always has a slot.
    if safe_slots(popularity, running=adapted) >= slots:
        return 1.0
    found = brentq(lambda batch: slots - safe_slots(popularity, running=batch * adapted), 1.0, most, rtol=1e-7)
    return float(found)


def tiers_of(replica: Replica) -> TierShares:
    """Where requests with an adapter find it: pinned ones and those used last."""
    memory, popularity = replica.memory, replica.seen.popularity
    if not replica.adapter.exists or replica.adapted <= 0:
        return TierShares(1.0, 0.0, 0.0)
    pinned = replica.pinned
    return _tiers(popularity, pinned=pinned, slots=replica.held - pinned, host=max(memory.host_adapters - pinned, 0))


@lru_cache(maxsize=512)
def _tiers(popularity: Popularity, *, pinned: int, slots: float, host: int) -> TierShares:
    rest, share = without_hottest(popularity, pinned=pinned)
    found = tier_shares(rest, slots=slots, host=host)
    left = 1 - share
    return TierShares(share + left * found.gpu, left * found.host, left * found.store)

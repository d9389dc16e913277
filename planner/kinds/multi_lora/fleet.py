"""How many replicas the load takes, and how full they then are."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.formulas.sizing import whole
from planner.formulas.typical_replica import TypicalReplica
from planner.kinds.multi_lora.asked import Asked, seen_by_replica
from planner.kinds.multi_lora.base import Base
from planner.kinds.multi_lora.memory import Memory, paged_for
from planner.kinds.multi_lora.replica import Replica
from planner.kinds.multi_lora.shapes import Adapter
from planner.kinds.multi_lora.spec import MultiLoraSpec

MOST_REPLICAS = 100_000


@dataclass(frozen=True, slots=True)
class Parts:
    """What a replica is made of, whatever it sees of the adapters."""

    spec: MultiLoraSpec
    base: Base
    adapter: Adapter
    memory: Memory
    asked: Asked
    made: dict[tuple[int, str], Replica] = field(default_factory=dict, compare=False, repr=False)
    """Replicas that were asked for before."""

    def seen(self, replicas: int, *, routing: str = "") -> TypicalReplica:
        """What one of so many replicas sees."""
        return seen_by_replica(self.spec, asked=self.asked, routing=routing or self.spec.routing, replicas=replicas)

    def replica(self, replicas: int, *, routing: str = "") -> Replica:
        """One of so many replicas."""
        key = (replicas, routing or self.spec.routing)
        if key not in self.made:
            seen, memory = self.seen(replicas, routing=routing), self.memory
            if self.spec.paged:
                memory = paged_for(memory, self.spec, seen=seen.popularity)
            self.made[key] = Replica(self.spec, self.base, self.adapter, memory, seen)
        return self.made[key]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Replicas of a load."""

    rate_rps: float
    needed: int | None
    """None: no number of replicas serves it."""
    replicas: int
    replica: Replica

    @property
    def busiest_rps(self) -> float:
        """Load of the busiest replica."""
        return self.rate_rps * self.replica.served_share / self.replicas * self.replica.seen.imbalance

    @property
    def max_rps(self) -> float:
        """Load up to which the busiest replica serves in time."""
        return self._of_all(self.replica.best.rate_rps)

    @property
    def full_rps(self) -> float:
        """Load up to which the busiest replica serves at all."""
        return self._of_all(max(self.replica.full_rps, self.replica.best.rate_rps))

    @property
    def served_rps(self) -> float:
        """Of the load, what is served, in time or late."""
        return min(self.rate_rps, self.full_rps)

    def _of_all(self, rate_rps: float) -> float:
        one = self.replica
        # Where no request ends here at all, what they could do is told without those that begin elsewhere.
        return rate_rps * self.replicas / one.seen.imbalance / (one.served_share or 1.0)

    @property
    def utilisation(self) -> float | None:
        """Load over what the fleet does in time."""
        return self.rate_rps / self.max_rps if self.max_rps > 0 else None


def fleet_of(parts: Parts, *, rate_rps: float, routing: str = "") -> Fleet:
    """The replicas stated, or as many as the load needs with headroom, and the spare ones."""
    needed = replicas_needed(parts, rate_rps=rate_rps * (1 + parts.spec.headroom), routing=routing)
    count = parts.spec.replicas or max(needed or 1, 1) + parts.spec.spare_replicas
    return Fleet(rate_rps, needed, count, parts.replica(count, routing=routing))


def replicas_needed(parts: Parts, *, rate_rps: float, routing: str = "", least: int = 0) -> int | None:
    """The fewest replicas that do a rate, of which so many are known to be needed; None when no number does."""
    if rate_rps <= 0:
        return 0
    chosen = routing or parts.spec.routing
    alone = parts.replica(1, routing="random").best.rate_rps
    if chosen == "random" and alone <= 0:
        return None
    most = max(min(whole(rate_rps / alone) if alone > 0 else MOST_REPLICAS, MOST_REPLICAS), 1)
    if chosen == "random":
        return most
    most = max(least, 1) if least else most
    while not _enough(parts, most, rate_rps=rate_rps, routing=routing):
        if most >= MOST_REPLICAS:
            return None
        least, most = most + 1, min(most + max(most // 4, 1) if least else 2 * most, MOST_REPLICAS)
    return most if least == most else _fewest(parts, most, rate_rps=rate_rps, routing=routing)


def _fewest(parts: Parts, enough: int, *, rate_rps: float, routing: str) -> int:
    """Down from a number that suffices, in growing steps, then between."""
    step = 1
    while enough > 1 and _enough(parts, max(enough - step, 1), rate_rps=rate_rps, routing=routing):
        enough, step = max(enough - step, 1), 2 * step
    low = max(enough - step, 0)
    while enough - low > 1:
        middle = (low + enough) // 2
        if _enough(parts, middle, rate_rps=rate_rps, routing=routing):
            enough = middle
        else:
            low = middle
    return enough


def _enough(parts: Parts, replicas: int, *, rate_rps: float, routing: str) -> bool:
    one = parts.replica(replicas, routing=routing)
    return rate_rps * one.served_share / replicas * one.seen.imbalance <= one.best.rate_rps * (1 + 1e-9)

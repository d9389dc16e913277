"""How long a request waits for its prefill under each policy, and how uneven the load is that it meets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.formulas import balancing, hashing, stale_views
from planner.formulas.popularity import zipf
from planner.kinds.gateway.reuse import Reuse
from planner.kinds.gateway.service import Service
from planner.kinds.gateway.spec import GatewaySpec

UNCAPPED = "prefix_uncapped"
SPREADING = ("random", "round_robin", "least_requests", "power_of_two")
"""Policies that do not look at what is cached."""


@dataclass(frozen=True, slots=True)
class Uneven:
    """Load of instances in means: of the fullest one, and its squared coefficient of variation."""

    peak: float
    squared_cv: float


EVEN = Uneven(1.0, 0.0)
OVER_CAP = 1.2
"""Fullest instance over the cap when copies of hot prefixes go where least is."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Requests that are better off with one instance: their share, and what they save by staying [s]."""

    share: float
    saved_s: float


def uneven(spec: GatewaySpec, reuse: Reuse, *, name: str, cap: float) -> Uneven:
    """How uneven the mean loads of the instances are."""
    if name in SPREADING or not reuse.groups or reuse.rps <= 0:
        return EVEN
    if name == "bounded_hash" and spec.hash_key == "session":
        return EVEN
    placed = _placed(reuse.groups, reuse.exponent, instances=reuse.instances, cap=cap)
    if name == "prefix_aware" and not math.isinf(cap):
        # Ties go to the emptier: 1.4 to 1.5 in simulations with a cap of 1.25.
        peak = min(placed.peak, OVER_CAP * cap)
        return Uneven(max(peak, 1.0), min(placed.squared_cv, max(peak - 1.0, 0.0) / 2))
    if name in ("bounded_hash", "cost_based"):
        limit = spec.load_bound if name == "bounded_hash" else max(cap, 1.0)
        peak = min(placed.peak, limit)
        return Uneven(peak, min(placed.squared_cv, peak - 1))
    return placed


@lru_cache(maxsize=128)
def _placed(groups: int, exponent: float, *, instances: int, cap: float) -> Uneven:
    """Prefixes, or copies of the hot ones, each on an instance drawn at random."""
    popularity = zipf(groups, exponent=exponent)
    copies = np.ones_like(popularity.shares)
    cv = hashing.plain_cv(popularity.shares, instances=instances, items=popularity.items)
    if not math.isinf(cap):
        copies = hashing.copies(popularity.shares, instances=instances, cap=cap)
        cv = hashing.copied_cv(popularity.shares, instances=instances, cap=cap, items=popularity.items)
    peak = hashing.plain_peak(popularity.shares / copies, instances=instances, items=popularity.items * copies)
    return Uneven(max(peak, 1.0), cv * cv)


def wait_s(
    spec: GatewaySpec, reuse: Reuse, *, name: str, service: Service, load: Uneven, bound: Bound, routers: int
) -> float | None:
    """Mean wait for prefill [s]; None where an instance saturates."""
    mean, rho = service.mean_s, service.queue_rho
    if mean is None or service.rho >= 1:
        return None
    if mean <= 0 or rho <= 0:
        return 0.0
    unequal_s = (1 + service.scv) / 2 * mean
    if name == "round_robin":
        return _in_turn(rho, scv=service.scv, instances=spec.instances) * mean
    if name in ("least_requests", "power_of_two"):
        return _by_count(spec, reuse, name=name, rho=rho, mean_s=mean, routers=routers) * unequal_s
    if name == "cost_based":
        free_s = by_queue(spec, two=False, rho=rho, mean_s=mean, routers=routers) * unequal_s
        return _by_cost(rho, bound=bound, chance_s=_by_chance(rho) * unequal_s, free_s=free_s)
    return _by_place(rho, service=service, load=load, bounded=name == "bounded_hash", unequal_s=unequal_s)


def _by_chance(rho: float) -> float:
    """Wait behind Poisson arrivals, in service times."""
    return (balancing.random_sojourn(rho) or 1.0) - 1


def _in_turn(rho: float, *, scv: float, instances: int) -> float:
    """Round robin: arrivals N times as regular; the Allen-Cunneen factor for service that is not exponential."""
    regular = 1 / instances
    sojourn = balancing.round_robin_sojourn(rho, instances=instances) or 1.0
    return (sojourn - 1) * (regular + scv) / (regular + 1)


def _by_place(rho: float, *, service: Service, load: Uneven, bounded: bool, unequal_s: float) -> float | None:
    """A request meets the load of its own instance, 1 + CV² of the mean on average: many go where much is."""
    if not bounded and service.rho * load.peak >= 1:
        return None
    seen = min(1 + load.squared_cv, load.peak) * rho
    return _by_chance(seen) * unequal_s if seen < 1 else None


def _by_count(spec: GatewaySpec, reuse: Reuse, *, name: str, rho: float, mean_s: float, routers: int) -> float:
    """Open requests are counted; most of them decode and wait for nothing, so the count says little of the queue."""
    waiting = _by_chance(rho) * rho
    decoding = reuse.rps / reuse.instances * spec.output_tokens * spec.tpot_s
    said = waiting / (waiting + decoding) if waiting > 0 else 0.0
    seen = by_queue(spec, two=name == "power_of_two", rho=rho, mean_s=mean_s, routers=routers)
    return said * seen + (1 - said) * _by_chance(rho)


def by_queue(spec: GatewaySpec, *, two: bool, rho: float, mean_s: float, routers: int) -> float:
    """Wait in the shortest queue, or the shorter of two, by views of an age, in service times.

    The table of stale views is for a load of 0.9; what age adds is scaled by the wait of random at the load at hand.
    """
    if two:
        fresh = balancing.choices_sojourn(rho, choices=2)
    else:
        fresh = balancing.join_shortest_sojourn(rho, instances=spec.instances)
    added = _added_by_age(spec.view_interval_s / mean_s, spec=spec, two=two, routers=routers)
    return (fresh or 1.0) - 1 + added * _by_chance(rho) / _by_chance(stale_views.HERD_LOAD)


def _added_by_age(interval: float, *, spec: GatewaySpec, two: bool, routers: int) -> float:
    """What old views add at the load of the table.

    A count of own dispatches helps as far as they are much of all dispatches: fully up to eight gateways, then with the
    cube root of their number less; 32 of them at 16 service times simulate as 5.60, this gives 5.73.
    """

    def added(rule: stale_views.Rule) -> float:
        return stale_views.stale_sojourn(interval, rule=rule) - stale_views.stale_sojourn(0.0, rule=rule)

    if two:
        return added("two")
    if spec.own_dispatches == "not_counted":
        return added("least")
    helped = min(1.0, math.cbrt(stale_views.OWN_ROUTERS / max(routers, 1)))
    return helped * added("least_own") + (1 - helped) * added("least")


def _by_cost(rho: float, *, bound: Bound, chance_s: float, free_s: float) -> float:
    """Turns with a history stay with its holder unless the queue there costs more; the others take the shortest."""
    free_s = min(free_s, chance_s)
    held_s = wait_below_s(rho=rho, mean_wait_s=chance_s, at_most_s=max(bound.saved_s, free_s))
    return bound.share * held_s + (1 - bound.share) * free_s


def wait_below_s(*, rho: float, mean_wait_s: float, at_most_s: float) -> float:
    """E[min(W, a)] of a wait with an atom at zero and an exponential tail."""
    return -mean_wait_s * math.expm1(-at_most_s * rho / mean_wait_s) if mean_wait_s > 0 else 0.0


def spilled_share(service: Service, *, bound: Bound) -> float:
    """Requests that leave their instance because its queue is longer than what staying saves."""
    mean, rho = service.mean_s, service.queue_rho
    if bound.share <= 0 or rho <= 0:
        return 0.0
    if mean is None or rho >= 1:
        return bound.share
    tail_s = (1 + service.scv) / 2 * mean / (1 - rho)
    return bound.share * rho * math.exp(-bound.saved_s / tail_s) if tail_s > 0 else 0.0

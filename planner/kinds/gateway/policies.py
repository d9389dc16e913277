"""The policies on the same load: hits, waiting, skew and what the fleet can carry with each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from planner.formulas import affinity, hashing, prefix_index, queueing
from planner.kinds.gateway.inputs import POLICY_LABELS
from planner.kinds.gateway.reuse import Hits, Placement, Reuse, hits, reuse_of
from planner.kinds.gateway.ring import pushed_share
from planner.kinds.gateway.saturation import LEAST_REQUEST_S, saturation_rps
from planner.kinds.gateway.service import Service, computed_tokens, request_s, service_of
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import SPREADING, UNCAPPED, Bound, spilled_share, uneven, wait_s

LABELS = {**POLICY_LABELS, UNCAPPED: "Longest prefix, no cap"}
IN_WORDS = {
    "random": "random routing",
    "round_robin": "round robin",
    "least_requests": "routing by least requests",
    "power_of_two": "the power of two choices",
    "bounded_hash": "the bounded-load hash",
    "prefix_aware": "routing by longest prefix",
    UNCAPPED: "routing by longest prefix without a cap",
    "cost_based": "routing by cost",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one policy does with the load of the spec. Times are None where the queue grows without end."""

    name: str
    hits: Hits
    delivered: float
    """Share of the prompt tokens hit in the end: what routing finds, less what was evicted since."""
    captured: float
    """Before the eviction."""
    service: Service
    wait_s: float | None
    ttft_s: float | None
    ttft_p99_s: float | None
    skew: float
    """Mean load of the fullest instance over the mean of all."""
    spilled: float
    """Requests sent away from the holder of their prefix because its queue is longer than computing it."""
    nominal_rps: float
    """Rate that would saturate the first instance if caches found as much as they do at the peak."""
    saturates: Callable[[], float] = field(compare=False, repr=False)
    """The rate that does, worked out when somebody asks."""

    @property
    def capacity_rps(self) -> float:
        """Request rate that saturates the first instance; at it caches hold less of each session."""
        return self.saturates()

    @property
    def label(self) -> str:
        return LABELS[self.name]

    @property
    def words(self) -> str:
        """Within a sentence."""
        return IN_WORDS[self.name]

    @property
    def said(self) -> str:
        """At the beginning of a sentence."""
        return self.words[:1].upper() + self.words[1:]

    def share_waiting_longer(self, time_s: float) -> float:
        """Requests that wait longer than this for their prefill: an atom at zero and an exponential tail."""
        rho = self.service.queue_rho
        if self.wait_s is None:
            return 1.0
        return rho * math.exp(-time_s * rho / self.wait_s) if self.wait_s > 0 and rho > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies side by side, the one chosen, and whether they tie."""

    outcomes: dict[str, Outcome]
    chosen: Outcome
    reuse: Reuse
    held: Hits
    """What the fleet could hit if every request found the best cache."""
    tie: affinity.Reason
    gain: float
    """Capacity with affinity over random's."""
    prefill_share_of_random: float

    @property
    def best(self) -> Outcome:
        """The most capacity; between equals the shortest wait."""
        real = [each for each in self.outcomes.values() if each.name != UNCAPPED]
        return max(real, key=lambda each: (round(each.nominal_rps, 6), -(each.wait_s or math.inf)))

    def relative(self, outcome: Outcome) -> float:
        """Capacity over random's."""
        return outcome.capacity_rps / self.outcomes["random"].capacity_rps


def policies_of(spec: GatewaySpec, *, routers: int, gateway_s: float) -> Policies:
    """Every policy on the load of the spec, routed by so many gateways."""
    reuse = reuse_of(spec)
    names = [*POLICY_LABELS]
    if spec.hot_prefix_cap is not None:
        names.insert(names.index("cost_based"), UNCAPPED)
    drafts = [_outcome(spec, reuse, name=name, routers=routers, gateway_s=gateway_s) for name in names]
    # Those that do not look at what is cached find the same, so that the same rate saturates them.
    first = drafts[names.index(SPREADING[0])]
    drafts = [replace(each, saturates=first.saturates) if each.name in SPREADING else each for each in drafts]
    outcomes = {each.name: each for each in _with_tails(drafts, gateway_s)}
    spread, pooled = hits(reuse, placement="spread"), hits(reuse, placement="pooled")
    random = outcomes["random"]
    share = random.service.prefill_share / random.service.rho if random.service.rho > 0 else 0.0
    of_reusable = 1 / reuse.reusable_share if reuse.reusable_share > 0 else 0.0
    facts = {
        "random_hits": spread.share * of_reusable,
        "reusable": reuse.reusable_share,
        "prefill_share": share,
    }
    return Policies(
        outcomes=outcomes,
        chosen=outcomes[spec.policy],
        reuse=reuse,
        held=pooled,
        tie=affinity.tie_reason(pooled.share * of_reusable, load=random.service.rho, **facts),
        gain=affinity.affinity_gain(pooled.share * of_reusable, **facts),
        prefill_share_of_random=share,
    )


def cap_of(spec: GatewaySpec) -> float:
    """What one prefix puts on an instance under the cost-based policy, which copies hot ones by itself."""
    return min(hashing.CAP, math.inf if spec.hot_prefix_cap is None else spec.hot_prefix_cap)


def _placement(spec: GatewaySpec, name: str) -> tuple[Placement, float]:
    if name in SPREADING:
        return "spread", math.inf
    if name == "bounded_hash":
        return ("by_session", math.inf) if spec.hash_key == "session" else ("hashed", spec.load_bound)
    if name == "cost_based":
        return "copied", cap_of(spec)
    if name == UNCAPPED or spec.hot_prefix_cap is None:
        return "pooled", math.inf
    return "copied", spec.hot_prefix_cap


@dataclass(frozen=True, slots=True)
class _Found:
    """Hits of a policy: where it places requests, what its index knows, what is still there."""

    placed: Hits
    reached: Hits
    delivered: Hits


def _found(spec: GatewaySpec, reuse: Reuse, *, name: str, routers: int) -> _Found:
    placement, cap = _placement(spec, name)
    placed = hits(reuse, placement=placement, cap=cap)
    if name == "prefix_aware" and not math.isinf(cap) and reuse.groups:
        placed = _pushed(reuse, placed, cap=cap)
    looks = name in ("prefix_aware", UNCAPPED, "cost_based")
    reached = _reached(spec, reuse, placed, routers=routers) if looks else placed
    return _Found(placed, reached, _delivered(spec, reached, name=name))


def _outcome(spec: GatewaySpec, reuse: Reuse, *, name: str, routers: int, gateway_s: float) -> Outcome:
    found = _found(spec, reuse, name=name, routers=routers)
    service, bound, spilled = _served(spec, reuse, found.delivered, name=name, elsewhere=_elsewhere(reuse))
    load = uneven(spec, reuse, name=name, cap=_placement(spec, name)[1])
    waiting_s = wait_s(spec, reuse, name=name, service=service, load=load, bound=bound, routers=routers)
    mean_s = service.mean_s

    skew = load.peak if name in ("prefix_aware", UNCAPPED) else 1.0
    each_s = max(request_s(spec, computed_tokens=service.computed_tokens), LEAST_REQUEST_S)
    return Outcome(
        name=name,
        hits=found.placed,
        delivered=_hit(service.computed_tokens / reuse.prompt_tokens) if reuse.rps > 0 else 0.0,
        captured=found.reached.share,
        service=service,
        wait_s=waiting_s,
        ttft_s=None if waiting_s is None or mean_s is None else gateway_s + waiting_s + mean_s,
        ttft_p99_s=None,
        skew=load.peak,
        spilled=spilled,
        nominal_rps=spec.instances / each_s / skew,
        saturates=cache(lambda: _saturates(spec, reuse, name=name, routers=routers, service=service, skew=skew)),
    )


def _hit(computed: float) -> float:
    """What is not computed; a rest of the arithmetic is nothing."""
    return 1 - computed if 1 - computed > 1e-12 else 0.0


def _elsewhere(reuse: Reuse) -> float:
    """Share of the shared prefixes that any instance holds at the peak."""
    return hits(reuse, placement="spread").prefix


def _spills(spec: GatewaySpec, *, name: str) -> bool:
    """Whether requests leave the holder of their prefix when its queue is long."""
    return name == "cost_based" and spec.instances >= 2


def _served(
    spec: GatewaySpec, reuse: Reuse, delivered: Hits, *, name: str, elsewhere: float
) -> tuple[Service, Bound, float]:
    """The service of a policy; the cost-based one computes again what leaves long queues."""
    service = service_of(spec, reuse=reuse, hits=delivered)
    if not _spills(spec, name=name):
        return service, Bound(0.0, 0.0), 0.0
    # Tokens that a turn with a history computes again when it leaves the instance that holds it.
    again = reuse.found_tokens + max(delivered.prefix - elsewhere, 0.0) * reuse.prefix_tokens
    left = max(1 - service.decode_share, 1e-12)
    bound = Bound(reuse.follow_share * delivered.history, again / (spec.prefill_tokens_per_s * left))
    spilled = spilled_share(service, bound=bound)
    extra = spilled * again
    return service_of(spec, reuse=reuse, hits=delivered, extra_tokens=extra), bound, spilled


def _saturates(spec: GatewaySpec, reuse: Reuse, *, name: str, routers: int, service: Service, skew: float) -> float:
    """The rate at which the first instance is full, with what caches find at that rate."""
    whole = reuse.prompt_tokens
    elsewhere = _elsewhere(reuse)

    def computed(rps: float) -> float:
        there, loaded = replace(reuse, rps=rps), spec.model_copy(update={"peak_rps": rps})
        found = _found(loaded, there, name=name, routers=routers)
        if not _spills(loaded, name=name):
            return computed_tokens(there, found.delivered)
        return _served(loaded, there, found.delivered, name=name, elsewhere=elsewhere)[0].computed_tokens

    start_rps, tokens = reuse.rps, service.computed_tokens
    if start_rps <= 0:
        start_rps = _cold_rps(spec, whole)
        tokens = computed(start_rps)
    return saturation_rps(spec, computed=computed, skew=skew, start_rps=start_rps, start_tokens=tokens)


def _cold_rps(spec: GatewaySpec, tokens: float) -> float:
    """What the instances carry without a hit."""
    return spec.instances / max(request_s(spec, computed_tokens=tokens), LEAST_REQUEST_S)


def _pushed(reuse: Reuse, found: Hits, *, cap: float) -> Hits:
    """Less the histories of turns that meet a full cap and must go where another copy of their prefix is."""
    history = found.history * (1 - pushed_share(reuse.groups, reuse.exponent, instances=reuse.instances, cap=cap))
    return replace(found, history=history, share=reuse.share(prefix=found.prefix, history=history))


def _reached(spec: GatewaySpec, reuse: Reuse, found: Hits, *, routers: int) -> Hits:
    """What the index knows: routers that only remember their own decisions know one session in R."""
    if spec.index_place != "approximate" or routers <= 1 or reuse.rps <= 0:
        return found
    history = found.history / routers
    return replace(found, history=history, share=reuse.share(prefix=found.prefix, history=history))


def _delivered(spec: GatewaySpec, reached: Hits, *, name: str) -> Hits:
    """Less what has been evicted since the index knew of it; a hash asks no index."""
    lag_s = spec.event_lag_s if spec.index_place != "approximate" else 0.0
    if name in SPREADING or name == "bounded_hash":
        return reached
    kept = 1 - prefix_index.stale_share(lag_s, retention_s=reached.retention_s)
    return replace(reached, prefix=reached.prefix * kept, history=reached.history * kept, share=reached.share * kept)


def _with_tails(drafts: list[Outcome], gateway_s: float) -> list[Outcome]:
    """P99 of the TTFT: the wait with an exponential tail and the prefill, convolved, for all policies at once."""
    known = [each for each in drafts if each.wait_s is not None and each.service.mean_s]
    if not known:
        return drafts
    size = min(len(each.service.seconds) for each in known)
    service_s = np.array([each.service.seconds[-size:] for each in known])
    waiting = np.array([min(each.service.queue_rho, 1.0) for each in known])
    wait_s = np.array([(each.wait_s or 0.0) / max(each.service.queue_rho, 1e-12) for each in known])
    p99 = queueing.delay_quantiles_s([0.99], waiting=waiting, wait_if_waiting_s=wait_s, service_s=service_s)
    tails = {each.name: float(value) + gateway_s for each, value in zip(known, p99, strict=True)}
    return [replace(each, ttft_p99_s=tails.get(each.name)) for each in drafts]

"""Tables of the fleet: first tokens by where the adapter is, routing side by side, the price by rate."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.core.table import table
from planner.formulas.cost import usd_per_million_tokens
from planner.kinds.multi_lora.asked import ROUTINGS
from planner.kinds.multi_lora.fleet import Fleet, replicas_needed
from planner.kinds.multi_lora.latency import Latency
from planner.kinds.multi_lora.plan import Plan, latency_of

GROWTH_POINTS = 12
FOUND_LABELS = ("on the GPU", "in host memory", "in the store")
PART_LABELS = {
    "queue": "queue",
    "step": "step",
    "prefill": "prefill",
    "slot": "wait for a slot",
    "swap": "copy to the GPU",
    "load": "download and reading",
}
ROUTING_LABELS = {"random": "any replica", "hash": "by hash of the adapter", "load_aware": "copies by load"}


def ttft_parts(plan: Plan) -> Series:
    """Means by where the adapter is; parts sum to the time."""
    found = plan.latency
    rows = len(FOUND_LABELS) if found is not None and found.waits is not None else 0
    made = (
        [] if found is None or not rows else [_parts(found), _parts(found, brought_in=True), _cold_parts(plan, found)]
    )
    return table(
        "ttft_parts",
        "First token by where the adapter is",
        ("found", "adapter", "", list(FOUND_LABELS[:rows])),
        *((f"{name}_s", label, "s", [each[name] for each in made]) for name, label in PART_LABELS.items()),
    )


def _parts(found: Latency, *, brought_in: bool = False) -> dict[str, float]:
    """Of a first token with its adapter in a slot, or in host memory."""
    return {
        "queue": found.queue_s,
        "step": found.step_s,
        "prefill": found.prefill_s,
        "slot": found.slot_wait_missing_s if brought_in else 0.0,
        "swap": found.copied_s if brought_in else 0.0,
        "load": 0.0,
    }


def _cold_parts(plan: Plan, found: Latency) -> dict[str, float]:
    """Of one with its adapter in the store: after the download, or on a cold-start replica that has it."""
    if not plan.spec.cold_replicas:
        return {**_parts(found, brought_in=True), "load": found.loading.cold_s}
    there = found.cold
    if there is None or there.mean_s is None:
        return dict.fromkeys(PART_LABELS, 0.0)
    parts = _parts(there)
    # Some of its requests find their adapter in a slot already.
    shared = there.replica.adapted * there.missing
    swap = there.copied_s * shared
    return {**parts, "swap": swap, "slot": there.mean_s - there.hot_s - swap}


def routings(plan: Plan) -> Series:
    """Each way of routing on the same replicas and load."""
    order = sorted(ROUTINGS, key=lambda name: name != plan.spec.routing)
    fleets = [
        Fleet(plan.fleet.rate_rps, None, plan.fleet.replicas, plan.parts.replica(plan.fleet.replicas, routing=name))
        for name in order
    ]
    found = [
        plan.latency if name == plan.spec.routing else latency_of(each.replica, rate_rps=each.busiest_rps)
        for name, each in zip(order, fleets, strict=True)
    ]
    tpots = [None if one is None else one.tpot_s for one in found]
    tails = [None if one is None else one.quantile_s(0.99) for one in found]
    distinct = [
        None if one is None else each.replica.mean_distinct(one.running)
        for each, one in zip(fleets, found, strict=True)
    ]
    return table(
        "routings",
        "Ways of routing on the same replicas",
        ("routing", "requests go", "", [ROUTING_LABELS[name] for name in order]),
        (
            "gpu_hit_share",
            "adapter in a slot",
            "ratio",
            [_hits(each, one) for each, one in zip(fleets, found, strict=True)],
        ),
        ("distinct_in_batch", "different adapters in a batch", "adapters", distinct),
        ("load_imbalance", "busiest replica", "× mean", [each.replica.seen.imbalance for each in fleets]),
        ("max_rps", "the fleet does in time", "req/s", [each.max_rps for each in fleets]),
        ("tpot_s", "TPOT", "s", tpots),
        ("ttft_p99_s", "TTFT P99", "s", tails),
        (
            "prefix_hit_share",
            "prompt tokens from the prefix cache",
            "ratio",
            [None if one is None else one.prefix_hits for one in found],
        ),
    )


def _hits(fleet: Fleet, found: Latency | None) -> float:
    return fleet.replica.tiers.gpu if found is None else found.tiers.gpu


def cost_by_rate(plan: Plan) -> Series:
    """The fleet sized for each rate, at the share that limits let through."""
    spec, price = plan.spec, plan.gpu_price_usd_per_h
    now = plan.fleet.rate_rps
    top = 2 * (now or 100.0)
    rates = sorted({*(float(rate) for rate in np.linspace(0.15 * top, top, GROWTH_POINTS)), now or top})
    counts: list[int | None] = []
    needed: int | None = 0
    for rate in rates:
        needed = replicas_needed(plan.parts, rate_rps=rate * (1 + spec.headroom), least=needed or 0)
        counts.append(None if needed is None else max(needed, 1) + spec.spare_replicas)
    prices = [
        None
        if count is None or price is None
        else usd_per_million_tokens(
            (count + spec.cold_replicas) * spec.gpus_per_replica * price, tokens_per_s=rate * spec.output_tokens
        )
        for rate, count in zip(rates, counts, strict=True)
    ]
    return table(
        "cost_by_rate",
        "Price and replicas, sized for each request rate",
        ("rate_rps", "requests", "req/s", rates),
        ("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", prices),
        ("replicas", "replicas", "replicas", counts),
    )

"""Tables of the fleet: first tokens by where the adapter is, routing side by side, the price by rate."""

from __future__ import annotations

import numpy as np

from planner.core.result import Series
from planner.formulas.cost import usd_per_million_tokens
from planner.kinds.multi_lora.asked import ROUTINGS
from planner.kinds.multi_lora.fleet import Fleet, replicas_needed
from planner.kinds.multi_lora.plan import Plan, latency_of
from planner.kinds.multi_lora.table import table

GROWTH_POINTS = 12
FOUND_LABELS = ("on the GPU", "in host memory", "in the store")
ROUTING_LABELS = {"random": "any replica", "hash": "by hash of the adapter", "load_aware": "copies by load"}


def ttft_parts(plan: Plan) -> Series:
    """Means by where the adapter is; parts sum to the time."""
    found = plan.latency
    rows = len(FOUND_LABELS) if found is not None and found.waits is not None else 0
    hot = [] if found is None else [found.queue_s, found.step_s, found.prefill_s]
    slot = 0.0 if found is None else found.slot_wait_missing_s
    swap, cold = plan.loading.added_s, plan.loading.cold_added_s
    parts = {
        "queue": ("queue", [hot[0]] * 3 if rows else []),
        "step": ("step", [hot[1]] * 3 if rows else []),
        "prefill": ("prefill", [hot[2]] * 3 if rows else []),
        "slot": ("wait for a slot", [0.0, slot, slot][:rows]),
        "swap": ("copy to the GPU", [0.0, swap, swap][:rows]),
        "load": ("download and reading", [0.0, 0.0, cold][:rows]),
    }
    return table(
        "ttft_parts",
        "First token by where the adapter is",
        ("found", "adapter", "", list(FOUND_LABELS[:rows])),
        *((f"{name}_s", label, "s", values) for name, (label, values) in parts.items()),
    )


def routings(plan: Plan) -> Series:
    """Each way of routing on the same replicas and load."""
    order = sorted(ROUTINGS, key=lambda name: name != plan.spec.routing)
    fleets = [
        Fleet(plan.fleet.rate_rps, None, plan.fleet.replicas, plan.parts.replica(plan.fleet.replicas, routing=name))
        for name in order
    ]
    found = [latency_of(each.replica, rate_rps=each.busiest_rps) for each in fleets]
    tpots = [None if one is None else one.tpot_s for one in found]
    tails = [None if one is None else one.quantile_s(0.99) for one in found]
    distinct = [
        None if one is None else each.replica.distinct(one.running).mean
        for each, one in zip(fleets, found, strict=True)
    ]
    return table(
        "routings",
        "Ways of routing on the same replicas",
        ("routing", "requests go", "", [ROUTING_LABELS[name] for name in order]),
        ("gpu_hit_share", "adapter in a slot", "ratio", [each.replica.tiers.gpu for each in fleets]),
        ("distinct_in_batch", "different adapters in a batch", "adapters", distinct),
        ("load_imbalance", "busiest replica", "× mean", [each.replica.seen.imbalance for each in fleets]),
        ("max_rps", "the fleet can do", "req/s", [each.max_rps for each in fleets]),
        ("tpot_s", "TPOT", "s", tpots),
        ("ttft_p99_s", "TTFT P99", "s", tails),
        (
            "prefix_hit_share",
            "prompt tokens from the prefix cache",
            "ratio",
            [None if one is None else one.prefix_hits for one in found],
        ),
    )


def cost_by_rate(plan: Plan) -> Series:
    """The fleet sized for each rate, at the share that limits let through."""
    spec, price = plan.spec, plan.gpu_price_usd_per_h
    now = plan.fleet.rate_rps
    top = 2 * (now or 100.0)
    rates = sorted({*(float(rate) for rate in np.linspace(0.15 * top, top, GROWTH_POINTS)), now or top})
    counts: list[int | None] = []
    for rate in rates:
        needed = replicas_needed(plan.parts, rate_rps=rate * (1 + spec.headroom))
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

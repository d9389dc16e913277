"""The metrics of the fleet, its latencies, tenants and money."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Metric
from planner.formulas import adapter_loading, lengths
from planner.formulas.cost import HOURS_PER_MONTH
from planner.formulas.fair_share import counter_bound
from planner.formulas.merged_replica import MergedReplicas, merged_replicas
from planner.kinds.multi_lora.metrics import figure
from planner.kinds.multi_lora.plan import Plan

Figures = Iterator[Metric]
LONGEST = 0.999
"""Quantile of prompts that stands for the longest."""


def fleet(plan: Plan) -> Figures:
    """Replicas and how full they are."""
    made, replica, found = plan.fleet, plan.replica, plan.latency
    feasible = replica.best.rate_rps > 0
    yield figure("replicas", made.replicas if feasible or plan.spec.replicas else None)
    yield figure("replicas_needed", made.needed)
    yield figure("gpus", plan.gpus if feasible or plan.spec.replicas else None)
    yield figure("replica_max_rps", replica.best.rate_rps)
    yield figure("max_rps", made.max_rps)
    yield figure("full_rps", made.full_rps)
    yield figure("served_rps", made.served_rps)
    yield figure("utilisation", made.utilisation, objective=1.0)
    lost = plan.one_lost
    yield figure("utilisation_one_lost", None if lost is None else lost.utilisation, objective=1.0)
    yield figure("cold_utilisation", plan.cold_utilisation)
    yield figure("load_imbalance", replica.seen.imbalance)
    yield figure("running", None if found is None else found.running)
    yield figure("places", replica.places)
    yield figure("prefill_share", None if found is None else found.prefill_share)


def latencies(plan: Plan) -> Figures:
    """First tokens by where the adapter is, and their parts."""
    spec, found, loading = plan.spec, plan.latency, plan.loading
    waits = None if found is None else found.waits
    yield figure("tpot_s", None if found is None else found.tpot_s, objective=spec.tpot_slo_s)
    yield figure("ttft_mean_s", None if found is None else found.mean_s)
    yield figure("ttft_p50_s", None if found is None else found.quantile_s(0.5))
    yield figure("ttft_p99_s", None if found is None else found.quantile_s(0.99), objective=spec.ttft_p99_slo_s)
    yield figure("ttft_hot_s", None if found is None else found.hot_s)
    yield figure("ttft_warm_s", None if found is None else found.warm_s)
    yield figure("ttft_cold_s", None if found is None else found.cold_s)
    yield figure("queue_s", None if found is None else found.queue_s)
    yield figure("prefill_s", None if found is None else found.prefill_s)
    yield figure("slot_wait_s", None if waits is None else waits.mean_s)
    yield figure("slot_wait_p99_s", None if waits is None else waits.p99_s)
    yield figure("swap_s", loading.swap_s, working=_swap_working(plan))
    yield figure("swap_copies", loading.copies)
    yield figure("cold_load_s", loading.cold_s)
    yield from _loads(plan)


def _swap_working(plan: Plan) -> str:
    loading = plan.loading
    each, link = plan.parts.adapter.gpu_file_bytes, loading.link_bytes_per_s
    return f"{loading.copies:,} × {plan.spec.tensor_s:.3g} s + {each:,.0f} B / {link:.3g} B/s"


def _loads(plan: Plan) -> Figures:
    tiers, adapted = plan.tiers, plan.replica.adapted
    swaps = plan.fleet.rate_rps * plan.replica.served_share / plan.fleet.replicas * adapted * plan.swapped
    yield figure("swaps_per_s", swaps)
    yield figure("cold_loads_per_h", 3600 * plan.fleet.rate_rps * adapted * tiers.store)
    link = adapter_loading.swap_link_share(
        swaps, adapter_bytes=plan.parts.adapter.gpu_file_bytes, bytes_per_s=plan.loading.link_bytes_per_s
    )
    yield figure("link_utilisation", link)


def tenants(plan: Plan) -> Figures:
    """Who asks how much, and what a noisy tenant does."""
    spec, noise = plan.spec, plan.noise
    yield figure("largest_tenant_share", plan.tenants.largest)
    yield figure("fairness_bound_tokens", bound_tokens(plan) if spec.fairness == "weighted" else None)
    fair = spec.fairness == "weighted"
    weights = plan.tenants.weights
    each = plan.fleet.max_rps / float(weights.sum())
    has_premium = fair and bool(weights.max() > 1)
    yield figure("guaranteed_rps", each if fair else None)
    yield figure("guaranteed_premium_rps", each * spec.premium_weight if has_premium else None)
    yield figure("noisy_utilisation", noise.utilisation)
    yield figure("noisy_others_served", noise.others(spec.fairness))
    yield figure("noisy_slots", noise.slots)
    yield figure("noisy_slot_pressure", noise.slot_pressure)
    yield figure("refused_share", plan.tenants.refused_share)
    yield figure("hottest_share", plan.parts.asked.hottest * plan.replica.adapted)
    merged = merged_of(plan)
    yield figure("dedicated_saves_replicas", None if merged is None else merged.saved)


def bound_tokens(plan: Plan) -> float:
    """By how much two busy tenants may differ in weighted tokens."""
    spec = plan.spec
    longest = lengths.quantile(LONGEST, mean=spec.input_tokens, sigma=spec.input_sigma)
    held = min(plan.parts.memory.kv_tokens, spec.max_batch * plan.parts.memory.request_tokens)
    return counter_bound(longest_input_tokens=longest, batch_tokens=held, output_weight=spec.output_weight)


def merged_of(plan: Plan) -> MergedReplicas | None:
    """The most popular adapter merged into replicas of its own; None where nothing runs."""
    replica, best = plan.replica, plan.replica.best
    share = plan.parts.asked.hottest * replica.adapted
    if best.rate_rps <= 0 or share <= 0 or plan.fleet.rate_rps <= 0:
        return None
    factor = replica.step(best.batch).factor
    alone_rps = best.rate_rps * factor
    traffic, rest = plan.fleet.rate_rps * share / alone_rps, plan.fleet.rate_rps * (1 - share) / alone_rps
    return merged_replicas(traffic, lora_factor=factor, rest=rest)


def money(plan: Plan) -> Figures:
    """The bill and its parts."""
    bill = plan.bill
    usd = None if bill is None else bill.usd_per_h
    price = plan.gpu_price_usd_per_h
    yield figure("cost_usd_per_h", usd, working="" if price is None else f"{plan.gpus:,} GPUs × ${price:g}")
    yield figure("cost_usd_per_month", None if usd is None else usd * HOURS_PER_MONTH)
    yield figure("cost_usd_per_m_output_tokens", None if bill is None else bill.per_m_output)
    yield figure("cost_usd_per_m_tokens", None if bill is None else bill.per_m_tokens)
    for name, part in ({} if bill is None else bill.parts()).items():
        yield figure(f"{name}_usd_per_h", part)

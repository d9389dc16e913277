"""Whether the pool gains anything, and which tier does: yes with its price, or no with the reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.formulas import fetching
from planner.kinds.kv_pool import change, money
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, HBM, LABELS, NAMES, SSD
from planner.kinds.kv_pool.words import lasting, percent, steps, times, worth_of
from planner.kinds.kv_pool.words import money as dollars

GAP_TAIL = 0.99
BUSY = 0.7
BEST_CASE_BYTES_PER_S = 300e9
MEASURED_EFFICIENCY = 0.48
"""190 of 400 GB/s: eight NICs of 400 Gbit/s."""
GAINED = 0.02
"""Points of hits worth a word."""
_SIZES = 128
SIZED = 0.999
"""Of the hits with all the SSD: what is enough."""


def findings(plan: Plan, *, figures: Mapping[str, Metric]) -> Iterator[Finding]:
    """The tiers and their links, policies, then upgrade and failure."""
    yield from _tiers(plan)
    yield from _oversized(plan)
    yield from _links(plan)
    yield from _policies(plan, figures=figures)
    yield from _changes(plan)


def reasons(plan: Plan) -> tuple[str, ...]:
    """Why the pool gains nothing; empty when it does."""
    spec = plan.spec
    ways = zip((DRAM, SSD), plan.links, strict=True)
    best = max((way.effective_bytes_per_s for tier, way in ways if plan.room.stored_bytes[tier] > 0), default=0.0)
    kept, tail = float(plan.keep_s[HBM]), plan.tail_s(GAP_TAIL)
    without = plan.without_ttft[2]
    return fetching.reasons_for_no_gain(
        bytes_per_s=best,
        least_bytes_per_s=plan.least_bytes_per_s,
        reusable_share=plan.reusable_share,
        kept_in_gpu_s=kept,
        gap_p99_s=tail,
        prefill_binds=plan.without_fleet.units > plan.fleet.units,
        ttft_met_without=without is not None and without <= spec.ttft_p99_slo_s,
    )


def verdict(plan: Plan) -> Iterator[Finding]:
    """Whether the pool pays, or the reasons why not."""
    saving = money.bill_without_pool_usd_per_h(plan) - money.bill_usd_per_h(plan)
    tiers = math.fsum(money.tiers_usd_per_h(plan))
    no = reasons(plan)
    if plan.room.stored_bytes[DRAM] <= 0 and plan.room.stored_bytes[SSD] <= 0:
        yield Finding(
            "no_pool",
            "info",
            "Neither DRAM nor SSD is given: prefixes live in HBM only, and no other node reads them.",
            "gpus_saved",
        )
        return
    if no:
        yield _no_gain(plan, codes=no)
        return
    if saving < 0:
        yield Finding(
            code="no_gain_money",
            severity="warning",
            message=f"The tiers cost {dollars(tiers)}/h and save {dollars(saving + tiers)}/h of GPUs at these prices: "
            "the pool costs more than it saves.",
            metric="saving_usd_per_h",
            suggestion="Buy less of the tier whose next terabyte is worth least.",
        )
        return
    saved = (plan.without_fleet.units - plan.fleet.units) * plan.spec.prefill_gpus
    yield Finding(
        code="pool_pays",
        severity="info",
        message=f"The pool saves {show(saved, 'GPUs')} of prefill, {dollars(saving + tiers)}/h, and its tiers cost "
        f"{dollars(tiers)}/h: {dollars(saving)}/h are left.",
        metric="saving_usd_per_h",
    )


def _no_gain(plan: Plan, *, codes: Sequence[str]) -> Finding:
    """One refusal with all its reasons; the first gives it its name."""
    best = max(way.effective_bytes_per_s for way in plan.links)
    told = {
        fetching.SLOW: f"a prompt reads {show(best, 'bytes/s')} at best, and computing is quicker below "
        f"{show(plan.least_bytes_per_s, 'bytes/s')}; the break-even is this bandwidth, not a length",
        fetching.RARE: f"only {percent(plan.reusable_share)} of the prompt tokens were ever computed before",
        fetching.NEAR: f"HBM alone keeps a session {lasting(float(plan.keep_s[HBM]))}, longer than "
        f"{percent(GAP_TAIL)} of the pauses",
        fetching.IDLE: f"without the pool prefill needs no unit more, and TTFT P99 is "
        f"{show(plan.without_ttft[2], 's')}, inside its objective",
    }
    below = " and ".join(LABELS[tier] for tier in (DRAM, SSD) if plan.room.stored_bytes[tier] > 0)
    return Finding(
        code=f"no_gain_{codes[0]}",
        severity="warning",
        message=f"No gain: {'. Also, '.join(told[code] for code in codes)}.",
        metric="saving_usd_per_h",
        suggestion=f"Leave {below} out.",
        change={"dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0},
    )


def _tiers(plan: Plan) -> Iterator[Finding]:
    """Tiers that are full of hits nobody should read."""
    for tier in (DRAM, SSD):
        read, way = plan.turns.fetched_share[tier], plan.links[tier - 1]
        if float(plan.hits[tier]) > 1e-6 and plan.reusable_share > 0 and read < 0.01:
            yield Finding(
                code="tier_not_read",
                severity="warning",
                message=f"{LABELS[tier]} would hit {percent(float(plan.hits[tier]))} of what can be reused, but "
                f"reading it takes longer than computing: it gives {show(way.effective_bytes_per_s, 'bytes/s')}, and "
                f"{show(plan.least_bytes_per_s, 'bytes/s')} is the least that pays.",
                metric=f"{NAMES[tier]}_break_even_tokens",
                suggestion=f"Leave {LABELS[tier]} out, or read faster.",
                change={f"{NAMES[tier]}_bytes_per_node": 0.0},
            )


def enough_ssd_bytes(plan: Plan) -> float:
    """SSD over all nodes that gives nearly the hits of all the SSD there is."""
    wanted = SIZED * float(plan.reach_hits[SSD])
    sizes = np.linspace(0.0, 1.0, _SIZES) ** 2 * plan.room.stored_bytes[SSD]
    tokens = np.repeat(plan.room.tokens[None, :], _SIZES, axis=0)
    tokens[:, SSD] = sizes / plan.physics.stored_bytes_per_token
    enough = plan.hits_with(tokens)[:, SSD] >= wanted
    return float(sizes[int(np.argmax(enough))]) if enough.any() else plan.room.stored_bytes[SSD]


def _oversized(plan: Plan) -> Iterator[Finding]:
    have = plan.room.stored_bytes[SSD]
    if have <= 0 or plan.spec.ssd_usd_per_gb_month <= 0 or float(plan.hits[SSD]) <= 1e-4:
        return
    worth = money.gpus_per_tb(plan, tier=SSD) * plan.spec.gpu_price_usd_per_h * money.MONTH_H
    price = plan.spec.ssd_usd_per_gb_month * 1000
    if worth >= price / 2:
        return
    enough = enough_ssd_bytes(plan)
    if enough > 0.7 * have:
        return
    needed = f"{show(enough, 'bytes')} of the {show(have, 'bytes')} give {percent(SIZED)}"
    if enough <= 0:
        needed = f"the tiers above give {percent(SIZED)}"
    node_bytes = float(f"{1.05 * enough / plan.spec.nodes:.2g}")
    yield Finding(
        code="ssd_oversized",
        severity="warning",
        message=f"SSD is oversized for this load: one terabyte more is worth {worth_of(worth)} a month and costs "
        f"{dollars(price)}; {needed} of the hits.",
        metric="ssd_tb_usd_per_month",
        suggestion=f"{show(node_bytes, 'bytes')} a node are enough, unless endurance needs the drives."
        if enough > 0
        else "Leave SSD out.",
        change={"ssd_bytes_per_node": node_bytes},
    )


def _links(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    for tier, way in zip((DRAM, SSD), plan.links, strict=True):
        if float(plan.hits[tier]) <= 0:
            continue
        if way.served_share < 1:
            yield Finding(
                code="link_full",
                severity="warning",
                message=f"The links of {LABELS[tier]} carry only {percent(way.served_share)} of what would be read "
                "from it; the rest of the hits is computed again.",
                metric=f"{NAMES[tier]}_link_utilisation",
                suggestion="Use more or faster drives, more nodes, or a smaller KV format.",
            )
        elif way.utilisation > BUSY:
            yield Finding(
                code="link_busy",
                severity="warning",
                message=f"The links of {LABELS[tier]} are {percent(way.utilisation)} busy: a read takes "
                f"{times(way.bytes_per_s / way.effective_bytes_per_s)} its time on an idle link.",
                metric=f"{NAMES[tier]}_link_utilisation",
            )
    if spec.link_efficiency > 0.9 and max(spec.dram_read_bytes_per_s, spec.network_bytes_per_s) > BEST_CASE_BYTES_PER_S:
        yield Finding(
            code="links_best_case",
            severity="info",
            message=f"{show(spec.dram_read_bytes_per_s, 'bytes/s')} a node are the line rate. Mooncake measured 190 of "
            "400 GB/s over eight NICs; a store client that nobody tuned gives 5 to 7 GB/s.",
            metric="dram_read_s",
            suggestion="Plan with the measured share.",
            change={"link_efficiency": MEASURED_EFFICIENCY},
        )


def _policies(plan: Plan, *, figures: Mapping[str, Metric]) -> Iterator[Finding]:
    spec = plan.spec
    lru = figures["lru_hit_share"].value or 0.0
    own = float(plan.reach_hits[SSD])
    if spec.eviction == "ttl" and lru - own > 0.005:
        yield Finding(
            code="ttl_drops_early",
            severity="warning",
            message=f"After {show(spec.ttl_s, 's')} entries are dropped that there is room for: hits are "
            f"{percent(own)}, with the oldest dropped only when room is needed {percent(lru)}.",
            metric="hit_share",
            suggestion="Drop the least recently used, when room is needed.",
            change={"eviction": "lru"},
        )
    yield from _by_value(plan, lru=lru, value=figures["value_hit_share"].value or 0.0)
    if not math.isfinite(float(plan.keep_s[SSD])) and spec.eviction == "lru":
        yield Finding(
            code="nothing_dropped",
            severity="info",
            message="All that ever comes back fits: the last tier drops nothing, so its entries have no age limit.",
            metric="ssd_keep_s",
        )
    if spec.placement == "random":
        pooled = float(plan.pooled_hits[SSD])
        yield Finding(
            code="sessions_wander",
            severity="warning",
            message=f"A turn finds its session on the same node only by chance: hits are {percent(own)}; in one pool, "
            f"or with sessions that return to their node, {percent(pooled)}.",
            metric="hit_share",
            suggestion="Let all nodes read all.",
            change={"placement": "pool"},
        )


def _by_value(plan: Plan, *, lru: float, value: float) -> Iterator[Finding]:
    """What knowing the sorts of sessions is worth."""
    by_value = plan.spec.eviction == "value"
    if by_value:
        yield Finding(
            code="times_by_class",
            severity="info",
            message="By value each sort of entry stays a time of its own, so a tier has no single one.",
            metric="hbm_keep_s",
        )
    if value - lru > GAINED and not by_value:
        yield Finding(
            code="value_gains",
            severity="info",
            message=f"Sorts of sessions differ: dropped by value instead of age {percent(value)} would be hit, not "
            f"{percent(lru)}. That needs to know the sort of each.",
            metric="value_hit_share",
            suggestion="Drop by value.",
            change={"eviction": "value"},
        )
    if by_value and value - lru < GAINED / 4:
        yield Finding(
            code="value_gains_nothing",
            severity="info",
            message=f"By value hits no more than by age ({percent(value)} and {percent(lru)}): sorts of sessions do "
            "not differ enough, or there is room for all.",
            metric="value_hit_share",
            suggestion="Drop the least recently used: nothing has to be known.",
            change={"eviction": "lru"},
        )


def _changes(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    step, surge = change.safe_weight_step(plan), change.surge(plan)
    if step is not None and surge > 1.2:
        yield Finding(
            code="upgrade_is_cold",
            severity="info",
            message=f"The LLM's version is in the key, so an upgrade starts cold: prefill of what moves is "
            f"{times(surge)} the usual at first. This fleet takes {steps(step, lasting(change.step_apart_s(plan)))}.",
            metric="safe_weight_step",
        )
    if spec.version_by == "request" and 0 < spec.canary_weight < 1:
        yield Finding(
            code="version_by_request",
            severity="warning",
            message=f"A version drawn for each request lets a turn find its last one in "
            f"{percent(spec.canary_weight**2 + (1 - spec.canary_weight) ** 2)} of the cases only: hits fall to "
            f"{percent(change.canary_hits(plan))} during the canary.",
            metric="canary_hit_share",
            suggestion="Draw the version for each session.",
            change={"version_by": "session"},
        )

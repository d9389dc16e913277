"""What an experienced reviewer asks of a pool, answered with its own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.kind import FollowUp
from planner.core.quantities import show
from planner.core.result import Result
from planner.formulas import flush
from planner.kinds.kv_pool.simulation_options import DEFAULT_DURATION_S, USUAL_REQUESTS
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.words import money, percent, times, worth_of

EVENT_AT = 0.55
"""Of the run: caches are warm after half of it at most, and the rest shows what follows."""


def follow_ups(spec: KvPoolSpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    if spec.turns_per_s <= 0:
        return (FollowUp("What does the pool cost with nobody there?", _idle(result)),)
    return (
        _upgrade(spec, result),
        _canary(spec, result),
        _node_lost(spec, result),
        _replicas(spec, result),
        _terabyte(spec, result),
        _metadata(spec, result),
        _write_back(spec, result),
    )


def _idle(result: Result) -> str:
    return f"Its tiers, {money(result.value('tiers_usd_per_month') or 0.0)} a month."


def _event(spec: KvPoolSpec, name: str) -> Mapping[str, Any] | None:
    """Options of a run with this event once caches are warm; none for a trace, whose length is its own."""
    if spec.source == "trace":
        return None
    lasts_s = min(DEFAULT_DURATION_S, USUAL_REQUESTS / spec.turns_per_s)
    return {name: round(lasts_s * EVENT_AT), "policies": "chosen"}


def _upgrade(spec: KvPoolSpec, result: Result) -> FollowUp:
    surge, warm, step = (result.value(name) for name in ("flush_surge", "flush_95_s", "safe_weight_step"))
    tokens = result.value("flush_tokens") or 0.0
    safe = ""
    if step is not None:
        safe = f" At its load the fleet takes {'all' if step >= 1 else percent(step)} of the traffic cold at a time."
    return FollowUp(
        "The LLM is upgraded. What happens to the hit rate?",
        f"The version is part of every key, so the new one finds nothing: prefill of what moves starts at "
        f"{times(surge or 1.0)} its usual work, and 95 % of the hits are back after {show(warm, 's')}. In all "
        f"{show(tokens, 'tokens')} are computed again.{safe} Old entries leave by themselves; deleting them in bulk "
        "only frees room.",
        simulate=_event(spec, "upgrade_at_s"),
    )


def _canary(spec: KvPoolSpec, result: Result) -> FollowUp:
    both = flush.kept_by_request_weights(spec.canary_weight)
    hits = result.value("hit_share") or 0.0
    return FollowUp(
        "Does a canary need the capacity twice?",
        f"No: with room in proportion to its traffic each version keeps its entries as long as before, so hits stay at "
        f"{percent(hits)}. Twice the room only buys a warm way back at once. Shared prefixes need two copies. Versions "
        f"must be drawn for sessions: drawn for each request, {percent(both)} of the last turns are of the same one "
        f"at a weight of {percent(spec.canary_weight)}.",
    )


def _node_lost(spec: KvPoolSpec, result: Result) -> FollowUp:
    tokens, left = result.value("node_loss_tokens") or 0.0, result.value("node_loss_hit_share") or 0.0
    return FollowUp(
        "A node with its tiers is lost. What is it worth to have a second copy?",
        f"One entry in {spec.nodes:,} is gone: {show(tokens, 'tokens')} are computed again over the next pauses, and "
        f"hits settle at {percent(left)} until the node is back. A second copy of all would halve the capacity for "
        "that: sessions need none.",
        simulate=_event(spec, "lose_unit_at_s"),
    )


def _replicas(spec: KvPoolSpec, result: Result) -> FollowUp:
    read = result.value("session_kv_bytes") or 1.0
    rate = flush.NIC_SHARE * spec.network_bytes_per_s * spec.link_efficiency / read
    return FollowUp(
        "When does a hot prefix need copies?",
        f"When its reads fill the network of the node that holds it: from {rate:,.0f} reads a second of a context of "
        f"{show(read, 'bytes')}, {percent(flush.NIC_SHARE)} of {show(spec.network_bytes_per_s, 'bytes/s')}.",
    )


def _terabyte(spec: KvPoolSpec, result: Result) -> FollowUp:
    prices = {"DRAM": spec.dram_usd_per_gb_month * 1000, "SSD": spec.ssd_usd_per_gb_month * 1000}
    worth = {label: result.value(f"{label.lower()}_tb_usd_per_month") or 0.0 for label in prices}
    told = "; ".join(f"{label} {worth_of(worth[label])} against {money(prices[label])}" for label in prices)
    return FollowUp(
        "What is one more terabyte worth?",
        f"By the month, in GPU time saved if nothing lay below it, against its price: {told}.",
    )


def _metadata(spec: KvPoolSpec, result: Result) -> FollowUp:
    entries, size, lookups = (result.value(name) or 0.0 for name in ("entries", "metadata_bytes", "lookups_per_s"))
    return FollowUp(
        "Does the metadata service bind?",
        f"{show(entries, 'blocks')} of {show(spec.block_tokens, 'tokens')} take {show(size, 'bytes')}, and prompts "
        f"ask for {show(lookups, '1/s')} blocks, or the logarithm of that by bisection of the chain. Smaller blocks "
        f"lose less at the end of a prefix ({show(result.value('tail_tokens'), 'tokens')} now) and make more of both.",
    )


def _write_back(spec: KvPoolSpec, result: Result) -> FollowUp:
    if result.value("shareable_after_s") is None:
        return FollowUp("Write-through or write-back?", "Neither: there is nothing below HBM to write to.")
    after, lost = result.value("shareable_after_s"), result.value("loss_window_bytes") or 0.0
    mode = "Write-back" if spec.write_mode == "back" else "Write-through"
    return FollowUp(
        "Write-through or write-back?",
        f"{mode} makes a turn readable elsewhere after {show(after, 's')}, and a lost node takes {show(lost, 'bytes')} "
        "along that can be computed again. Write-back writes as much in the end, because every session is dropped some "
        "day; only what an admission filter keeps out is saved.",
    )

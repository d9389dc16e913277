"""What is written into the pool, what that does to drives and links, and what is lost with a node."""

from __future__ import annotations

from typing import Any

from planner.formulas import endurance
from planner.formulas import tiers as arrangements
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, SSD


def stored_tokens_per_s(plan: Plan) -> float:
    """Tokens of all contexts that turns leave behind: what a pool without deduplication would write."""
    return plan.spec.turns_per_s * (plan.prompt_tokens + plan.output_tokens)


def tier_write_bytes_per_s(plan: Plan, *, tier: int) -> float:
    """Bytes a second written into DRAM or SSD, over all nodes."""
    spec = plan.spec
    if plan.room.stored_bytes[tier] <= 0:
        return 0.0
    kv = plan.physics.stored_bytes_per_token * spec.admitted_share
    if spec.written == "context":
        return stored_tokens_per_s(plan) * kv
    return float(kv * _written_tokens_per_s(plan, tier=tier, within=plan.reach_hits))


def _written_tokens_per_s(plan: Plan, *, tier: int, within: Any) -> Any:
    """New to the tier; ``within`` are hits within the reach of each tier, tiers along the last axis."""
    stored, reusable = stored_tokens_per_s(plan), plan.reuse.reusable_tokens_per_s
    takes_dropped = plan.spec.relation == "exclusive" or (tier == DRAM and plan.spec.relation == "ssd_inclusive")
    if takes_dropped:
        return arrangements.exclusive_writes(stored, hits_before=reusable * within[..., tier - 1])
    return arrangements.inclusive_writes(stored, hits_through=reusable * within[..., tier])


def ssd_write_bytes_per_s(plan: Plan, *, within: Any) -> Any:
    """Bytes a second written to SSD if the tiers hit so much, for one arrangement or many."""
    spec = plan.spec
    kv = plan.physics.stored_bytes_per_token * spec.admitted_share
    if spec.written == "context":
        return stored_tokens_per_s(plan) * kv + 0.0 * within[..., SSD]
    return kv * _written_tokens_per_s(plan, tier=SSD, within=within)


def has_pool(plan: Plan) -> bool:
    """Whether anything lies below HBM."""
    return plan.room.stored_bytes[DRAM] > 0 or plan.room.stored_bytes[SSD] > 0


def pool_write_bytes_per_s(plan: Plan) -> float:
    """New bytes that enter the pool, whatever moves within it."""
    spec = plan.spec
    if not has_pool(plan):
        return 0.0
    kv = plan.physics.stored_bytes_per_token * spec.admitted_share
    stored = stored_tokens_per_s(plan)
    if spec.written == "context":
        return stored * kv
    return kv * arrangements.inclusive_writes(
        stored, hits_through=plan.reuse.reusable_tokens_per_s * float(plan.reach_hits[SSD])
    )


def network_share(plan: Plan) -> float:
    """Of all nodes' network: writes to another node's memory or drives."""
    spec = plan.spec
    remote = 1 - 1 / spec.nodes if spec.placement == "pool" else 0.0
    return remote * pool_write_bytes_per_s(plan) / (spec.nodes * spec.network_bytes_per_s * spec.link_efficiency)


def turn_write_bytes(plan: Plan) -> float:
    """What a mean turn writes."""
    rate = plan.spec.turns_per_s
    return pool_write_bytes_per_s(plan) / rate if rate > 0 else 0.0


def shareable_after_s(plan: Plan) -> float:
    """Until another node can read a turn: the write, and with write-back the time until it is due."""
    spec = plan.spec
    way = plan.dram if plan.room.stored_bytes[DRAM] > 0 else plan.ssd
    rate = way.bytes_per_s
    if way is plan.ssd:
        rate = min(rate, spec.ssd_write_bytes_per_s * spec.link_efficiency)
    due = spec.flush_s if spec.write_mode == "back" else 0.0
    return due + way.latency_s + turn_write_bytes(plan) / rate


def loss_window_bytes(plan: Plan) -> float:
    """Written nowhere else yet when a node is lost."""
    return endurance.unwritten_bytes(pool_write_bytes_per_s(plan), delay_s=shareable_after_s(plan)) / plan.spec.nodes


def drive_writes_per_day(plan: Plan) -> float | None:
    """Of the SSD tier's capacity; None without drives."""
    capacity = plan.room.stored_bytes[SSD]
    if capacity <= 0:
        return None
    return endurance.drive_writes_per_day(tier_write_bytes_per_s(plan, tier=SSD), capacity_bytes=capacity)


def life_years(plan: Plan) -> float | None:
    """Until the rated writes are done; None without drives or writes."""
    per_day = drive_writes_per_day(plan)
    if not per_day:
        return None
    return endurance.endurance_years(
        per_day,
        rated_writes_per_day=plan.spec.ssd_dwpd,
        amplification=plan.spec.write_amplification,
        rated_years=plan.spec.ssd_rated_years,
    )


def entries(plan: Plan) -> float:
    """Blocks that the tiers hold, a copy counted once."""
    return float(plan.room.reach_tokens[SSD]) / plan.spec.block_tokens

"""The metrics of a worked pool."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.core.quantities import show
from planner.core.result import Metric
from planner.formulas import cache_index, cost, fetching
from planner.formulas.endurance import SEQUENTIAL_OPTIMISM
from planner.kinds.kv_pool import change, money, policies_compared, writes
from planner.kinds.kv_pool.metrics import figure
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.serving import mean_ttft_s
from planner.kinds.kv_pool.tiers import HBM, NAMES, SSD, Link
from planner.kinds.kv_pool.words import DIGITS, rounded

Figures = Iterator[Metric]


def metrics(plan: Plan) -> Mapping[str, Metric]:
    """Every metric of the design by name."""
    made = (*_held(plan), *_hits(plan), *_fetched(plan), *_served(plan), *_paid(plan), *_written(plan), *_changed(plan))
    return {metric.definition.name: metric for metric in made}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _held(plan: Plan) -> Figures:
    spec, kv = plan.spec, plan.physics.stored_bytes_per_token
    yield figure("context_tokens", spec.context_tokens, basis="exact")
    yield figure("prompt_tokens", plan.prompt_tokens, basis="exact")
    yield figure(
        "session_kv_bytes",
        plan.context_bytes,
        basis="exact",
        working=f"{spec.context_tokens:,g} tokens × {kv:,.7g} B",
    )
    for tier, name in enumerate(NAMES):
        copies = plan.physics.hbm_copies if tier == HBM else 1.0
        held = plan.room.stored_bytes[tier]
        yield figure(
            f"{name}_sessions",
            held / (plan.context_bytes * copies),
            basis="exact",
            working=f"{show(held, 'bytes')} / {show(plan.context_bytes * copies, 'bytes')}",
        )
        by_age = spec.eviction != "value"
        yield figure(f"{name}_keep_s", _finite(float(plan.keep_s[tier])) if by_age else None)


def _hits(plan: Plan) -> Figures:
    prompt, seen = plan.prompt_tokens, max(plan.seen_share, 1e-12)
    within = [rounded(min(float(each) / seen, 1.0)) for each in plan.reach_hits]
    total = within[SSD]
    yield figure("hit_share", total)
    for tier, name in enumerate(NAMES):
        added = within[tier] - (within[tier - 1] if tier else 0.0)
        yield figure(f"{name}_hit_share", round(added, DIGITS))
    yield figure("miss_share", max(0.0, round(1 - total, DIGITS)))
    yield figure("reusable_share", plan.reusable_share, basis="exact")
    yield figure("prefix_hit_rate", max(0.0, 1 - plan.computed_tokens_per_turn / prompt))
    for name, shares in policies_compared.at_reaches(plan).items():
        yield figure(f"{name}_hit_share", rounded(float(shares[SSD])))


def _fetched(plan: Plan) -> Figures:
    spec = plan.spec
    yield figure(
        "recompute_s",
        plan.recompute_s,
        basis="exact",
        working=f"{plan.physics.recompute.linear_s:.4g} s × {spec.context_tokens:,g} tokens"
        + ("" if plan.physics.recompute.square_s == 0 else " and attention"),
    )
    yield figure("least_bytes_per_s", plan.least_bytes_per_s, basis="exact")
    for name, way in zip(NAMES[1:], plan.links, strict=True):
        yield from _read(plan, name=name, way=way)
    yield figure("network_utilisation", plan.network_utilisation)


def _read(plan: Plan, *, name: str, way: Link) -> Figures:
    read_bytes = plan.context_bytes * plan.physics.read_copies
    idle = way.bytes_per_s / plan.spec.link_efficiency
    yield figure(
        f"{name}_read_s",
        read_bytes / idle,
        basis="exact",
        working=f"{show(read_bytes, 'bytes')} / {show(idle, 'bytes/s')}",
    )
    loaded_s = way.latency_s + way.transfer_s(read_bytes)
    yield figure(f"{name}_fetch_s", loaded_s)
    yield figure(f"{name}_speedup", plan.recompute_s / loaded_s)
    yield figure(f"{name}_bytes_per_s", way.effective_bytes_per_s)
    tokens = fetching.break_even_tokens(
        plan.physics.recompute,
        kv_bytes_per_token=plan.physics.stored_bytes_per_token * plan.physics.read_copies,
        bytes_per_s=way.effective_bytes_per_s,
        latency_s=way.latency_s,
    )
    yield figure(f"{name}_break_even_tokens", _finite(tokens))
    yield figure(f"{name}_link_utilisation", way.utilisation)


def _served(plan: Plan) -> Figures:
    spec, gpus = plan.spec, plan.spec.prefill_gpus
    yield figure("ttft_mean_s", mean_ttft_s(spec, made=plan.turns, of=plan.fleet))
    for rank, value, without in zip(("p50", "p90", "p99"), plan.ttft, plan.without_ttft, strict=True):
        yield figure(f"ttft_{rank}_s", value, objective=spec.ttft_p99_slo_s if rank == "p99" else None)
        yield figure(f"ttft_{rank}_without_pool_s", without)
    needed, units = plan.fleet.needed_units, plan.fleet.units
    yield figure(
        "prefill_gpus_needed",
        needed * gpus,
        working=f"{spec.turns_per_s:,.10g}/s × {show(plan.turns.mean_held_s, 's')} × {gpus} GPUs",
    )
    yield figure("prefill_units", units)
    yield figure("prefill_gpus", units * gpus)
    yield figure("prefill_utilisation", plan.fleet.utilisation)
    yield figure("prefill_gpus_without_pool", plan.without_fleet.units * gpus)
    yield figure("gpus_saved", (plan.without_fleet.units - units) * gpus)
    before = plan.without_fleet.needed_units
    yield figure("compute_saved_share", 1 - needed / before if before > 0 else None)


def _paid(plan: Plan) -> Figures:
    spec, bill = plan.spec, money.bill_usd_per_h(plan)
    without = money.bill_without_pool_usd_per_h(plan)
    dram, ssd = money.tiers_usd_per_h(plan)
    per_m = cost.usd_per_million_tokens
    yield figure(
        "cost_usd_per_h",
        bill,
        working=f"{plan.fleet.units * spec.prefill_gpus:,} GPUs × ${spec.gpu_price_usd_per_h:g} + tiers "
        f"{show(dram + ssd, 'USD/h')}",
    )
    yield figure("cost_usd_per_month", bill * cost.HOURS_PER_MONTH)
    yield figure("cost_usd_per_m_input_tokens", per_m(bill, tokens_per_s=spec.turns_per_s * plan.prompt_tokens))
    yield figure("cost_usd_per_m_output_tokens", per_m(bill, tokens_per_s=spec.turns_per_s * spec.output_tokens))
    yield figure("cost_without_pool_usd_per_h", without)
    yield figure("saving_usd_per_h", without - bill)
    yield figure("tiers_usd_per_month", (dram + ssd) * cost.HOURS_PER_MONTH)
    for name, value in money.bill_parts(plan).items():
        yield figure(f"{name}_usd_per_h", value)
    for tier, name in enumerate(NAMES):
        freed = money.gpus_per_tb(plan, tier=tier)
        yield figure(f"{name}_tb_gpu_s_per_s", freed)
        yield figure(f"{name}_tb_usd_per_month", freed * spec.gpu_price_usd_per_h * cost.HOURS_PER_MONTH)


def _written(plan: Plan) -> Figures:
    yield figure("write_bytes_per_s", writes.pool_write_bytes_per_s(plan))
    yield figure("ssd_write_bytes_per_s", writes.tier_write_bytes_per_s(plan, tier=SSD))
    can = plan.spec.nodes * plan.spec.ssd_write_bytes_per_s
    yield figure("ssd_write_utilisation", writes.tier_write_bytes_per_s(plan, tier=SSD) / can)
    yield figure("write_network_share", writes.network_share(plan))
    yield figure("shareable_after_s", writes.shareable_after_s(plan) if writes.has_pool(plan) else None)
    yield figure("loss_window_bytes", writes.loss_window_bytes(plan))
    yield figure("ssd_writes_per_day", writes.drive_writes_per_day(plan))
    life = writes.life_years(plan)
    yield figure("ssd_life_years", life)
    yield figure("ssd_life_optimistic_years", None if life is None else life * SEQUENTIAL_OPTIMISM)
    block = plan.spec.block_tokens
    blocks = writes.entries(plan)
    yield figure("entries", blocks, basis="exact")
    yield figure("metadata_bytes", blocks * plan.spec.entry_bytes)
    yield figure("lookups_per_s", _lookups(plan), basis="exact")
    yield figure("tail_tokens", plan.physics.tail_tokens, basis="exact")
    yield figure("block_bytes", block * plan.physics.stored_bytes_per_token, basis="exact")


def _lookups(plan: Plan) -> float:
    return cache_index.lookups_per_s(
        plan.spec.turns_per_s, prompt_tokens=plan.prompt_tokens, block_tokens=plan.spec.block_tokens
    )


def _changed(plan: Plan) -> Figures:
    flushed = change.flush_tokens(plan)
    yield figure("flush_tokens", flushed)
    yield figure("flush_surge", change.surge(plan))
    yield figure("flush_95_s", change.warm_after_s(plan))
    yield figure("safe_weight_step", change.safe_weight_step(plan))
    yield figure("canary_hit_share", change.canary_hits(plan))
    yield figure("node_loss_tokens", flushed / plan.spec.nodes)
    yield figure("node_loss_hit_share", change.node_loss_hits(plan))

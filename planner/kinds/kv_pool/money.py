"""What prefill and tiers cost, what the pool saves, and what one more terabyte is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.formulas import cost
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, SSD

GB = 1e9
TB = 1e12
MONTH_H = cost.HOURS_PER_MONTH


def unit_usd_per_h(spec: KvPoolSpec) -> float:
    """A prefill unit."""
    return spec.prefill_gpus * spec.gpu_price_usd_per_h


def tier_prices(spec: KvPoolSpec) -> tuple[float, float]:
    """DRAM and SSD [USD/byte/h]; DRAM that comes with the nodes costs nothing more."""
    per_byte_h = 1 / (GB * cost.HOURS_PER_MONTH)
    dram = 0.0 if spec.dram_paid == "in_rent" else spec.dram_usd_per_gb_month
    return dram * per_byte_h, spec.ssd_usd_per_gb_month * per_byte_h


def tiers_usd_per_h(plan: Plan) -> tuple[float, float]:
    """The DRAM and the SSD of the design."""
    dram, ssd = tier_prices(plan.spec)
    return dram * plan.room.stored_bytes[DRAM], ssd * plan.room.stored_bytes[SSD]


def bill_usd_per_h(plan: Plan) -> float:
    """Prefill fleet and tiers."""
    return plan.fleet.units * unit_usd_per_h(plan.spec) + math.fsum(tiers_usd_per_h(plan))


def bill_without_pool_usd_per_h(plan: Plan) -> float:
    """The prefill fleet that would do without DRAM and SSD."""
    return plan.without_fleet.units * unit_usd_per_h(plan.spec)


def bill_parts(plan: Plan) -> Mapping[str, float]:
    """New tokens, tokens computed again, tiers, and what is bought but idle; they sum to the bill."""
    unit = unit_usd_per_h(plan.spec)
    busy = min(plan.fleet.needed_units, plan.fleet.units)
    new = min(new_units(plan), busy)
    dram, ssd = tiers_usd_per_h(plan)
    return cost.exact_parts(
        bill_usd_per_h(plan),
        parts={"new": new * unit, "again": (busy - new) * unit, "dram": dram, "ssd": ssd},
        remainder="idle",
    )


def new_units(plan: Plan) -> float:
    """Units that the tokens keep busy which no cache can have."""
    held_s = math.fsum(
        sort.weight
        * float(
            plan.physics.compute_s(sort.prompt_tokens - sort.reusable_tokens, cached_tokens=sort.reusable_tokens).mean()
        )
        for sort in plan.sorts
    )
    return plan.spec.turns_per_s * held_s


def gpu_s_per_reusable_token(plan: Plan) -> float:
    """GPU time that a hit saves for each token, at the mean context."""
    return plan.recompute_s * plan.spec.prefill_gpus / plan.spec.context_tokens


def gpus_per_tb(plan: Plan, *, tier: int) -> float:
    """GPUs freed by a terabyte more of a tier, as if nothing lay below it [GPUs/TB]."""
    keep_s = float(plan.keep_s[tier])
    if not (math.isfinite(keep_s) and keep_s > 0):
        return 0.0
    tokens = TB / plan.physics.stored_bytes_per_token / (plan.physics.hbm_copies if tier == 0 else 1.0)
    return max(0.0, plan.reuse.marginal_hits_per_s(keep_s) * tokens * gpu_s_per_reusable_token(plan))

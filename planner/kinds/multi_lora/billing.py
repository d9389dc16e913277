"""The bill: GPU time by what it was for and by tenant, the slots they hold, and what nobody used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import characteristic_time_s
from planner.formulas.cost import exact_parts, usd_per_million_tokens
from planner.formulas.fair_share import weighted_tokens
from planner.formulas.popularity import IndependentItems
from planner.formulas.tenant_bill import NOTHING, FleetTime, TenantBill, Usage, tenant_bill
from planner.formulas.typical_replica import COPIES_PER_MEAN
from planner.kinds.multi_lora.tenants import adapter_shares, owners, summed

if TYPE_CHECKING:
    from planner.kinds.multi_lora.plan import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Bill:
    """What an hour at the peak costs, its parts, and what each tenant pays."""

    usd_per_h: float
    by_tenant: TenantBill
    usage: Usage
    output_tokens_per_s: Array
    input_tokens_per_s: Array

    def parts(self) -> dict[str, float]:
        """Lines of the fleet; they sum to the bill."""
        lines = self.by_tenant
        found = {
            "base": float(lines.base.sum()),
            "adapter_steps": float(lines.adapters.sum()),
            "slot_rent": float(lines.slots.sum()) + lines.empty_slots,
            "loads": float(lines.loads.sum()),
            "spare": lines.spare,
        }
        parts = exact_parts(self.usd_per_h, parts=found, remainder="idle")
        if 0 < parts["idle"] <= NOTHING * self.usd_per_h:
            parts |= {"base": parts["base"] + parts["idle"], "idle": 0.0}
        return parts

    @property
    def per_m_output(self) -> float | None:
        return usd_per_million_tokens(self.usd_per_h, tokens_per_s=float(self.output_tokens_per_s.sum()))

    @property
    def per_m_tokens(self) -> float | None:
        both = float(self.output_tokens_per_s.sum() + self.input_tokens_per_s.sum())
        return usd_per_million_tokens(self.usd_per_h, tokens_per_s=both)


def bill_of(plan: Plan) -> Bill | None:
    """The bill of a design; None without a price."""
    price = plan.gpu_price_usd_per_h
    if price is None:
        return None
    spec, tenants = plan.spec, plan.tenants
    usd = plan.gpus * price
    # What is not served costs as much and answers nothing.
    served = tenants.rates * (plan.fleet.served_rps / plan.fleet.rate_rps if plan.fleet.rate_rps > 0 else 1.0)
    usage, (inputs, outputs) = usage_of(plan), (served * spec.input_tokens, served * spec.output_tokens)
    return Bill(usd, tenant_bill(usage, usd_per_h=usd, fleet=_fleet_time(plan)), usage, outputs, inputs)


def usage_of(plan: Plan) -> Usage:
    """What tenants use: weighted tokens that are computed, slots, and bytes that are copied for them."""
    spec, found = plan.spec, plan.latency
    computed = spec.input_tokens * (1 - (found.prefix_hits if found else 0.0))
    tokens = weighted_tokens(
        plan.tenants.rates * computed, plan.tenants.rates * spec.output_tokens, output_weight=spec.output_weight
    )
    held, missed = _by_tenant(plan)
    held = held * spec.gpus_per_replica * plan.served / plan.fleet.replicas
    copied = missed * plan.tenants.rate_rps * (1 - spec.base_share) * plan.parts.adapter.file_bytes
    return Usage(tokens, tokens * (1 - spec.base_share), held, copied)


def _by_tenant(plan: Plan) -> tuple[Array, Array]:
    """Slots that the adapters of each tenant hold over the fleet, and its misses as a share of all requests."""
    spec, replica, asked = plan.spec, plan.replica, plan.parts.asked
    shares = adapter_shares(spec, asked=asked)
    copies = copies_of(plan, shares)
    seen = shares * plan.fleet.replicas / copies
    slots = plan.held
    if slots <= 0 or not replica.adapter.exists or replica.adapted <= 0:
        absent = np.ones_like(shares)
    elif slots >= replica.seen.items - 1e-9:
        absent = np.zeros_like(shares)
    else:
        loads = [IndependentItems(replica.seen.popularity)]
        absent = np.exp(-seen * characteristic_time_s(loads, capacity_tokens=float(slots)))
    owner = owners(spec, adapters=len(shares))
    held = summed(copies * (1 - absent), owner=owner, tenants=spec.tenants)
    missed = summed(shares * absent, owner=owner, tenants=spec.tenants)
    most = float(slots * plan.fleet.replicas)
    total = float(held.sum())
    return held * min(most / total, 1.0) if total > 0 else held, missed


def copies_of(plan: Plan, shares: Array) -> Array:
    """Replicas that each adapter lies on."""
    spec, replicas = plan.spec, plan.fleet.replicas
    if spec.routing == "random" or replicas <= 1:
        return np.full_like(shares, float(replicas))
    least = float(min(spec.copies, replicas))
    if spec.routing == "hash":
        return np.full_like(shares, least)
    wanted = np.ceil(np.round(COPIES_PER_MEAN * replicas * shares, 9))
    return np.asarray(np.clip(wanted, least, replicas))


def _fleet_time(plan: Plan) -> FleetTime:
    spec, found = plan.spec, plan.latency
    needed_gpus = plan.served * spec.gpus_per_replica
    memory, step = plan.parts.memory, plan.replica.step(plan.running)
    slots = memory.held if memory.in_pages is None else plan.held
    stalled = 0.0 if found is None else min(found.rate_rps * found.replica.stall_s, 1.0)
    running = plan.running if found is None else found.rate_rps * found.residence_s
    share = memory.gpu_slot_bytes / memory.usable_bytes if memory.usable_bytes > 0 else 0.0
    return FleetTime(
        busy=-math.expm1(-running) * (1 - stalled),
        adapter_kernels=1 - step.base_s * step.engine_factor / step.total_s if step.total_s > 0 else 0.0,
        loading=stalled,
        slot_memory=min(share, 1 / max(slots, 1)),
        slots=float(slots * needed_gpus),
        gpus=float(needed_gpus),
        spare=1 - plan.served / (plan.fleet.replicas + spec.cold_replicas),
    )

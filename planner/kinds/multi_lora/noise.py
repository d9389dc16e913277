"""What happens to the others when the largest tenant sends many times its share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.formulas.fair_share import Neighbours, noisy_neighbour
from planner.kinds.multi_lora.billing import copies_of
from planner.kinds.multi_lora.tenants import adapter_shares, owners

if TYPE_CHECKING:
    from planner.kinds.multi_lora.plan import Plan


@dataclass(frozen=True, slots=True)
class Noise:
    """A noisy tenant: what is asked, what the others get, what it holds."""

    asked_rps: float
    """After limits."""
    utilisation: float | None
    served: Neighbours
    slots: float
    """Of each replica, held by the noisy tenant."""
    slot_pressure: float | None

    def others(self, fairness: str) -> float:
        """Share of the requests of the others that gets through."""
        return self.served.fair if fairness == "weighted" else self.served.first_come


def noise_of(plan: Plan) -> Noise:
    """The largest tenant times its factor, on the fleet as it is."""
    spec, tenants = plan.spec, plan.tenants
    demands, noisy = spec.requests_per_s * tenants.shares, int(np.argmax(tenants.shares))
    limit = np.inf if spec.tenant_limit_rps is None else spec.tenant_limit_rps
    louder = demands.copy()
    louder[noisy] *= spec.noisy_factor
    asked, capacity = float(np.minimum(louder, limit).sum()), plan.fleet.max_rps
    served = noisy_neighbour(
        demands, noisy=noisy, times=spec.noisy_factor, capacity=capacity, weights=tenants.weights, limits=limit
    )
    held = _slots_held(plan, tenant=noisy, sent_rps=float(min(louder[noisy], limit)))
    others = plan.replica.distinct(plan.running).mean * (1 - tenants.shares[noisy])
    slots = plan.replica.memory.slots
    return Noise(
        asked_rps=asked,
        utilisation=asked / capacity if capacity > 0 else None,
        served=served,
        slots=held,
        slot_pressure=(others + held) / slots if slots and not spec.paged else None,
    )


def _slots_held(plan: Plan, *, tenant: int, sent_rps: float) -> float:
    """Adapters of the tenant with a running request, on a replica, up to its quota and the slots."""
    spec, found = plan.spec, plan.latency
    shares = adapter_shares(spec, asked=plan.parts.asked)
    mine = owners(spec, adapters=len(shares)) == tenant
    if found is None or sent_rps <= 0 or not mine.any():
        return 0.0
    copies = copies_of(plan, shares)[mine]
    own = shares[mine] / shares[mine].sum()
    running = sent_rps * (1 - spec.base_share) * found.residence_s * own / copies
    held = float((copies / plan.fleet.replicas) @ -np.expm1(-running))
    quota = plan.replica.memory.slots if spec.tenant_slots is None or spec.paged else spec.tenant_slots
    return min(held, float(quota), float(plan.replica.memory.slots))

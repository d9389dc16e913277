"""What a cold start costs: an upgrade of the LLM, a canary, the loss of a node. One law for all of them.

An entry that is ``t`` old after a flush at zero is hit like one kept for min(t, T).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import SSD

WARM = 0.95
_POINTS = 400


def kept_s(plan: Plan) -> float:
    """How long an entry stays somewhere in the pool."""
    return float(plan.keep_s[SSD])


def usual_hits(plan: Plan) -> float:
    return float(plan.reach_hits[SSD])


def hits_after(plan: Plan, *, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hit share so long after a flush."""
    return np.asarray(plan.reuse.hit_share(np.minimum(times_s, kept_s(plan))), dtype=float)


def grid_s(plan: Plan) -> NDArray[np.float64]:
    """Times after a flush until nearly all hits are back."""
    top = min(kept_s(plan), horizon_s(plan))
    return np.concatenate(([0.0], np.geomspace(max(top * 1e-6, 1e-9), max(top, 1e-8), _POINTS)))


def horizon_s(plan: Plan) -> float:
    """The time by which nearly every pause has ended."""
    low, high = -9.0, 12.0
    everything = float(plan.reuse.hit_share(math.inf))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if plan.reuse.hit_share(10.0**middle) >= 0.9999 * everything else (middle, high)
    return float(10.0**high)


def flush_tokens(plan: Plan) -> float:
    """Reusable tokens computed again until the usual hits are back: the area over the curve."""
    if plan.gaps is not None and len(plan.sorts) and plan.spec.shared_prefix_tokens <= 0:
        kept = kept_s(plan)
        return plan.reuse.reusable_tokens_per_s * float(plan.gaps.partial_mean_s(kept))
    times = grid_s(plan)
    missing = usual_hits(plan) - hits_after(plan, times_s=times)
    return plan.reuse.reusable_tokens_per_s * float(np.trapezoid(missing, times))


def warm_after_s(plan: Plan) -> float | None:
    """Until most of the usual hits are back; None where there are none."""
    usual = usual_hits(plan)
    if usual <= 0:
        return None
    times = grid_s(plan)
    return float(np.interp(WARM * usual, hits_after(plan, times_s=times), times))


def not_computed_share(plan: Plan) -> float:
    """u·h: of the work of a cold fleet, what hits save."""
    cold = plan.spec.turns_per_s * _cold_held_s(plan)
    return 1 - plan.fleet.needed_units / cold if cold > 0 else 0.0


def _cold_held_s(plan: Plan) -> float:
    return math.fsum(sort.weight * float(plan.physics.compute_s(sort.prompt_tokens).mean()) for sort in plan.sorts)


def surge(plan: Plan) -> float:
    """Prefill work of an empty cache over the usual."""
    return 1 / (1 - not_computed_share(plan))


def safe_weight_step(plan: Plan) -> float | None:
    """Share of the traffic that may turn cold at once; None without a fleet or without hits."""
    rho, saved = plan.fleet.utilisation, not_computed_share(plan)
    if not rho or saved <= 0:
        return None
    return min(1.0, max(0.0, (1 / rho - 1) * (1 - saved) / saved))


def step_apart_s(plan: Plan) -> float:
    """Between two steps of a canary: until what moved is warm, or pauses have ended."""
    if plan.gaps is None:
        return warm_after_s(plan) or 0.0
    return min(kept_s(plan), float(plan.gaps.quantile_s(WARM)))


def canary_hits(plan: Plan) -> float:
    """Hits with both versions warm: a turn finds its last one where both had the same version."""
    weight = plan.spec.canary_weight
    same = 1.0 if plan.spec.version_by == "session" else weight**2 + (1 - weight) ** 2
    return same * usual_hits(plan)


def node_loss_hits(plan: Plan) -> float:
    """Hits when the tiers of one node are gone for good."""
    left = 1 - 1 / plan.spec.nodes
    keep_s = float(plan.reuse.keep_s(float(plan.room.reach_tokens[SSD]) * left))
    if plan.spec.eviction == "ttl":
        keep_s = min(keep_s, plan.spec.ttl_s)
    return float(plan.reuse.hit_share(keep_s))

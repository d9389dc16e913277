"""What a cold start costs: an upgrade of the LLM, a canary, the loss of a node. One law for all of them.

After a flush a turn hits if the one before came since, and is not too old: h(t) is that of entries kept for min(t, T).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas import flush
from planner.formulas.caching import OneShots, Sessions
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.reuse import Streams
from planner.kinds.kv_pool.tiers import SSD

Array = NDArray[np.float64]
WARM = 0.95
NEARLY_ALL = 0.9999
MOST_SAVED = 1 - 1e-12
"""Computing nothing at all would make a cold start infinitely dear."""
_POINTS = 400
MOST_STEPS = 40
"""Of a canary that is drawn."""


def kept_s(plan: Plan) -> float:
    """How long an entry stays somewhere in the pool; by value the times differ, and the hits say when it is full."""
    return math.inf if plan.spec.eviction == "value" else float(plan.keep_s[SSD])


def usual_hits(plan: Plan) -> float:
    """Hit share of the warm pool."""
    return float(plan.reach_hits[SSD])


def hits_after(plan: Plan, *, times_s: Any) -> Any:
    """Hit share so long after a flush."""
    found = plan.reuse.hit_share(np.minimum(np.maximum(times_s, 0.0), kept_s(plan)))
    return np.minimum(found, usual_hits(plan))


def grid_s(plan: Plan) -> Array:
    """Times after a flush until nearly all hits are back."""
    top = max(min(kept_s(plan), plan.tail_s(NEARLY_ALL)), 1e-8)
    return np.concatenate(([0.0], np.geomspace(max(top * 1e-6, 1e-9), top, _POINTS)))


def flush_tokens(plan: Plan) -> float:
    """Reusable tokens computed again until the usual hits are back."""
    loads = plan.reuse.loads if isinstance(plan.reuse, Streams) else ()
    closed = bool(loads) and plan.spec.eviction != "value"
    if closed and all(isinstance(load, Sessions | OneShots) for load in loads):
        return math.fsum(
            flush.extra_prefill_tokens(load.reusable_tokens_per_s, gaps=load.gaps, kept_s=kept_s(plan))
            for load in loads
            if isinstance(load, Sessions)
        )
    times = grid_s(plan)
    missing = usual_hits(plan) - np.asarray(hits_after(plan, times_s=times))
    return plan.reuse.reusable_tokens_per_s * float(np.trapezoid(np.maximum(missing, 0.0), times))


def warm_after_s(plan: Plan) -> float | None:
    """Until most of the usual hits are back; None where there are none."""
    usual = usual_hits(plan)
    if usual <= 0:
        return None
    times = grid_s(plan)
    return float(np.interp(WARM * usual, np.asarray(hits_after(plan, times_s=times)), times))


def not_computed_share(plan: Plan) -> float:
    """u·h as work: of what a cold fleet would compute, what hits save."""
    cold = plan.spec.turns_per_s * cold_held_s(plan)
    return min(max(0.0, 1 - plan.fleet.needed_units / cold), MOST_SAVED) if cold > 0 else 0.0


def cold_held_s(plan: Plan) -> float:
    """Time a mean turn holds a unit when nothing is cached."""
    return math.fsum(sort.weight * float(plan.physics.compute_s(sort.prompt_tokens).mean()) for sort in plan.sorts)


def surge(plan: Plan) -> float:
    """Prefill work of an empty cache over the usual."""
    return flush.prefill_surge(not_computed_share(plan))


def safe_weight_step(plan: Plan) -> float | None:
    """Share of the traffic that may turn cold at once; None without a fleet or without hits."""
    rho, saved = plan.fleet.utilisation, not_computed_share(plan)
    if not rho or saved <= 0:
        return None
    return flush.largest_safe_step(rho, hit_share=saved)


def step_apart_s(plan: Plan) -> float:
    """Between two steps of a canary: until what moved is warm, or pauses have ended."""
    return min(kept_s(plan), plan.tail_s(WARM))


def load_after(plan: Plan, *, hits: Any) -> Any:
    """Prefill work over what the fleet can do, with such hits."""
    usual, saved = usual_hits(plan), not_computed_share(plan)
    share = np.asarray(hits) / usual if usual > 0 else np.zeros(np.shape(hits))
    return (plan.fleet.utilisation or 0.0) * (1 - saved * share) / (1 - saved)


def hits_in_steps(plan: Plan, *, times_s: Array, step: float, apart_s: float) -> Array:
    """Hit share while the traffic moves to a cold version step by step."""
    count = min(math.ceil(1 / step - 1e-9), MOST_STEPS)
    usual = usual_hits(plan)
    found = np.full(times_s.shape, usual)
    for place in range(count):
        moved = min(step, 1 - place * step)
        since = times_s - place * apart_s
        found += np.where(since >= 0, moved * (np.asarray(hits_after(plan, times_s=since)) - usual), 0.0)
    return found


def canary_hits(plan: Plan) -> float:
    """Hits with both versions warm: a turn finds its last one where both had the same version."""
    by_session = plan.spec.version_by == "session"
    same = 1.0 if by_session else flush.kept_by_request_weights(plan.spec.canary_weight)
    return same * usual_hits(plan)


def node_loss_hits(plan: Plan) -> float:
    """Hits when the tiers of one node are gone for good."""
    left = flush.capacity_without_nodes(1.0, nodes=plan.spec.nodes)
    return float(plan.hits_with(plan.room.tokens * left)[SSD])

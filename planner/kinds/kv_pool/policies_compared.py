"""Least recently used, after a fixed time, by value: the same load under each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from planner.formulas import caching
from planner.kinds.kv_pool.plan import Plan

Array = NDArray[np.float64]
LABELS = {"lru": "least recently used", "ttl": "after a fixed time", "value": "by value"}


def at_reaches(plan: Plan) -> Mapping[str, Array]:
    """Hit share within the reach of the tiers down to each, by policy."""
    return by_capacity(plan, tokens=plan.room.reach_tokens)


def by_capacity(plan: Plan, *, tokens: Array) -> Mapping[str, Array]:
    """Hit share of a cache of so many tokens, by policy."""
    times = np.asarray(plan.reuse.keep_s(tokens), dtype=float)
    lru = np.asarray(plan.reuse.hit_share(times), dtype=float)
    ttl = np.asarray(plan.reuse.hit_share(caching.kept_s(times, ttl_s=plan.spec.ttl_s)), dtype=float)
    value = np.asarray(plan.reuse.hit_share_by_value(tokens), dtype=float)
    return {"lru": lru, "ttl": ttl, "value": value}

"""Mean load of each instance under each policy, for one draw of where the prefixes lie."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas import hashing
from planner.kinds.gateway import ring
from planner.kinds.gateway.policies import cap_of
from planner.kinds.gateway.reuse import Reuse
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import SPREADING

MOST_INSTANCES = 20_000


LEAST_LOAD = 1e-6


def loads(spec: GatewaySpec, reuse: Reuse, *, name: str) -> NDArray[np.float64]:
    """Loads of the instances in means, the fullest first."""
    instances = min(spec.instances, MOST_INSTANCES)
    if name in SPREADING or not reuse.groups or (name == "bounded_hash" and spec.hash_key == "session"):
        return np.ones(instances)
    cap, passed, levelled = math.inf, math.inf, math.inf
    if name == "cost_based":
        cap = cap_of(spec)
        levelled = max(cap, 1.0)
    elif name == "prefix_aware" and spec.hot_prefix_cap is not None:
        cap = spec.hot_prefix_cap
    elif name == "bounded_hash":
        passed = spec.load_bound
    return _loads(reuse.groups, reuse.exponent, instances=instances, cap=cap, passed=passed, levelled=levelled)


@lru_cache(maxsize=64)
def _loads(
    groups: int, exponent: float, *, instances: int, cap: float, passed: float, levelled: float
) -> NDArray[np.float64]:
    """With hot prefixes copied from a load on, and what is over a bound passed on or levelled; infinite is none."""
    placed = _placed(groups, exponent, instances=instances, cap=cap)
    if math.isfinite(passed):
        placed = _passed_on(placed, bound=passed)
    if math.isfinite(levelled):
        placed = _levelled(placed, bound=levelled)
    # A rest of the arithmetic is no load, and a log scale would show it.
    ordered = np.sort(np.where(placed < LEAST_LOAD, 0.0, placed))[::-1]
    ordered.setflags(write=False)
    return ordered


def _placed(groups: int, exponent: float, *, instances: int, cap: float) -> NDArray[np.float64]:
    """Each prefix on an instance drawn at random; with a cap copies of the hot ones, each where least is."""
    if math.isinf(cap):
        return ring.placed(groups, exponent, instances=instances)
    ranks = np.arange(1.0, min(groups, ring.MOST_PREFIXES) + 1)
    weights = ranks**-exponent
    shares = weights / weights.sum()
    copies = hashing.copies(shares, instances=instances, cap=cap)
    parts = np.repeat(shares / copies, copies.astype(np.int64)) * instances
    return _where_least_is(parts, instances=instances)


def _where_least_is(parts: NDArray[np.float64], *, instances: int) -> NDArray[np.float64]:
    """Largest first, a round of all instances at a time: the largest of a round to the emptiest."""
    loads = np.zeros(instances)
    for begin in range(0, len(parts), instances):
        some = np.sort(parts[begin : begin + instances])[::-1]
        loads[np.argsort(loads)[: len(some)]] += some
    return loads


def _passed_on(placed: NDArray[np.float64], *, bound: float) -> NDArray[np.float64]:
    """What is above the bound fills the room of the others, in proportion."""
    kept = np.minimum(placed, bound)
    room = bound - kept
    return kept + room * ((placed - kept).sum() / room.sum()) if room.sum() > 0 else placed


def _levelled(placed: NDArray[np.float64], *, bound: float) -> NDArray[np.float64]:
    """What is above the bound goes to those that have least, up to one level."""
    kept = np.minimum(placed, bound)
    excess = float((placed - kept).sum())
    low, high = 0.0, bound
    for _ in range(50):
        level = (low + high) / 2
        if float(np.maximum(level - kept, 0.0).sum()) < excess:
            low = level
        else:
            high = level
    return np.maximum(kept, high)

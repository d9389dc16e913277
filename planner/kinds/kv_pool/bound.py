"""Sessions that return to the unit that has their KV: turns come in clusters, and some units are busier for long."""

from __future__ import annotations

import math
from typing import Literal

from planner.formulas.clustered import Cluster
from planner.kinds.kv_pool.reach import Start
from planner.kinds.kv_pool.reuse import turn_classes
from planner.kinds.kv_pool.serving import Fleet, Turns, fleet
from planner.kinds.kv_pool.spec import KvPoolSpec

Served = Literal["any", "own", "one"]
"""Which unit serves a turn: any, the one that has its session in HBM, or one that was drawn for it."""
WORTH_A_WAIT = 0.1
"""Hits in HBM from which turns of a pool return to the unit that has them."""


def serves(spec: KvPoolSpec, *, start: Start | None, hbm_hits: float) -> Served:
    """A pool sends a turn anywhere unless much would be found in HBM; a run knows its own rule."""
    if start is not None:
        return "own" if start.bound else "one" if start.apart else "any"
    if spec.placement == "pool":
        return "own" if hbm_hits >= WORTH_A_WAIT else "any"
    return "own" if spec.placement == "affinity" else "one"


def fleet_for(spec: KvPoolSpec, *, made: Turns, units: int | None, served: Served) -> Fleet:
    """The fleet with the waits that this rule makes."""
    together = clusters(spec, made=made) if served == "own" else ()
    return fleet(spec, made=made, units=units, apart=served != "any", clusters=together)


def clusters(spec: KvPoolSpec, *, made: Turns) -> tuple[Cluster, ...]:
    """The sorts of sessions as a unit meets them; none where turns belong to no session that is known."""
    if spec.source != "sessions":
        return ()
    found, held = [], iter(made.sorts_held_s)
    for each in turn_classes(spec):
        first_s = next(held)
        if each.follow_share <= 0:
            continue
        later_s, gap_s = next(held), each.gaps.mean_s
        mean_s = (1 - each.follow_share) * first_s + each.follow_share * later_s
        if math.isfinite(gap_s) and gap_s > 0:
            found.append(Cluster(each.share, each.follow_share, gap_s, mean_s, later_s))
    return tuple(found)

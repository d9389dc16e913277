"""Hits within the reach of the tiers down to each: by the eviction chosen, from the start of a run on, by routing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas import caching
from planner.kinds.kv_pool.reuse import Reuse, Streams
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import DRAM, HBM, SSD, Capacities
from planner.kinds.kv_pool.wandering import extra_copies_tokens, wandering, with_copies

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Start:
    """A run that begins with empty caches: ages of the caches while it is measured, and who waits for whom."""

    ages_s: Array
    apart: bool
    """Each turn waits for one unit, not for any."""
    bound: bool
    """A session's turns all wait for the same unit."""
    scattered_hbm: bool
    """A turn finds its session in HBM by chance only."""


def keep_s(spec: KvPoolSpec, *, reuse: Reuse, reach_tokens: Array) -> Array:
    """How long an untouched entry stays within each reach, by the eviction chosen."""
    times = np.asarray(reuse.keep_s(reach_tokens), dtype=float)
    return np.asarray(caching.kept_s(times, ttl_s=spec.ttl_s)) if spec.eviction == "ttl" else times


def reach_hits(spec: KvPoolSpec, *, reuse: Reuse, reach: Array, keep: Array | None = None) -> Array:
    """Share of the reusable tokens hit within each reach; ``keep`` are its times, where they are known."""
    if spec.eviction == "value":
        return np.asarray(reuse.hit_share_by_value(reach), dtype=float)
    times = keep_s(spec, reuse=reuse, reach_tokens=reach) if keep is None else keep
    return np.asarray(reuse.hit_share(times), dtype=float)


def admitted_hits(spec: KvPoolSpec, *, reuse: Reuse, within: Array) -> Array:
    """Hits when only a part of the contexts enters the pool: first those are dropped that nobody would ask for."""
    if spec.admitted_share >= 1:
        return within
    asked_again = reuse.reusable_tokens_per_s / max(spec.turns_per_s * spec.context_tokens, 1e-300)
    kept = min(1.0, spec.admitted_share / asked_again) if asked_again > 0 else 1.0
    hbm = within[..., :1]
    return hbm + kept * (within - hbm)


def since(start: Start | None, *, reuse: Reuse, keep: Array, within: Array) -> tuple[Array, float]:
    """Hits of caches that were empty at the start, averaged over their ages, and what was seen since."""
    if start is None or not len(start.ages_s):
        return within, 1.0
    everything = float(reuse.hit_share(math.inf))
    ages = np.minimum(keep[None, :], start.ages_s[:, None])
    fresh = np.asarray(reuse.hit_share(ages), dtype=float).mean(axis=0)
    seen = float(np.mean(reuse.hit_share(start.ages_s))) / everything if everything > 0 else 1.0
    return np.minimum(within, fresh), seen


def not_met(spec: KvPoolSpec, *, settled: Reuse, room: Capacities, hits: float) -> Array:
    """HBM hits lost when turns go to whichever unit is free; they are found in SSD if that holds all."""
    units, reach = spec.prefill_units or 1, float(room.reach_tokens[HBM])
    met = hits / units
    if isinstance(settled, Streams) and reach > 0:
        spread = wandering(settled, nodes=units, capacity_tokens=reach)
        met = min(hits, float(spread.hit_share(spread.keep_s(reach))))
    in_dram = spec.relation == "inclusive" and room.stored_bytes[DRAM] > 0
    in_ssd = spec.relation != "exclusive" and room.stored_bytes[SSD] > 0
    lost = hits - met
    return np.array([lost, 0.0 if in_dram else lost, 0.0 if in_dram or in_ssd else lost])


def counting_copies(spec: KvPoolSpec, *, reuse: Streams, units: float, room: Capacities) -> tuple[Array, Array]:
    """Times and hits when each unit's HBM keeps its own copy of the prefixes that sessions share."""
    near = with_copies(reuse, units=units)
    hbm = room.reach_tokens[:1]
    kept = keep_s(spec, reuse=near, reach_tokens=hbm)
    doubled = extra_copies_tokens(reuse, units=units, keep_s=float(kept[0])) if math.isfinite(kept[0]) else 0.0
    below = room.reach_tokens[1:] - np.array([spec.relation != "inclusive", spec.relation == "exclusive"]) * doubled
    below = np.maximum(below, hbm[0] - doubled)
    keep = np.concatenate((kept, keep_s(spec, reuse=reuse, reach_tokens=below)))
    found = reach_hits(spec, reuse=near, reach=hbm), reach_hits(spec, reuse=reuse, reach=below)
    within = np.maximum.accumulate(np.concatenate(found))
    for tier in (DRAM, SSD):
        if room.stored_bytes[tier] <= 0:  # the copies above it are no room of its own
            keep[tier], within[tier] = keep[tier - 1], within[tier - 1]
    return keep, within

"""Samples of the system over time, read from the state between two slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sims.parts.node_links import KINDS
from sims.systems.kv_pool.config import TIERS
from sims.systems.kv_pool.state import State


@dataclass(frozen=True, slots=True)
class Sample:
    """The system at a moment: sums up to it, whose differences give rates and shares, and what is in it.

    Blocks by tier (hbm, dram, ssd) unless the name says otherwise; ``link_busy_s`` by kind of link, all nodes together.
    """

    at_s: float
    requests: int
    tokens: int
    lookups: int
    reusable: int
    hits: tuple[int, int, int]
    hit_tokens: int
    compute_s: float
    alone_compute_s: float
    bare_compute_s: float
    finished: int
    ttft_sum_s: float
    alone_ttft_sum_s: float
    node_busy_s: float
    in_flight: int
    used: tuple[int, int, int]
    used_new: tuple[int, int, int]
    capacity: tuple[int, int, int]
    written: tuple[int, int, int]
    evicted: tuple[int, int, int]
    expired: tuple[int, int, int]
    read: tuple[int, int, int]
    link_busy_s: tuple[float, ...]
    alive: int


def by_tier(state: State, name: str) -> tuple[int, int, int]:
    """A field of the caches, summed over each tier."""
    firsts = [*(int(first) for first in state.tiers.first), len(state.store.caches)]
    column = state.store.caches[name]
    sums = [int(column[firsts[tier] : firsts[tier + 1]].sum()) for tier in range(len(TIERS))]
    return sums[0], sums[1], sums[2]


def busy_s(state: State, *, at_s: float) -> float:
    """Node-seconds of prefill up to a moment."""
    at_work = state.nodes.serving >= 0
    return float(state.nodes.busy_s.sum() + (at_s - state.nodes.began_s[at_work]).sum())


def sample(state: State, *, at_s: float) -> Sample:
    """What there is at ``at_s``."""
    whole, totals = state.whole[0], state.totals[0]
    # Transfers are booked ahead: what lies in the future has not kept a link busy yet.
    ahead_s = np.maximum(0.0, state.links.free_s - at_s)
    busy = np.maximum(0.0, state.links.busy_s - ahead_s)
    link_busy_s = busy.reshape(len(state.nodes), len(KINDS)).sum(axis=0)
    return Sample(
        at_s=at_s,
        requests=int(whole.requests),
        tokens=int(whole.tokens),
        lookups=int(whole.lookups),
        reusable=int(whole.reusable),
        hits=(int(whole.hbm), int(whole.dram), int(whole.ssd)),
        hit_tokens=int(whole.hit_tokens),
        compute_s=float(whole.compute_s),
        alone_compute_s=float(whole.alone_compute_s),
        bare_compute_s=float(whole.bare_compute_s),
        finished=int(whole.finished),
        ttft_sum_s=float(whole.ttft_sum_s),
        alone_ttft_sum_s=float(whole.alone_ttft_sum_s),
        node_busy_s=busy_s(state, at_s=at_s),
        in_flight=int(totals.in_flight),
        used=by_tier(state, "used"),
        used_new=by_tier(state, "used_new"),
        capacity=by_tier(state, "capacity"),
        written=by_tier(state, "written"),
        evicted=by_tier(state, "evicted"),
        expired=by_tier(state, "expired"),
        read=(int(state.tiers[0].read), int(state.tiers[1].read), int(state.tiers[2].read)),
        link_busy_s=tuple(float(value) for value in link_busy_s),
        alive=int(state.nodes.alive.sum()),
    )

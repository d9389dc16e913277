"""Sessions that go to any node while each node keeps its own cache."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import CachedLoad, OneShots, Sessions
from planner.formulas.gaps import GapLaw
from planner.formulas.placement import Scattered
from planner.formulas.popularity import IndependentItems, SharedPrefixes
from planner.kinds.kv_pool.reuse import Streams

Array = NDArray[np.float64]
_LEVELS = 7
_FINER = 8.0
"""Each level is as much shorter than the one before: short times need a finer grid than long ones."""
_TURNS_KEPT = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated(GapLaw):
    """A law known at some times, straight in between; what is missing to one never comes back."""

    times_s: Array
    shares: Array
    sums_s: Array

    @classmethod
    def of(cls, times_s: Array, *, shares: Array) -> Tabulated:
        rising = np.maximum.accumulate(shares)
        middles = (times_s[1:] + times_s[:-1]) / 2
        return cls(times_s, rising, np.concatenate(([0.0], np.cumsum(np.diff(rising) * middles))))

    @property
    def mean_s(self) -> float:
        return math.inf

    def cdf(self, time_s: Any) -> Any:
        return np.interp(time_s, self.times_s, self.shares)

    def density_per_s(self, time_s: Any) -> Any:
        slopes = np.append(np.diff(self.shares) / np.diff(self.times_s), 0.0)
        return slopes[np.clip(np.searchsorted(self.times_s, time_s, side="right") - 1, 0, len(slopes) - 1)]

    def partial_mean_s(self, time_s: Any) -> Any:
        return np.interp(time_s, self.times_s, self.sums_s)

    def mean_min_s(self, time_s: Any) -> Any:
        return self.partial_mean_s(time_s) + time_s * self.survival(time_s)

    def quantile_s(self, share: Any) -> Any:
        found = np.interp(share, self.shares, self.times_s)
        return np.where(np.asarray(share) > self.shares[-1], np.inf, found)[()]


def scattered(gaps: GapLaw, *, nodes: int, follow_share: float, until_s: float) -> GapLaw:
    """The time until a session is back on the same node, with a grid that is fine at short times too."""
    times, shares = [np.zeros(1)], [np.zeros(1)]
    below = 0.0
    for level in range(_LEVELS - 1, -1, -1):
        top = until_s / _FINER**level
        law = Scattered.of(gaps, nodes=nodes, follow_share=follow_share, until_s=top)
        grid = np.linspace(0.0, top, len(law.returned))
        kept = grid > below
        times.append(grid[kept])
        shares.append(law.returned[kept])
        below = top
    return Tabulated.of(np.concatenate(times), shares=np.concatenate(shares))


@dataclass(frozen=True, slots=True)
class Copies:
    """The same load on each of many caches, told as one of them all."""

    load: CachedLoad
    copies: float

    @property
    def reusable_tokens_per_s(self) -> float:
        return self.copies * self.load.reusable_tokens_per_s

    def occupancy_tokens(self, time_s: Any) -> Any:
        return self.copies * self.load.occupancy_tokens(time_s)

    def growth_tokens_per_s(self, time_s: Any) -> Any:
        return self.copies * self.load.growth_tokens_per_s(time_s)

    def hit_tokens_per_s(self, time_s: Any) -> Any:
        return self.copies * self.load.hit_tokens_per_s(time_s)


def with_copies(streams: Streams, *, units: float) -> Streams:
    """The streams in the HBM of many units: each keeps a copy of the prefixes that its sessions share."""
    return Streams(tuple(_copied(load, units=units) for load in streams.loads))


def _copied(load: CachedLoad, *, units: float) -> CachedLoad:
    if not isinstance(load, SharedPrefixes) or units <= 1:
        return load
    each = SharedPrefixes(
        load.popularity,
        load.prefix_tokens,
        sessions_per_s=load.sessions_per_s / units,
        mean_turns=load.mean_turns,
        gaps=load.gaps,
    )
    return Copies(each, units)


def extra_copies_tokens(streams: Streams, *, units: float, keep_s: float) -> float:
    """Room that the copies take beyond one of each prefix."""
    shared = [load for load in streams.loads if isinstance(load, SharedPrefixes)]
    held = [
        float(_copied(load, units=units).occupancy_tokens(keep_s) - load.occupancy_tokens(keep_s)) for load in shared
    ]
    return max(0.0, math.fsum(held)) if all(math.isfinite(each) for each in held) else 0.0


def wandering(streams: Streams, *, nodes: int, capacity_tokens: float) -> Streams:
    """The streams with each turn on any node, for capacities over all nodes up to this one."""
    if nodes <= 1:
        return streams
    longest_s = _longest_s(streams, nodes=nodes, capacity_tokens=capacity_tokens)
    return Streams(tuple(_spread(load, nodes=nodes, until_s=longest_s) for load in streams.loads))


def _longest_s(streams: Streams, *, nodes: int, capacity_tokens: float) -> float:
    """As long as sessions that stay would be kept, or what their pauses ask for where all fits."""
    kept = float(streams.keep_s(capacity_tokens))
    if math.isfinite(kept):
        return max(kept, 1e-6)
    pauses = [load.gaps.mean_s for load in streams.loads if isinstance(load, Sessions)]
    return min(max([_TURNS_KEPT * nodes * pause for pause in pauses if math.isfinite(pause)], default=1.0), 1e12)


def _spread(load: CachedLoad, *, nodes: int, until_s: float) -> CachedLoad:
    if isinstance(load, Sessions):
        total = load.reusable_tokens_per_s + load.final_tokens_per_s
        if load.reusable_tokens_per_s <= 0:
            return load
        follow = load.reusable_tokens_per_s / total
        law = scattered(load.gaps, nodes=nodes, follow_share=follow, until_s=until_s)
        return Sessions(law, load.reusable_tokens_per_s, load.final_tokens_per_s)
    if isinstance(load, OneShots):
        return load
    if isinstance(load, SharedPrefixes):
        # Each node sees its share of all touches, one by one: a session's turns are elsewhere.
        return Copies(
            SharedPrefixes(
                load.popularity,
                load.prefix_tokens,
                sessions_per_s=load.sessions_per_s * load.mean_turns / nodes,
                mean_turns=1.0,
                gaps=load.gaps,
            ),
            nodes,
        )
    if isinstance(load, IndependentItems):
        return Copies(IndependentItems(load.popularity, load.requests_per_s / nodes, load.item_tokens), nodes)
    return load

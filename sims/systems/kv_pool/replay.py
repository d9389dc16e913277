"""A trace of block ids through caches of given sizes, exactly; and through all sizes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import warms
from sims.parts import reuse_distance, touch_log
from sims.parts.clairvoyant import clairvoyant_hits
from sims.parts.interning import Ids, checked_ids

EXCLUSIVE, INCLUSIVE, INCLUSIVE_MISSES = "exclusive", "inclusive", "inclusive_misses"
"""Two tiers hold different blocks; both hold what comes, each touch refreshes both; or only misses reach the second."""

MOST_LOOKUPS = 2**31 - 1
Blocks = Sequence[int] | NDArray[Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """Look-ups and hits in blocks; per request when offsets were given.

    ``request_hits`` counts all blocks found; ``prefix_hits`` those before a request's first miss, which is what
    attention can use.
    """

    lookups: int
    hits: int
    request_hits: NDArray[np.int64] | None = None
    prefix_hits: NDArray[np.int64] | None = None

    @property
    def hit_rate(self) -> float:
        """Share of look-ups that hit; 0 of an empty stream."""
        return self.hits / self.lookups if self.lookups else 0.0


@dataclass(frozen=True, slots=True)
class TierReplay:
    """Look-ups, hits by tier and writes into the second tier, in blocks."""

    lookups: int
    first_hits: int
    second_hits: int
    second_writes: int


@dataclass(frozen=True, slots=True)
class MissRatioCurve:
    """Hits of LRU at every capacity: ``hits_at[c]`` with c blocks, up to the number of distinct blocks."""

    lookups: int
    distinct: int
    hits_at: NDArray[np.int64]

    def hits(self, capacity_blocks: int) -> int:
        """Hits with this many blocks."""
        return int(self.hits_at[min(max(0, capacity_blocks), len(self.hits_at) - 1)])

    def miss_ratio(self, capacity_blocks: int) -> float:
        """Share of look-ups that miss with this many blocks."""
        return 1.0 - self.hits(capacity_blocks) / self.lookups if self.lookups else 0.0

    @property
    def most_hits(self) -> int:
        """Hits of a cache that never evicts."""
        return int(self.hits_at[-1])


def replay(ids: Blocks, *, capacity_blocks: int, offsets: Blocks | None = None, deepest_first: bool = False) -> Replay:
    """Look a stream of blocks up in one LRU.

    Parameters
    ----------
    ids : dense block ids in the order of the stream; `dense_ids` makes them from hashes.
    capacity_blocks : size of the cache [blocks].
    offsets : where each request begins in ``ids``, and the end (one more entry than requests); asks for figures
        by request.
    deepest_first : a request looks all its blocks up, then touches the last one first, so that its root is the most
        recently used. Otherwise each block is looked up and touched in turn.
    """
    blocks, distinct = _checked(ids)
    last, hit = np.full(max(1, distinct), -1, np.int32), np.zeros(len(blocks), np.bool_)
    capacity = int(max(0, capacity_blocks))
    if offsets is None:
        if deepest_first:
            raise ValueError("deepest_first needs offsets: without requests there is no deepest block")
        return Replay(len(blocks), int(touch_log.replay_lru(blocks, last, capacity, hit)))
    bounds = _bounds(offsets, len(blocks))
    if deepest_first:
        order = _deepest_first(bounds)
        hits = int(touch_log.replay_paths(blocks[order], bounds, last, capacity, hit))
        hit[order] = hit.copy()
    else:
        hits = int(touch_log.replay_lru(blocks, last, capacity, hit))
    return Replay(len(blocks), hits, _by_request(hit, bounds), _leading(hit, bounds))


def replay_tiers(ids: Blocks, *, first_blocks: int, second_blocks: int, mode: str = EXCLUSIVE) -> TierReplay:
    """Look a stream of blocks up in two tiers of LRU; ``mode``: `EXCLUSIVE`, `INCLUSIVE` or `INCLUSIVE_MISSES`."""
    blocks, distinct = _checked(ids)
    first, second = int(max(0, first_blocks)), int(max(0, second_blocks))
    last, tally = np.full(max(1, distinct), -1, np.int32), np.zeros(3, np.int64)
    if mode == EXCLUSIVE:
        touch_log.replay_exclusive(blocks, last, first, second, tally)
    elif mode in (INCLUSIVE, INCLUSIVE_MISSES):
        log = np.zeros(len(blocks), np.int32)
        below = np.full(max(1, distinct), -1, np.int32)
        touch_log.replay_inclusive(blocks, last, log, below, first, second, mode == INCLUSIVE_MISSES, tally)
    else:
        raise ValueError(f"mode must be exclusive, inclusive or inclusive_misses, is {mode}")
    return TierReplay(len(blocks), *(int(count) for count in tally))


def miss_ratio_curve(ids: Blocks) -> MissRatioCurve:
    """Hits of LRU at every capacity, from one pass over dense block ids."""
    blocks, distinct = _checked(ids)
    last, marks, tree = reuse_distance.arrays(distinct)
    histogram = np.zeros(max(1, distinct), np.int32)
    cold = int(reuse_distance.reuse_distances(blocks, last, marks, tree, histogram))
    return MissRatioCurve(
        len(blocks), cold, np.concatenate([[0], np.cumsum(histogram[:cold], dtype=np.int64)]).astype(np.int64)
    )


def clairvoyant(ids: Blocks, *, capacity_blocks: int) -> int:
    """Hits of the best cache that knows the future and may leave blocks out: a ceiling for any policy."""
    blocks, _ = _checked(ids)
    return clairvoyant_hits(blocks, capacity_blocks=capacity_blocks)


def _checked(ids: Blocks) -> tuple[Ids, int]:
    if len(ids) > MOST_LOOKUPS:
        raise ValueError(f"a replay holds at most {MOST_LOOKUPS} look-ups, these are {len(ids)}")
    return checked_ids(ids)


def _bounds(offsets: Blocks, lookups: int) -> NDArray[np.int64]:
    bounds = np.asarray(offsets, np.int64)
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != lookups or np.any(np.diff(bounds) < 0):
        raise ValueError(f"offsets must rise from 0 to the number of look-ups, {lookups}")
    return bounds


def _deepest_first(bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the block is that a request touches in each turn."""
    return np.repeat(bounds[:-1] + bounds[1:] - 1, np.diff(bounds)) - np.arange(bounds[-1])


def _by_request(hit: NDArray[np.bool_], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.concatenate([[0], np.cumsum(hit)])
    counts: NDArray[np.int64] = sums[bounds[1:]] - sums[bounds[:-1]]
    return counts


def _leading(hit: NDArray[np.bool_], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hits of each request before its first miss."""
    missed = np.concatenate([np.flatnonzero(~hit), [len(hit)]])
    first_miss = missed[np.searchsorted(missed, bounds[:-1])]
    counts: NDArray[np.int64] = np.minimum(first_miss, bounds[1:]) - bounds[:-1]
    return counts


@warms
def _warm() -> None:
    few = [0, 1, 0, 2]
    replay(few, capacity_blocks=1)
    replay(few, capacity_blocks=1, offsets=[0, 2, 4], deepest_first=True)
    miss_ratio_curve(few)
    for mode in (EXCLUSIVE, INCLUSIVE):
        replay_tiers(few, first_blocks=1, second_blocks=1, mode=mode)

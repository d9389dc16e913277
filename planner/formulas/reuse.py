"""What a stream of requests lets any cache reuse: simple laws, and the reuse times of a trace.

A trace is a row of block ids in the order they are touched; ids are whole numbers >= 0. Of request i are those from
``offsets[i]`` to ``offsets[i + 1]``. Nothing is replayed: all capacities are answered from one sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import Sessions
from planner.formulas.gap_samples import Empirical
from planner.formulas.gaps import Numbers, plain

Ids = NDArray[np.int64]


def last_touch(ids: Ids) -> Ids:
    """For each touch of a block the position of the touch before of the same block; -1 for first touches.

    >>> last_touch(np.array([7, 8, 7, 7])).tolist()
    [-1, -1, 0, 2]
    """
    before = np.full(len(ids), -1, dtype=np.int64)
    bits = np.int64(len(ids).bit_length())
    ordered = np.sort((ids.astype(np.int64) << bits) | np.arange(len(ids)))
    again = np.diff(ordered >> bits) == 0
    position = ordered & ((np.int64(1) << bits) - 1)
    before[position[1:][again]] = position[:-1][again]
    return before


@dataclass(frozen=True, slots=True, eq=False)
class ReuseCurve:
    """Hits of an LRU cache of any size on a trace, from the law of its reuse times.

    Parameters
    ----------
    lookups : touches in all [1]
    distinct : blocks, which are also the first touches [1]
    within : within[t] is the number of touches whose block was touched at most t references before
    held : held[t] is the mean number of different blocks in a window of t references

    Notes
    -----
    held(T) = sum_{t < T} P(reuse time > t), first touches counting as infinite; a cache of C blocks keeps a block for
    the smallest T with held(T) >= C references and hits P(reuse time <= T). No replay, no assumption of independence;
    off by a tenth of a point on a chat trace, by up to 1.4 points where the load changes its character midway.

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968; X. Hu et al.,
    "Kinetic Modeling of Data Eviction in Cache", USENIX ATC 2016, eq. (2)-(4) (average eviction time).
    """

    lookups: int
    distinct: int
    within: NDArray[np.int64]
    held: NDArray[np.float64]

    @property
    def infinite_share(self) -> float:
        """Share of the touches that a cache without limit hits [1]; 0 for an empty trace."""
        return 1.0 - self.distinct / self.lookups if self.lookups else 0.0

    def kept_references(self, capacity_blocks: Numbers) -> Numbers:
        """References for which a cache of this capacity keeps an untouched block; infinite if it holds them all [1]."""
        found = np.searchsorted(self.held, capacity_blocks)
        answer: Numbers = plain(np.where(found < len(self.held), found, np.inf))
        return answer

    def hits(self, capacity_blocks: Numbers) -> Numbers:
        """Touches found in a cache of this capacity [1]."""
        found = np.minimum(np.searchsorted(self.held, capacity_blocks), len(self.held) - 1)
        answer: Numbers = plain(self.within[found].astype(float))
        return answer

    def share(self, capacity_blocks: Numbers) -> Numbers:
        """Share of the touches found in a cache of this capacity [1]; 0 for an empty trace."""
        return self.hits(capacity_blocks) / max(self.lookups, 1)


def reuse_curve(ids: Ids) -> ReuseCurve:
    """The law of reuse times of a trace, as the hits of a cache of any size.

    Notes
    -----
    The reuse time of a touch is the number of references since the touch before of the same block.

    References
    ----------
    X. Hu et al., "Kinetic Modeling of Data Eviction in Cache", USENIX ATC 2016, section 3.1.

    >>> curve = reuse_curve(np.array([1, 2, 3, 1, 2, 3]))
    >>> [int(curve.hits(float(capacity))) for capacity in (1, 2, 3)]
    [0, 0, 3]
    """
    before = last_touch(ids)
    again = before >= 0
    within = np.cumsum(np.bincount((np.arange(len(ids)) - before)[again], minlength=1))
    beyond = 1.0 - within / max(len(ids), 1)
    held = np.concatenate(([0.0], np.cumsum(beyond[:-1])))
    return ReuseCurve(len(ids), len(ids) - int(again.sum()), within, held)


def leading_hits(ids: Ids, *, offsets: Ids) -> Ids:
    """Blocks of each request that a cache without limit finds, counted from its first block up to the first miss.

    >>> leading_hits(np.array([1, 2, 1, 2, 3]), offsets=np.array([0, 2, 5])).tolist()
    [0, 2]
    """
    requests = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    missed = last_touch(ids) < 0
    earlier = np.concatenate(([0], np.cumsum(missed)))
    return np.bincount(requests[(earlier[1:] - earlier[offsets[requests]]) == 0], minlength=len(offsets) - 1)


def trace_load(ids: Ids, *, offsets: Ids, arrival_s: NDArray[np.float64]) -> Sessions:
    """A trace as a load in blocks: how long reused blocks wait, and how many are reused or never again.

    Parameters
    ----------
    ids, offsets : of the trace
    arrival_s : of each request, sorted [s]

    Returns
    -------
    Sessions with blocks for tokens; without rates if the trace lasts no time

    Notes
    -----
    The law of reuse times in seconds instead of references: each touch waits for the next one of its block, or is the
    last, of which there are as many as distinct blocks.

    References
    ----------
    X. Hu et al., "Kinetic Modeling of Data Eviction in Cache", USENIX ATC 2016, eq. (2)-(4), in time.

    >>> load = trace_load(np.array([1, 2, 1, 2]), offsets=np.array([0, 2, 4]), arrival_s=np.array([0.0, 10.0]))
    >>> load.reusable_tokens_per_s, load.final_tokens_per_s, load.gaps.mean_s
    (0.2, 0.2, 10.0)
    """
    touched_s = np.repeat(arrival_s, np.diff(offsets))
    before = last_touch(ids)
    again = before >= 0
    lasts_s = float(arrival_s[-1] - arrival_s[0]) if len(arrival_s) else 0.0
    waited: Any = touched_s[again] - touched_s[before[again]] if again.any() else [0.0]
    if lasts_s <= 0:
        return Sessions(Empirical(waited), 0.0, 0.0)
    reused = int(again.sum())
    return Sessions(Empirical(waited), reused / lasts_s, (len(ids) - reused) / lasts_s)


def share_of_equal_turns(turns_before: Numbers) -> Numbers:
    """Share of a turn's prompt that earlier turns of the same length have left in a cache without limit.

    Parameters
    ----------
    turns_before : k [1]

    Notes
    -----
    k / (k + 1).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025, section 2 (multi-turn reuse).

    >>> share_of_equal_turns(3.0)
    0.75
    """
    return turns_before / (turns_before + 1.0)


def share_of_equal_sessions(turns: Numbers) -> Numbers:
    """Share of all prompt tokens of a session of m equal turns that a cache without limit hits.

    Parameters
    ----------
    turns : m [1]

    Notes
    -----
    Turn j asks for j lengths and finds j - 1: (m - 1) / (m + 1).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025, section 2 (multi-turn reuse).

    >>> share_of_equal_sessions(4.0)
    0.6
    """
    return (turns - 1.0) / (turns + 1.0)


def cyclic_scan_share(items: float, *, capacity: float) -> float:
    """Hits of LRU on items asked for in a circle: none until all fit.

    Notes
    -----
    Every reuse time is the number of items n; T = C, so F(T) = 1 if C >= n, else 0.

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968 (reuse within
    the window).

    >>> cyclic_scan_share(1000, capacity=999), cyclic_scan_share(1000, capacity=1000)
    (0.0, 1.0)
    """
    return 1.0 if capacity >= items else 0.0

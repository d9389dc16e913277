"""A trace replayed: faster or slower, stretched onto another length, again and again; always in its own order.

Equal blocks stay equal within one round of the trace. Each further round, and each copy of a request that a stretched
trace makes, has blocks of its own, so that no prefix is found which the trace did not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.arrivals import INSTANT_S, Chunk, Lengths, Table, packed, sampled
from sims.parts.paths import Paths, Prefixes, no_prefixes, repeated

Integers = NDArray[np.int64]

MOST_STEMS = 20_000_000
"""Shared prefixes of all rounds together; each takes 32 bytes, and more in the caches."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The prompts of a trace as paths of blocks of ``block_tokens``."""

    paths: Paths
    block_tokens: int


@dataclass(frozen=True)
class Trace:
    """A trace from its first request at or after ``start_s`` on, cut at ``duration_s`` or ``requests``.

    Parameters
    ----------
    table : the requests.
    rate_scale : the clock runs so many times as fast.
    warp_to_s : a round lasts so long [s] instead; the shape of the rate over time is kept. ``rate_scale`` then says
        how high the rate is, see ``keep_rate``.
    keep_rate : a stretched trace keeps its rate at each moment, times ``rate_scale``: a request comes as often as that
        needs, evenly until the next one is due. Otherwise the requests stay as many and come at other gaps.
    rounds : how often the trace is played, end to end.
    chains : the prompts' blocks, for caches that decide hits themselves; without them hits are the table's, or drawn.

    Notes
    -----
    A trace of n requests that span s lasts n/(n − 1)·s: its last request is followed by a gap of the mean length. With
    ``keep_rate`` request i of n comes ⌊(i + 1)·c⌋ − ⌊i·c⌋ times, where c = ``rate_scale``·``warp_to_s`` / length.
    """

    table: Table
    rate_scale: float = 1.0
    duration_s: float | None = None
    requests: int | None = None
    prefix_hit_rate: float = 0.0
    spread_hits: bool = False
    start_s: float = 0.0
    warp_to_s: float | None = None
    keep_rate: bool = False
    rounds: int = 1
    chains: Chains | None = None

    def __post_init__(self) -> None:
        if self.rounds < 1 or not self.rate_scale > 0 or not (self.warp_to_s is None or self.warp_to_s > 0):
            raise ValueError("rounds, rate_scale and warp_to_s must be above 0")
        if self.warp_to_s is None and self.keep_rate:
            raise ValueError("keep_rate says how a trace is warped: give warp_to_s")
        if self.warp_to_s is not None and not self.keep_rate and self.rate_scale != 1.0:
            raise ValueError("rate_scale must be 1 where the same requests are warped: their number gives the rate")

    @property
    def finite(self) -> bool:
        return True

    @property
    def prefixes(self) -> Prefixes:
        if self.chains is None:
            return no_prefixes()
        rounds = -(-self.count // max(1, self._plan.starts[-1]))
        stems = rounds * self._plan.copies * len(self.chains.paths.stems)
        if stems > MOST_STEMS:
            raise ValueError(f"{rounds:,} rounds have {stems:,} shared prefixes; the most is {MOST_STEMS:,}")
        return Prefixes(repeated(self.chains.paths.stems, times=rounds * self._plan.copies), self.chains.block_tokens)

    @cached_property
    def _plan(self) -> _Plan:
        return _plan_of(self)

    @property
    def count(self) -> int:
        """Requests of the whole replay."""
        plan = self._plan
        count = self.rounds * int(plan.starts[-1])
        if self.requests is not None:
            count = min(count, self.requests)
        return count if self.duration_s is None else plan.before(self.duration_s, count=count)

    @property
    def horizon_s(self) -> float:
        count = self.count
        if count == 0:
            return 0.0
        last_s = float(self._plan.at_s(np.array([count - 1]))[0])
        return last_s if last_s > 0 else INSTANT_S

    def chunks(self, seed: int) -> Iterator[Chunk]:
        plan, count, hits = self._plan, self.count, stream(seed, name="prefix hits")
        lengths = Lengths(1, 1, prefix_hit_rate=self.prefix_hit_rate, spread_hits=self.spread_hits)
        for begin in range(0, count, CHUNK):
            places = np.arange(begin, min(begin + CHUNK, count))
            rows, lives = plan.rows(places)
            chunk = packed(plan.at_s(places), *sampled(self.table, plan.first + rows, lengths, hits))
            if self.chains is not None:
                paths = self.chains.paths
                stem = paths.stem[plan.first + rows]
                chunk["cached"], chunk["blocks"] = 0, paths.blocks[plan.first + rows]
                chunk["stem"] = np.where(stem >= 0, stem + lives * len(paths.stems), -1)
            yield chunk


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which request comes when: ``starts`` counts the requests of a round before each row, and in all."""

    first: int
    own_s: NDArray[np.float64]
    """Moment of each row in its round, and the end of the round."""
    starts: Integers
    copies: int
    """The most that a row comes in a round."""

    def rows(self, places: Integers) -> tuple[Integers, Integers]:
        """Row of each request of the replay, and which life it is of the row: rounds and copies counted together."""
        rounds, within = np.divmod(places, self.starts[-1])
        rows = np.searchsorted(self.starts, within, side="right") - 1
        return rows, rounds * self.copies + within - self.starts[rows]

    def at_s(self, places: Integers) -> NDArray[np.float64]:
        """Moment of each request of the replay [s]."""
        rounds, within = np.divmod(places, self.starts[-1])
        rows = np.searchsorted(self.starts, within, side="right") - 1
        share = (within - self.starts[rows]) / (self.starts[rows + 1] - self.starts[rows])
        slot_s = self.own_s[rows + 1] - self.own_s[rows]
        moments: NDArray[np.float64] = rounds * self.own_s[-1] + self.own_s[rows] + share * slot_s
        return moments

    def before(self, until_s: float, *, count: int) -> int:
        """How many of ``count`` requests come until a moment."""
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if self.at_s(np.array([middle]))[0] <= until_s:
                low = middle + 1
            else:
                high = middle
        return low


def _plan_of(trace: Trace) -> _Plan:
    at_s = trace.table.at_s
    first = int(np.searchsorted(at_s, at_s[0] + trace.start_s)) if len(at_s) else 0
    rows = len(at_s) - first
    if rows == 0:
        return _Plan(first, np.zeros(1), np.zeros(1, np.int64), 1)
    own_s = at_s[first:] - at_s[first]
    length_s = float(own_s[-1]) * rows / (rows - 1) if rows > 1 and own_s[-1] > 0 else INSTANT_S
    speed = trace.rate_scale if trace.warp_to_s is None else length_s / trace.warp_to_s
    copies = trace.rate_scale / speed if trace.keep_rate else 1.0
    starts = np.floor(np.arange(rows + 1) * copies + 1e-9).astype(np.int64)
    return _Plan(first, np.append(own_s, length_s) / speed, starts, max(1, math.ceil(copies - 1e-9)))

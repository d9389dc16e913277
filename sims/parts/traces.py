"""A trace replayed: faster or slower, stretched onto another length, again and again; always in its own order.

Equal blocks stay equal within one round of the trace. Each further round, and each copy of a request that a stretched
trace makes, has blocks of its own, so that no prefix is found which the trace did not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sims.engine.streams import CHUNK, stream
from sims.parts.arrivals import Chunk, Lengths, Table, packed, sampled
from sims.parts.paths import Paths, Prefixes, no_prefixes, repeated
from sims.parts.trace_plan import Plan, plan_of

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

    The moments are those of `plan_of`.
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
        _ = self.plan

    @cached_property
    def plan(self) -> Plan:
        """Which request comes when."""
        return plan_of(
            self.table.at_s,
            rate_scale=self.rate_scale,
            duration_s=self.duration_s,
            requests=self.requests,
            start_s=self.start_s,
            warp_to_s=self.warp_to_s,
            keep_rate=self.keep_rate,
            rounds=self.rounds,
        )

    @property
    def finite(self) -> bool:
        return True

    @property
    def prefixes(self) -> Prefixes:
        if self.chains is None:
            return no_prefixes()
        lives, each = self.plan.lives, self.chains.paths.stems
        if lives * len(each) > MOST_STEMS:
            raise ValueError(f"{lives:,} rounds of {len(each):,} shared prefixes are more than {MOST_STEMS:,}")
        return Prefixes(repeated(each, times=lives), self.chains.block_tokens)

    @property
    def horizon_s(self) -> float:
        return self.plan.horizon_s

    def chunks(self, seed: int) -> Iterator[Chunk]:
        plan, count, hits = self.plan, self.plan.count, stream(seed, name="prefix hits")
        lengths = Lengths(1, 1, prefix_hit_rate=self.prefix_hit_rate, spread_hits=self.spread_hits)
        for begin in range(0, count, CHUNK):
            places = np.arange(begin, min(begin + CHUNK, count))
            rows, lives = plan.rows(places)
            chunk = packed(plan.at_s(places), *sampled(self.table, rows, lengths, hits))
            if self.chains is not None:
                paths = self.chains.paths
                stem = paths.stem[rows]
                chunk["cached"], chunk["blocks"] = 0, paths.blocks[rows]
                chunk["stem"] = np.where(stem >= 0, stem + lives * len(paths.stems), -1)
            yield chunk

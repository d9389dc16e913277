"""Where requests come from: a Poisson process with drawn or sampled lengths, or a trace replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.lengths import cached_share, lognormal_tokens
from sims.parts.paths import Prefixes, no_prefixes
from sims.parts.records import ARRIVAL

Chunk = NDArray[np.void]

INSTANT_S = 1.0
"""The length given to a trace whose requests all come at once."""


@dataclass(frozen=True, slots=True)
class Table:
    """Requests of a trace: sorted arrivals [s], lengths [tokens]; ``cached`` None: the hit rate applies."""

    at_s: NDArray[np.float64]
    input: NDArray[np.int64]
    output: NDArray[np.int64]
    cached: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Lengths:
    """Log-normal prompts and answers around their means."""

    input_tokens: float
    output_tokens: float
    input_sigma: float = 0.0
    output_sigma: float = 0.0
    prefix_hit_rate: float = 0.0
    spread_hits: bool = False
    most_tokens: int = 1_000_000


class Arrivals(Protocol):
    """A source of requests in order of arrival."""

    @property
    def horizon_s(self) -> float:
        """When the last request comes, or is expected to."""

    @property
    def finite(self) -> bool:
        """Whether the run goes on until the last request is finished."""

    @property
    def prefixes(self) -> Prefixes:
        """What the prompts share, block by block, for caches that decide hits themselves."""

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Arrival records, at most `CHUNK` at a time."""


def _packed(
    at_s: NDArray[np.float64], prompt: NDArray[np.int64], cached: NDArray[np.int64], answer: NDArray[np.int64]
) -> Chunk:
    chunk = np.empty(len(at_s), ARRIVAL)
    chunk["stem"], chunk["blocks"] = -1, 0
    chunk["at_s"], chunk["input"], chunk["cached"], chunk["output"] = at_s, prompt, cached, answer
    return chunk


def poisson_moments(
    seed: int, *, rate_per_s: float, duration_s: float | None, requests: int | None
) -> Iterator[NDArray[np.float64]]:
    """Moments of arrivals [s] until ``duration_s`` or ``requests`` of them, at most `CHUNK` at a time."""
    gaps = stream(seed, name="arrivals")
    now_s, left = 0.0, requests
    while rate_per_s > 0 and (left is None or left > 0):
        at_s = now_s + np.cumsum(gaps.exponential(1.0 / rate_per_s, CHUNK))
        now_s = float(at_s[-1])
        keep = CHUNK if left is None else min(CHUNK, left)
        if duration_s is not None:
            keep = min(keep, int(np.searchsorted(at_s, duration_s, side="right")))
        yield at_s[:keep]
        if keep < CHUNK:
            return
        left = None if left is None else left - keep


@dataclass(frozen=True, slots=True)
class Poisson:
    """Arrivals at ``rate_per_s`` until ``duration_s`` or ``requests`` of them; lengths drawn, or from a ``sample``."""

    rate_per_s: float
    lengths: Lengths
    duration_s: float | None = None
    requests: int | None = None
    sample: Table | None = None

    @property
    def finite(self) -> bool:
        return self.requests is not None and self.requests / self.rate_per_s < (self.duration_s or np.inf)

    @property
    def prefixes(self) -> Prefixes:
        return no_prefixes()

    @property
    def horizon_s(self) -> float:
        by_count = np.inf if self.requests is None else self.requests / self.rate_per_s
        return float(min(by_count, np.inf if self.duration_s is None else self.duration_s))

    def chunks(self, seed: int) -> Iterator[Chunk]:
        picks = stream(seed, name="sampled requests")
        draws = (
            stream(seed, name="input tokens"),
            stream(seed, name="output tokens"),
            stream(seed, name="prefix hits"),
        )
        for at_s in poisson_moments(
            seed, rate_per_s=self.rate_per_s, duration_s=self.duration_s, requests=self.requests
        ):
            if self.sample is None:
                columns = _drawn(self.lengths, draws)
            else:
                columns = _sampled(self.sample, picks.integers(0, len(self.sample.at_s), CHUNK), self.lengths, draws[2])
            yield _packed(at_s, *(column[: len(at_s)] for column in columns))


def _drawn(
    lengths: Lengths, draws: tuple[np.random.Generator, np.random.Generator, np.random.Generator]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    most = lengths.most_tokens
    prompt = lognormal_tokens(
        draws[0], count=CHUNK, mean_tokens=lengths.input_tokens, sigma=lengths.input_sigma, most_tokens=most
    )
    answer = lognormal_tokens(
        draws[1], count=CHUNK, mean_tokens=lengths.output_tokens, sigma=lengths.output_sigma, most_tokens=most
    )
    share = cached_share(draws[2], count=CHUNK, mean=lengths.prefix_hit_rate, spread=lengths.spread_hits)
    return prompt, (prompt * share).astype(np.int64), answer


def _sampled(
    table: Table, rows: NDArray[np.int64], lengths: Lengths, hits: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    share = cached_share(hits, count=len(rows), mean=lengths.prefix_hit_rate, spread=lengths.spread_hits)
    prompt = table.input[rows]
    cached = (prompt * share).astype(np.int64) if table.cached is None else table.cached[rows]
    return prompt, cached, table.output[rows]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace replayed from its first request, ``rate_scale`` times as fast, cut at ``duration_s`` or ``requests``."""

    table: Table
    rate_scale: float = 1.0
    duration_s: float | None = None
    requests: int | None = None
    prefix_hit_rate: float = 0.0
    spread_hits: bool = False

    @property
    def finite(self) -> bool:
        return True

    @property
    def prefixes(self) -> Prefixes:
        return no_prefixes()

    def _count(self) -> int:
        count = len(self.table.at_s) if self.requests is None else min(self.requests, len(self.table.at_s))
        if self.duration_s is not None and count:
            end_s = self.table.at_s[0] + self.duration_s * self.rate_scale
            count = min(count, int(np.searchsorted(self.table.at_s, end_s, side="right")))
        return count

    @property
    def horizon_s(self) -> float:
        count = self._count()
        if count == 0:
            return 0.0
        span_s = float(self.table.at_s[count - 1] - self.table.at_s[0]) / self.rate_scale
        return span_s if span_s > 0 else INSTANT_S

    def chunks(self, seed: int) -> Iterator[Chunk]:
        count, hits = self._count(), stream(seed, name="prefix hits")
        for begin in range(0, count, CHUNK):
            rows = np.arange(begin, min(begin + CHUNK, count))
            lengths = Lengths(1, 1, prefix_hit_rate=self.prefix_hit_rate, spread_hits=self.spread_hits)
            columns = _sampled(self.table, rows, lengths, hits)
            yield _packed((self.table.at_s[rows] - self.table.at_s[0]) / self.rate_scale, *columns)

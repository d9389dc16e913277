"""Where requests come from: drawn moments with drawn or sampled lengths. Traces are replayed by `sims.parts.traces`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.lengths import cached_share, lognormal_tokens
from sims.parts.moments import moments, poisson_moments
from sims.parts.paths import Prefixes, no_prefixes
from sims.parts.rates import Rate, expected_moment_s
from sims.parts.records import ARRIVAL

Chunk = NDArray[np.void]


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


def packed(
    at_s: NDArray[np.float64], prompt: NDArray[np.int64], cached: NDArray[np.int64], answer: NDArray[np.int64]
) -> Chunk:
    chunk = np.empty(len(at_s), ARRIVAL)
    chunk["stem"], chunk["blocks"], chunk["steps"] = -1, 0, 0
    chunk["at_s"], chunk["input"], chunk["cached"], chunk["output"] = at_s, prompt, cached, answer
    return chunk


@dataclass(frozen=True, slots=True)
class Drawn:
    """Arrivals at a ``rate`` over time until ``duration_s`` or ``requests``; lengths drawn, or from a ``sample``.

    ``gap_cv`` is the coefficient of variation of the gaps at a steady rate: 1 is Poisson, 0 even, above 1 clumped.
    """

    rate: Rate
    lengths: Lengths
    duration_s: float | None = None
    requests: int | None = None
    sample: Table | None = None
    gap_cv: float = 1.0

    @property
    def finite(self) -> bool:
        return self.requests is not None and self._by_count_s() < (self.duration_s or np.inf)

    @property
    def horizon_s(self) -> float:
        return float(min(self._by_count_s(), np.inf if self.duration_s is None else self.duration_s))

    @property
    def prefixes(self) -> Prefixes:
        return no_prefixes()

    def _by_count_s(self) -> float:
        return np.inf if self.requests is None else expected_moment_s(self.rate, count=self.requests)

    def chunks(self, seed: int) -> Iterator[Chunk]:
        moments_s = moments(
            seed, rate=self.rate, gap_cv=self.gap_cv, duration_s=self.duration_s, requests=self.requests
        )
        return filled(moments_s, seed=seed, lengths=self.lengths, sample=self.sample)


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
    def horizon_s(self) -> float:
        by_count = np.inf if self.requests is None else self.requests / self.rate_per_s
        return float(min(by_count, np.inf if self.duration_s is None else self.duration_s))

    @property
    def prefixes(self) -> Prefixes:
        return no_prefixes()

    def chunks(self, seed: int) -> Iterator[Chunk]:
        moments_s = poisson_moments(
            seed, rate_per_s=self.rate_per_s, duration_s=self.duration_s, requests=self.requests
        )
        return filled(moments_s, seed=seed, lengths=self.lengths, sample=self.sample)


def filled(
    moments_s: Iterator[NDArray[np.float64]], *, seed: int, lengths: Lengths, sample: Table | None
) -> Iterator[Chunk]:
    """Arrivals at moments, with lengths that are drawn, or picked from a sample."""
    picks = stream(seed, name="sampled requests")
    draws = (stream(seed, name="input tokens"), stream(seed, name="output tokens"), stream(seed, name="prefix hits"))
    for at_s in moments_s:
        if sample is None:
            columns = _drawn(lengths, draws)
        else:
            columns = sampled(sample, picks.integers(0, len(sample.at_s), CHUNK), lengths, draws[2])
        yield packed(at_s, *(column[: len(at_s)] for column in columns))


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


def sampled(
    table: Table, rows: NDArray[np.int64], lengths: Lengths, hits: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    share = cached_share(hits, count=len(rows), mean=lengths.prefix_hit_rate, spread=lengths.spread_hits)
    prompt = table.input[rows]
    cached = (prompt * share).astype(np.int64) if table.cached is None else table.cached[rows]
    return prompt, cached, table.output[rows]

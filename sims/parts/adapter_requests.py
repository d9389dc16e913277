"""Requests that name adapters: moments and lengths as any others, adapters drawn or from a trace, and noisy tenants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.adapters import ADAPTER_ARRIVAL
from sims.parts.arrivals import Arrivals, Lengths, Poisson
from sims.parts.popularity import Popularity

Chunk = NDArray[np.void]
BARE = -1
"""The adapter of a request for the bare base."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Requests for ``adapters`` (each as likely) on top of the others, from ``from_s`` to ``until_s``."""

    adapters: tuple[int, ...]
    rate_per_s: float
    lengths: Lengths
    from_s: float = 0.0
    until_s: float = float("inf")

    def chunks(self, seed: int, *, end_s: float, name: str) -> Iterator[Chunk]:
        """Its arrivals in order."""
        span_s = min(self.until_s, end_s) - self.from_s
        if span_s <= 0 or not self.adapters or self.rate_per_s <= 0:
            return
        own = int(stream(seed, name=name).integers(1 << 62))
        picks = stream(own, name="adapters")
        for chunk in Poisson(self.rate_per_s, self.lengths, duration_s=span_s).chunks(own):
            chosen = np.asarray(self.adapters, np.int64)[picks.integers(0, len(self.adapters), len(chunk))]
            yield _named(chunk, chosen, picks.random(len(chunk)), after_s=self.from_s)


@dataclass(frozen=True, slots=True, eq=False)
class AdapterRequests:
    """``arrivals`` that name adapters: drawn by ``popularity``, or those of the ``column`` row by row.

    Of the requests whose adapter is drawn, ``base_share`` ask for the bare base; in a column −1 does.
    """

    arrivals: Arrivals
    popularity: Popularity | None = None
    column: NDArray[np.int64] | None = None
    base_share: float = 0.0
    bursts: tuple[Burst, ...] = ()

    def __post_init__(self) -> None:
        if (self.popularity is None) == (self.column is None):
            raise ValueError("adapters are either drawn (popularity) or given (column)")

    @property
    def horizon_s(self) -> float:
        return self.arrivals.horizon_s

    @property
    def finite(self) -> bool:
        return self.arrivals.finite

    def shares(self, adapters: int) -> NDArray[np.float64]:
        """The share of the traffic that each adapter has, as whoever places them knows it beforehand."""
        if self.popularity is not None:
            shares = self.popularity.shares()
        else:
            named = np.asarray(self.column)
            counts = np.bincount(named[named >= 0], minlength=adapters).astype(np.float64)
            shares = counts / max(1.0, counts.sum())
        if len(shares) > adapters:
            raise ValueError(f"requests name {len(shares)} adapters, the fleet has {adapters}")
        return np.concatenate([shares, np.zeros(adapters - len(shares))])

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Arrival records in order, at most `CHUNK` at a time."""
        streams = [self._plain(seed)]
        for index, burst in enumerate(self.bursts):
            streams.append(burst.chunks(seed, end_s=self.horizon_s, name=f"burst {index}"))
        merged = streams[0]
        for other in streams[1:]:
            merged = _merged(merged, other)
        for chunk in merged:
            for begin in range(0, len(chunk), CHUNK):
                yield chunk[begin : begin + CHUNK]

    def _plain(self, seed: int) -> Iterator[Chunk]:
        picks, bare, luck, done = (
            stream(seed, name="adapters"),
            stream(seed, name="bare base"),
            stream(seed, name="router"),
            0,
        )
        for chunk in self.arrivals.chunks(seed):
            if self.popularity is None:
                assert self.column is not None  # noqa: S101 - checked at the door
                chosen = np.asarray(self.column[done : done + len(chunk)], np.int64)
            else:
                chosen = self.popularity.draw(picks, at_s=np.asarray(chunk["at_s"]), seed=seed)
                chosen = np.where(bare.random(len(chunk)) < self.base_share, BARE, chosen)
            done += len(chunk)
            yield _named(chunk, chosen, luck.random(len(chunk)))


def _named(chunk: Chunk, adapters: NDArray[np.int64], luck: NDArray[np.float64], *, after_s: float = 0.0) -> Chunk:
    named = np.empty(len(chunk), ADAPTER_ARRIVAL)
    for name in ("at_s", "input", "cached", "output"):
        named[name] = chunk[name]
    named["at_s"] += after_s
    named["adapter"], named["luck"] = adapters, luck
    return named


def _merged(one: Iterator[Chunk], other: Iterator[Chunk]) -> Iterator[Chunk]:
    """Two ordered streams as one; at equal moments the first goes first."""
    left, right = next(one, None), next(other, None)
    while left is not None and right is not None:
        if not len(left) or not len(right):
            left, right = (left if len(left) else next(one, None)), (right if len(right) else next(other, None))
            continue
        cut_s = min(left["at_s"][-1], right["at_s"][-1])
        mine, theirs = (int(np.searchsorted(part["at_s"], cut_s, side="right")) for part in (left, right))
        both = np.concatenate([left[:mine], right[:theirs]])
        yield both[np.argsort(both["at_s"], kind="stable")]
        left, right = left[mine:], right[theirs:]
    for rest, source in ((left, one), (right, other)):
        if rest is not None:
            yield rest
            yield from source

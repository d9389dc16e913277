"""Which adapter a request asks for: popularity by rank, and how the ranks change hands over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import stream
from sims.parts.lengths import zipf_shares

Adapters = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Popularity:
    """Shares of the traffic by rank. At first adapter k has rank k.

    At each of ``shifts_at_s`` all ranks are dealt anew; every ``rotate_every_s`` each adapter moves up ``rotate_by``
    ranks, and those at the top go to the end.
    """

    ranks: NDArray[np.float64]
    """Shares, the first that of the first rank; need not add up to 1."""
    shifts_at_s: tuple[float, ...] = ()
    rotate_every_s: float = 0.0
    rotate_by: int = 1

    @classmethod
    def zipf(
        cls,
        adapters: int,
        *,
        exponent: float,
        shifts_at_s: tuple[float, ...] = (),
        rotate_every_s: float = 0.0,
        rotate_by: int = 1,
    ) -> Popularity:
        """The k-th is as popular as 1/k^``exponent``."""
        return cls(zipf_shares(adapters, exponent=exponent), shifts_at_s, rotate_every_s, rotate_by)

    def shares(self) -> NDArray[np.float64]:
        """Share of each adapter at the start."""
        total = self.ranks.sum()
        shares: NDArray[np.float64] = self.ranks / total if total > 0 else np.zeros(len(self.ranks))
        return shares

    def draw(self, generator: np.random.Generator, *, at_s: NDArray[np.float64], seed: int) -> Adapters:
        """An adapter for a request at each of the moments."""
        count = len(self.ranks)
        sums = np.cumsum(self.ranks)
        ranks = np.minimum(np.searchsorted(sums, generator.random(len(at_s)) * sums[-1], side="right"), count - 1)
        if self.rotate_every_s > 0:
            ranks = (ranks + (at_s // self.rotate_every_s).astype(np.int64) * self.rotate_by) % count
        deals = np.searchsorted(np.sort(np.asarray(self.shifts_at_s, float)), at_s, side="right")
        for deal in np.unique(deals[deals > 0]):
            dealt = stream(seed, name=f"popularity {deal}").permutation(count)
            ranks[deals == deal] = dealt[ranks[deals == deal]]
        found: Adapters = ranks.astype(np.int64)
        return found

"""Answer lengths as they were observed: every length of a trace, equally likely."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedLengths:
    """Different lengths in ascending order, the share of the answers up to each, and the sums that go with them.

    ``cap_tokens`` is the limit the answers had; infinity when it is not known.
    """

    tokens: Numbers
    shares: Numbers
    sums: Numbers
    squares: Numbers
    cap_tokens: float = math.inf

    @classmethod
    def of(cls, lengths: ArrayLike, *, cap_tokens: float = math.inf) -> Self:
        """Lengths of a trace [tokens], cut at the cap.

        >>> ObservedLengths.of([1.0, 2.0, 3.0, 4.0]).mean_tokens
        2.5
        """
        cut = np.minimum(np.asarray(lengths, dtype=np.float64), cap_tokens)
        tokens, counts = np.unique(cut, return_counts=True)
        each = counts / counts.sum()
        shares = np.cumsum(counts) / counts.sum()
        return cls(tokens, shares, np.cumsum(each * tokens), np.cumsum(each * tokens**2), cap_tokens)

    @property
    def mean_tokens(self) -> float:
        """[tokens]"""
        return float(self.sums[-1])

    @property
    def second_moment(self) -> float:
        """[tokens^2]"""
        return float(self.squares[-1])

    @property
    def share_at_cap(self) -> float:
        """Share of the answers as long as the cap allows; nought when there is none [1]."""
        return float(1 - self._before(self.shares, self.cap_tokens, side="left"))

    def within(self, tokens: ArrayLike) -> Numbers:
        """Share of the answers not longer than this [1]."""
        return self._before(self.shares, tokens, side="right")

    def quantile(self, share: ArrayLike) -> Numbers:
        """Length that this share of the answers does not exceed [tokens]."""
        places = np.searchsorted(self.shares, np.asarray(share, dtype=np.float64) - 1e-12)
        found: Numbers = self.tokens[np.minimum(places, len(self.tokens) - 1)]
        return found

    def limited_mean(self, tokens: ArrayLike) -> Numbers:
        """Mean of what an answer has written after so many steps, E[min(L, x)] [tokens]."""
        limit = np.minimum(np.asarray(tokens, dtype=np.float64), self.tokens[-1])
        found: Numbers = self._before(self.sums, limit, side="right") + limit * (1 - self.within(limit))
        return found

    def limited_second(self, tokens: ArrayLike) -> Numbers:
        """E[min(L, x)^2] [tokens^2]."""
        limit = np.minimum(np.asarray(tokens, dtype=np.float64), self.tokens[-1])
        found: Numbers = self._before(self.squares, limit, side="right") + limit**2 * (1 - self.within(limit))
        return found

    def shortest_mean(self, share: float) -> float:
        """Mean length of the shortest answers, this share of all [tokens]."""
        last = float(self.quantile(share))
        known = float(self._before(self.sums, last, side="left"))
        return (known + (share - float(self._before(self.shares, last, side="left"))) * last) / share

    def expected_maximum(self, count: float) -> float:
        """Expected longest of so many answers drawn with replacement [tokens].

        Notes
        -----
        E[max] = sum_i x_i (F_i^n - F_(i-1)^n).

        References
        ----------
        H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, eq. (2.1.1) and section 3.1.
        """
        if count <= 0:
            return 0.0
        return float(np.sum(self.tokens * np.diff(self.shares**count, prepend=0.0)))

    def expected_longest_residual(self, count: float) -> float:
        """Expected longest remainder of so many answers caught in the middle of their work [tokens].

        Notes
        -----
        The remainder has the law F_e(x) = E[min(L, x)] / E[L], linear between lengths, so that the integral of
        1 - F_e^n is (G(F_(e,i+1)) - G(F_(e,i))) / slope in each piece, G(u) = u - u^(n+1) / (n+1).

        References
        ----------
        D. R. Cox, "Renewal Theory", 1962, section 5.2 (residual life in equilibrium).
        """
        if count <= 0:
            return 0.0
        edges = np.concatenate(([0.0], self.tokens))
        reached = np.minimum(self.limited_mean(edges) / self.mean_tokens, 1.0)
        grown = np.diff(reached - reached ** (count + 1) / (count + 1))
        rising = np.diff(reached)
        mean_left = np.divide(grown, rising, out=np.zeros_like(grown), where=rising > 0)
        return float(np.sum(np.diff(edges) * mean_left))

    def _before(self, sums: Numbers, tokens: ArrayLike, *, side: str) -> Numbers:
        padded = np.concatenate(([0.0], sums))
        places = np.searchsorted(self.tokens, tokens, side="left" if side == "left" else "right")
        found: Numbers = padded[places]
        return found

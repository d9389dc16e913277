"""Sessions and prefixes over many caches: kept together by affinity, or scattered at random.

With affinity N caches of C are one cache of N C: every characteristic time is that of the pool, or of one node with
1/N of load and capacity. At random an item asked for independently finds what one cache of C would hold; a session
finds a turn again if it falls on the same cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.formulas.caching import CachedLoad, Sessions, characteristic_time_s
from planner.formulas.gaps import GapLaw, Numbers, plain

_STEPS = 2048
"""Of the grid of convolutions, up to the time that affinity would keep."""
_ALIAS = 1e-9
"""What wraps around the Fourier transform is damped to this share."""
_DAMPING = _ALIAS ** (np.arange(_STEPS + 1) / (4 * _STEPS))


@dataclass(frozen=True, eq=False)
class Scattered(GapLaw):
    """Time until a session is back on the same cache when each turn draws one of N at random; it may never be.

    Parameters
    ----------
    until_s : times up to this one are answered [s]
    returned : share of the followed turns back within k steps of ``until_s`` / (len - 1) [1]

    Notes
    -----
    H(t) = sum_j (1/N) (1 - 1/N)^(j-1) q^(j-1) F_j(t): back after j gaps, if the session goes on that long; F_j is the
    j-fold convolution. For contexts that grow the tokens found j turns back weigh S_(k-j) / S_(k-1), which for
    sessions that end with probability 1 - q each turn comes to the same q^(j-1). Convolutions by Fourier transform,
    gaps split between the grid points beside them so that their means are kept.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 2, 2nd ed., 1971, section XI.6
    (terminating renewal processes).
    """

    until_s: float
    returned: NDArray[np.float64]

    @classmethod
    def of(cls, gaps: GapLaw, *, nodes: float, follow_share: float, until_s: float) -> Scattered:
        """From the gaps of a session, the number of caches and the probability that a turn is followed."""
        if not 0 < until_s < math.inf:
            return cls(1.0, np.zeros(2))
        mass = np.diff(gaps.cdf(np.linspace(0.0, until_s, _STEPS + 1)))
        steps = np.concatenate((mass / 2, [0.0])) + np.concatenate(([0.0], mass / 2))
        once = np.zeros(4 * _STEPS)
        once[: _STEPS + 1] = steps * _DAMPING
        spectrum = np.fft.rfft(once)
        summed = np.fft.irfft(spectrum / (1.0 - follow_share * (1.0 - 1.0 / nodes) * spectrum), n=4 * _STEPS)
        returned = np.cumsum(np.maximum(summed[: _STEPS + 1] / _DAMPING, 0.0)) / nodes
        return cls(until_s, np.concatenate(([0.0], (returned[1:] + returned[:-1]) / 2)))

    @property
    def mean_s(self) -> float:
        return math.inf

    def cdf(self, time_s: Numbers) -> Numbers:
        answer: Numbers = plain(np.interp(time_s, self._grid_s, self.returned))
        return answer

    def density_per_s(self, time_s: Numbers) -> Numbers:
        slopes = np.append(np.diff(self.returned), 0.0) / self._step_s()
        index = np.minimum(np.asarray(time_s) / self._step_s(), len(slopes) - 1).astype(int)
        answer: Numbers = plain(slopes[index])
        return answer

    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        answer: Numbers = plain(np.interp(time_s, self._grid_s, self._sums_s))
        return answer

    def mean_min_s(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self.partial_mean_s(time_s) + time_s * self.survival(time_s)
        return answer

    def quantile_s(self, share: Numbers) -> Numbers:
        found = np.interp(share, self.returned, self._grid_s)
        answer: Numbers = plain(np.where(np.asarray(share) > self.returned[-1], np.inf, found))
        return answer

    def _step_s(self) -> float:
        return self.until_s / (len(self.returned) - 1)

    @cached_property
    def _grid_s(self) -> NDArray[np.float64]:
        return np.linspace(0.0, self.until_s, len(self.returned))

    @cached_property
    def _sums_s(self) -> NDArray[np.float64]:
        """Parts of the mean up to each time of the grid."""
        middles_s = (self._grid_s[1:] + self._grid_s[:-1]) / 2
        return np.concatenate(([0.0], np.cumsum(np.diff(self.returned) * middles_s)))


def scattered_sessions(
    load: Sessions, *, nodes: float, capacity_tokens: float, others: Sequence[CachedLoad] = ()
) -> Sessions:
    """The same sessions when each turn goes to one of N caches at random.

    Parameters
    ----------
    load : all sessions
    nodes : N, caches [1]
    capacity_tokens : of all caches together [tokens]
    others : loads of the same caches; they too are those of all caches together

    Returns
    -------
    Sessions for `characteristic_time_s` with the capacity of all caches; valid up to the time affinity would keep,
    which is never shorter

    Notes
    -----
    A turn leaves its whole context on its cache, which waits for the session to come back to that cache, see
    `Scattered`.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 2, 2nd ed., 1971, section XI.6
    (terminating renewal processes).

    >>> from planner.formulas.gaps import Exponential
    >>> load = Sessions.geometric(Exponential(300.0), turns_per_s=12.0, follow_share=5 / 6, context_tokens=7000.0)
    >>> spread = scattered_sessions(load, nodes=8, capacity_tokens=1e7)
    >>> time_s = characteristic_time_s([spread], capacity_tokens=1e7)
    >>> print(round(spread.gaps.cdf(time_s), 4))
    0.048
    """
    tokens_per_s = load.reusable_tokens_per_s + load.final_tokens_per_s
    if tokens_per_s <= 0 or nodes <= 1:
        return load
    longest_s = characteristic_time_s([load, *others], capacity_tokens=capacity_tokens)
    if math.isinf(longest_s):
        ended = load.final_tokens_per_s
        longest_s = capacity_tokens / ended if ended > 0 else 20 * nodes * load.gaps.mean_s
    follow_share = load.reusable_tokens_per_s / tokens_per_s
    law = Scattered.of(load.gaps, nodes=nodes, follow_share=follow_share, until_s=longest_s)
    return Sessions(law, load.reusable_tokens_per_s, load.final_tokens_per_s)

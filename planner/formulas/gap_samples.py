"""Time between two turns of a session, as a trace shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas.gaps import GapLaw, Numbers

_TINY_S = 1e-300
_WINDOW = 1.25
"""Gaps within this factor of an age make its empirical density: a third of an octave either side."""


@dataclass(frozen=True, slots=True, eq=False)
class Empirical(GapLaw):
    """Gaps as they were seen, each equally likely.

    Parameters
    ----------
    gaps_s : at least one; in any order [s]

    Notes
    -----
    F(t) = #{g_i <= t} / n; E[G; G <= t] = sum_{g_i <= t} g_i / n. A law of points has no density: the one given is the
    share of gaps within a quarter of the age asked about, for ranking by value only.

    References
    ----------
    E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", Journal of the American
    Statistical Association 53, 1958 (without censoring the empirical distribution).

    >>> print(round(Empirical([30.0, 10.0, 20.0]).mean_min_s(15.0), 6))
    13.333333
    """

    gaps_s: NDArray[np.float64] | Sequence[float]
    _sorted_s: NDArray[np.float64] = field(init=False, repr=False)
    _sums_s: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ordered = np.sort(np.asarray(self.gaps_s, dtype=float))
        object.__setattr__(self, "_sorted_s", ordered)
        object.__setattr__(self, "_sums_s", np.concatenate(([0.0], np.cumsum(ordered))))

    @property
    def mean_s(self) -> float:
        return float(self._sums_s[-1]) / len(self._sorted_s)

    def cdf(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self._up_to(time_s) / len(self._sorted_s)
        return answer

    def density_per_s(self, time_s: Numbers) -> Numbers:
        middle = np.minimum(time_s, 1e300)
        low, high = middle / _WINDOW, middle * _WINDOW
        answer: Numbers = (self.cdf(high) - self.cdf(low)) / np.maximum(high - low, _TINY_S)
        return answer

    def partial_mean_s(self, time_s: Numbers) -> Numbers:
        answer: Numbers = self._sums_s[self._up_to(time_s)] / len(self._sorted_s)
        return answer

    def quantile_s(self, share: Numbers) -> Numbers:
        last = len(self._sorted_s) - 1
        index = np.clip(np.ceil(np.asarray(share) * len(self._sorted_s)).astype(int) - 1, 0, last)
        answer: Numbers = self._sorted_s[index]
        return answer

    def _up_to(self, time_s: Any) -> Any:
        return np.searchsorted(self._sorted_s, time_s, side="right")

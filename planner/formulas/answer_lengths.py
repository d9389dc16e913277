"""How long sampled answers are: one law for a mean, a spread and a cap, or for the lengths of a trace.

Reasoning answers differ by a factor of ten, and a step of training needs the longest of thousands: the law matters
more than the mean.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.formulas.capped_lognormal import capped_lognormal
from planner.formulas.observed_lengths import ObservedLengths


class AnswerLengths(Protocol):
    """What the formulas ask of a law of lengths; `CappedLognormal` and `ObservedLengths` answer it."""

    def __hash__(self) -> int: ...
    @property
    def cap_tokens(self) -> float: ...
    @property
    def mean_tokens(self) -> float: ...
    @property
    def second_moment(self) -> float: ...
    @property
    def share_at_cap(self) -> float: ...
    def within(self, tokens: ArrayLike) -> NDArray[np.float64]: ...
    def quantile(self, share: ArrayLike) -> NDArray[np.float64]: ...
    def limited_mean(self, tokens: ArrayLike) -> NDArray[np.float64]: ...
    def limited_second(self, tokens: ArrayLike) -> NDArray[np.float64]: ...
    def shortest_mean(self, share: float) -> float: ...
    def expected_maximum(self, count: float) -> float: ...
    def expected_longest_residual(self, count: float) -> float: ...


def answer_lengths(*, mean_tokens: float, variation: float, cap_tokens: float | None = None) -> AnswerLengths:
    """Log-normal lengths cut at a cap; all alike without spread, or when the mean is the cap.

    Parameters
    ----------
    mean_tokens : mean after the cap; at most the cap [tokens]
    variation : coefficient of variation before the cap [1]
    cap_tokens : [tokens]

    >>> answer_lengths(mean_tokens=8000.0, variation=0.0, cap_tokens=32000.0).expected_maximum(2048)
    8000.0
    """
    cap = math.inf if cap_tokens is None else cap_tokens
    if variation <= 0 or mean_tokens >= cap * (1 - 1e-9):
        if mean_tokens > cap:
            raise ValueError(f"a mean of {mean_tokens:g} tokens does not fit under a cap of {cap:g}")
        return ObservedLengths.of([mean_tokens], cap_tokens=cap)
    return capped_lognormal(mean_tokens=mean_tokens, variation=variation, cap_tokens=cap)


def squared_variation(law: AnswerLengths) -> float:
    """Squared coefficient of variation of the answers as they are, after the cap [1].

    >>> squared_variation(ObservedLengths.of([1.0, 3.0]))
    0.25
    """
    return max(law.second_moment / law.mean_tokens**2 - 1, 0.0)


def mean_below(law: AnswerLengths, *, tokens: float) -> float | None:
    """Mean length of the answers shorter than this; None when there are none.

    Parameters
    ----------
    law : of the lengths
    tokens : t [tokens]

    Returns
    -------
    E[L | L <= t] below the cap, E[L | L < cap] at it [tokens]

    Notes
    -----
    E[L | L <= t] = (E[min(L, t)] - t (1 - F(t))) / F(t).

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.5 (truncated parent distributions).

    >>> mean_below(ObservedLengths.of([1.0, 2.0, 9.0]), tokens=5.0)
    1.5
    """
    limit = min(tokens, law.cap_tokens)
    share = 1 - law.share_at_cap if limit >= law.cap_tokens else float(law.within(limit))
    if share <= 0:
        return None
    return (float(law.limited_mean(limit)) - limit * (1 - share)) / share if math.isfinite(limit) else law.mean_tokens


def mean_context_tokens(law: AnswerLengths, *, prompt_tokens: float) -> float:
    """Context of an answer as a decode step sees it, mean over steps [tokens].

    Parameters
    ----------
    law : of the lengths
    prompt_tokens : P [tokens]

    Returns
    -------
    [tokens]

    Notes
    -----
    A long answer is in more steps than a short one: P + E[L^2] / (2 E[L]) = P + L (1 + cv^2) / 2.

    References
    ----------
    D. R. Cox, "Renewal Theory", 1962, section 5.2 (mean age in equilibrium).

    >>> mean_context_tokens(ObservedLengths.of([1000.0]), prompt_tokens=200.0)
    700.0
    """
    return prompt_tokens + law.second_moment / (2 * law.mean_tokens)

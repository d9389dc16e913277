"""How long after the last answer the last score of a synchronous step is there, when answers are scored as they end."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths

_LENGTHS = 96
_TIMES = 192


@lru_cache(maxsize=256)
def score_tail_s(
    law: AnswerLengths,
    *,
    service: AnswerLengths,
    answers: float,
    token_s: float,
    wait_s: float = 0.0,
    group: int = 1,
) -> float:
    """Time from the end of the last answer to the last score.

    Parameters
    ----------
    law : of the lengths
    service : of a score, in seconds
    answers : N, of the step [1]
    token_s : time of a decode step while the longest answers end [s]
    wait_s : for a scorer, on average [s]
    group : answers that are sent together when the last of them has ended; 1: each by itself [1]

    Returns
    -------
    [s]

    Notes
    -----
    An answer of length L ends token_s (K - L) before the last, K the longest of N. All scores are there by x after it
    with probability E[F_S(x + token_s (K - L))]^N, or with the longest of each group in place of both: integral of
    one less that. Answers that reach the cap end together, and the slowest score of all of them counts.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.1.

    >>> from planner.formulas.observed_lengths import ObservedLengths
    >>> round(score_tail_s(ObservedLengths.of([10.0]), service=ObservedLengths.of([3.0]), answers=5, token_s=1.0), 1)
    3.0
    """
    units = answers / group
    if units <= 0:
        return 0.0
    slowest_s = float(service.quantile(1 - 1e-6 / max(answers, 1.0)))
    last = law.expected_maximum(answers)
    # Lengths of equal weight, but ever closer to the end, where what counts lies.
    tails = np.geomspace(1.0, 1e-3 / max(units, 1.0), _LENGTHS)
    shares = (1 - (tails[1:] + tails[:-1]) / 2) ** (1 / group)
    early_s = np.maximum(last - law.quantile(shares), 0.0) * token_s
    times = np.linspace(0.0, slowest_s, _TIMES)
    missed = 1 - service.within(times[:, None] + early_s) ** group
    late = missed @ -np.diff(tails)
    open_share = -np.expm1(units * np.log1p(-np.minimum(late, 1 - 1e-12)))
    found = float(np.sum((open_share[1:] + open_share[:-1]) / 2)) * slowest_s / (_TIMES - 1)
    return wait_s + (found if math.isfinite(found) else slowest_s)


def backlog_s(ends_s: NDArray[np.float64], *, shares: NDArray[np.float64], work_s: float) -> float:
    """Time after the last answer that scorers need for what is still in line, as a fluid.

    Parameters
    ----------
    ends_s : moments, ascending; the last is that of the last answer [s]
    shares : of the answers that have ended by then [1]
    work_s : scoring of all answers by all scorers together [s]

    Returns
    -------
    [s]

    Notes
    -----
    max_t (t + work (1 - share(t))) - T: from the last moment at which no answer waited, scorers never rest.

    References
    ----------
    G. F. Newell, "Applications of Queueing Theory", 2nd ed., 1982, chapter 2 (deterministic fluid approximation).

    >>> backlog_s(np.array([0.0, 10.0]), shares=np.array([0.0, 1.0]), work_s=12.0)
    2.0
    """
    return max(float(np.max(ends_s + work_s * (1 - shares))) - float(ends_s[-1]), 0.0)


def scorers_for_backlog(
    ends_s: NDArray[np.float64], *, shares: NDArray[np.float64], work_s: float, late_s: float
) -> float:
    """Scorers with which nothing is in line for longer than this after the last answer, as a fluid.

    Parameters
    ----------
    ends_s, shares : as of `backlog_s`
    work_s : scoring of all answers by one scorer [s]
    late_s : backlog allowed after the last answer [s]

    Returns
    -------
    a fraction of scorers counts [1]

    Notes
    -----
    max_t work (1 - share(t)) / (T + late - t).

    References
    ----------
    G. F. Newell, "Applications of Queueing Theory", 2nd ed., 1982, chapter 2 (deterministic fluid approximation).

    >>> scorers_for_backlog(np.array([0.0, 10.0]), shares=np.array([0.0, 1.0]), work_s=24.0, late_s=2.0)
    2.0
    """
    return float(np.max(work_s * (1 - shares) / (ends_s[-1] + late_s - ends_s)))


def fluid_wait_s(ends_s: NDArray[np.float64], *, shares: NDArray[np.float64], work_s: float) -> float:
    """Mean wait of answers for scorers, as a fluid.

    Parameters
    ----------
    ends_s, shares : as of `backlog_s`
    work_s : scoring of all answers by all scorers together [s]

    Returns
    -------
    [s]

    Notes
    -----
    What is in line at t is max_s<=t work (share(t) - share(s)) - (t - s); averaged over the answers.

    References
    ----------
    G. F. Newell, "Applications of Queueing Theory", 2nd ed., 1982, chapter 2 (deterministic fluid approximation).

    >>> fluid_wait_s(np.array([0.0, 10.0]), shares=np.array([0.0, 1.0]), work_s=14.0)
    2.0
    """
    ahead_s = work_s * shares - ends_s
    line_s = ahead_s - np.minimum.accumulate(ahead_s)
    return float(np.diff(shares) @ (line_s[1:] + line_s[:-1]) / 2)

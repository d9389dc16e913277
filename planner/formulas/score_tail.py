"""How long after the last answer the last score of a synchronous step is there, when answers are scored as they end."""

from __future__ import annotations

import math

import numpy as np

from planner.formulas.answer_lengths import AnswerLengths

_LENGTHS = 96
_TIMES = 192


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
    >>> score_tail_s(ObservedLengths.of([10.0]), service=ObservedLengths.of([3.0]), answers=5, token_s=1.0)
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

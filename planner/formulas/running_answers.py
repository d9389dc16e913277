"""How many answers an instance really runs when their KV caches grow and differ."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from planner.formulas.answer_lengths import AnswerLengths, mean_context_tokens

_POINTS = 1025


def context_variation(law: AnswerLengths, *, prompt_tokens: float) -> float:
    """Coefficient of variation of the context of a running answer, over steps.

    Parameters
    ----------
    law : of the lengths
    prompt_tokens : P, alike for all [tokens]

    Returns
    -------
    [1]

    Notes
    -----
    What a running answer has written is the age of a renewal process: density (1 - F(x)) / E[L].

    References
    ----------
    D. R. Cox, "Renewal Theory", 1962, section 5.2 (age in equilibrium).

    >>> from planner.formulas.observed_lengths import ObservedLengths
    >>> round(context_variation(ObservedLengths.of([1200.0]), prompt_tokens=0.0), 3)  # uniform: 1 / sqrt(3)
    0.577
    """
    longest = float(law.quantile(1 - 1e-9))
    written = np.linspace(0.0, longest, _POINTS)
    middle = (written[1:] + written[:-1]) / 2
    shares = np.diff(law.limited_mean(written)) / law.mean_tokens
    mean = mean_context_tokens(law, prompt_tokens=prompt_tokens)
    second = float(shares @ (prompt_tokens + middle) ** 2)
    return math.sqrt(max(second / mean**2 - 1, 0.0))


def running_answers(held: float, *, variation: float, limit: float | None = None) -> float:
    """Answers that run on average when memory holds ``held`` mean contexts and the engine allows so many.

    Parameters
    ----------
    held : S, contexts of mean size that fit [1]
    variation : coefficient of variation of a context [1]
    limit : R, of the engine; None: as many as fit on average [1]

    Returns
    -------
    [1]

    Notes
    -----
    As many fit as their contexts happen to allow: a normal number X of mean S and deviation cv sqrt(S), of which R
    count, E[min(R, X)] = R - d (z Phi(z) + phi(z)), z = (R - S) / d. When R = S that is S - d / sqrt(2 pi): answers are
    preempted half of the time. Runs that count each token find it within 1 % (S of 38).

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    arXiv:2309.06180, section 4.5 (preemption); D. R. Cox, "Renewal Theory", 1962, section 3.3 (counts are
    asymptotically normal).

    >>> round(running_answers(38.34, variation=0.86), 2)
    36.22
    """
    most = held if limit is None else float(limit)
    spread = variation * math.sqrt(held)
    if spread <= 0:
        return min(held, most)
    z = (most - held) / spread
    over = spread * (z * float(ndtr(z)) + math.exp(-z * z / 2) / math.sqrt(2 * math.pi))
    return max(most - over, 0.0)

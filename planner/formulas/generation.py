"""Synchronous generation: a step waits for the last of its answers while the batch decays.

All answers of an instance start together, as many as it has slots for; time passes by decode steps, each as long as the
batch that is left makes it. Prefill is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.decode_step import DecodeStep

_LONGEST_NODES = 32
_TIME_NODES = 128


def generation_s(step: DecodeStep, *, lengths: Sequence[float], prompt_tokens: float = 0.0) -> float:
    """Time an instance takes for answers of known lengths that all start together.

    Parameters
    ----------
    step : line of the instance
    lengths : of the answers [tokens]
    prompt_tokens : P [tokens]

    Returns
    -------
    [s]

    Notes
    -----
    T = a max L + b sum L + c sum (P L + L^2 / 2), exact for a step that is a straight line in batch and context,
    however the batch decays: every step costs a once, every token b once.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961 (the area under the
    running batch is the sum of the lengths).

    >>> generation_s(DecodeStep(1.0, 0.5), lengths=[1, 2, 3, 4])
    9.0
    """
    tokens = np.asarray(lengths, dtype=np.float64)
    if not len(tokens):
        return 0.0
    read = np.sum(prompt_tokens * tokens + tokens**2 / 2)
    return float(step.fixed_s * tokens.max() + step.sequence_s * tokens.sum() + step.kv_token_s * read)


def answer_work_s(step: DecodeStep, *, law: AnswerLengths, prompt_tokens: float = 0.0) -> float:
    """What one answer adds to the steps it is in, on average: b E[L] + c (P E[L] + E[L^2] / 2) [s].

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> answer_work_s(DecodeStep(1.0, 0.5), law=answer_lengths(mean_tokens=4.0, variation=0.0))
    2.0
    """
    read = prompt_tokens * law.mean_tokens + law.second_moment / 2
    return step.sequence_s * law.mean_tokens + step.kv_token_s * read


def expected_steps(law: AnswerLengths, *, answers: float, slots: float = math.inf) -> float:
    """Decode steps until the last answer of an instance has ended.

    Parameters
    ----------
    law : of the lengths
    answers : n, of the instance [1]
    slots : S, sequences it runs at once [1]

    Returns
    -------
    [1]

    Notes
    -----
    n <= S: E[max of n]. Else the slots stay full while answers wait, and then empty from a batch caught in the middle
    of its work: K = max(E[max of n], L (n / S - (1 + cv^2) / 2) + E[max of S residuals]). Within 6 % where n / S is
    1.5 or more; just above 1 the slots hold answers of one age, not of equilibrium, and it is up to a tenth off.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 3.1; D. R. Cox, "Renewal Theory", 1962,
    section 5.2 (equilibrium residual life).

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> expected_steps(answer_lengths(mean_tokens=100.0, variation=0.0), answers=8, slots=8)
    100.0
    """
    longest = law.expected_maximum(answers)
    if answers <= slots:
        return longest
    full = full_steps(law, answers=answers, slots=slots)
    return max(longest, full + law.expected_longest_residual(slots))


def full_steps(law: AnswerLengths, *, answers: float, slots: float) -> float:
    """Steps in which every slot is taken because answers still wait: L (n / S - (1 + cv^2) / 2), none if n <= S [1].

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> full_steps(answer_lengths(mean_tokens=100.0, variation=0.0), answers=16, slots=8)
    150.0
    """
    if answers <= slots:
        return 0.0
    return max(law.mean_tokens * (answers / slots - (1 + squared_variation(law)) / 2), 0.0)


def expected_generation_s(
    step: DecodeStep, *, law: AnswerLengths, answers: float, slots: float = math.inf, prompt_tokens: float = 0.0
) -> float:
    """Expected time of one instance for ``answers`` answers [s].

    Notes
    -----
    T = a K + n (b E[L] + c (P E[L] + E[L^2] / 2)), K from `expected_steps`.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961.

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> expected_generation_s(DecodeStep(1.0, 0.5), law=answer_lengths(mean_tokens=4.0, variation=0.0), answers=2)
    8.0
    """
    steps = expected_steps(law, answers=answers, slots=slots)
    return step.fixed_s * steps + answers * answer_work_s(step, law=law, prompt_tokens=prompt_tokens)


def slowest_generation_s(
    step: DecodeStep,
    *,
    law: AnswerLengths,
    answers: float,
    instances: int,
    slots: float = math.inf,
    prompt_tokens: float = 0.0,
) -> float:
    """Expected time until the last of several instances has ended its answers, dealt evenly beforehand.

    Parameters
    ----------
    step : line of an instance
    law : of the lengths
    answers : n, of each instance [1]
    instances : I [1]
    slots : S [1]
    prompt_tokens : [tokens]

    Returns
    -------
    [s]

    Notes
    -----
    n <= S: an instance is done by t with probability F_T(t) = E[Phi((t - a K - w (K + (n-1) m_K)) / (w s_K
    sqrt(n-1)))] over its longest answer K, of which the other answers are draws below, with mean m_K and deviation s_K;
    w is the work of a token. The last: integral of 1 - F_T^I. n > S: normal about `expected_generation_s`.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.5 (the rest given the maximum).
    """
    if answers <= 0:
        return 0.0
    mean_s = expected_generation_s(step, law=law, answers=answers, slots=slots, prompt_tokens=prompt_tokens)
    if instances <= 1:
        return mean_s
    token_s = answer_work_s(step, law=law, prompt_tokens=prompt_tokens) / law.mean_tokens
    if answers > slots:
        deviation = math.sqrt(squared_variation(law) * answers) * law.mean_tokens
        centres, deviations = np.array([mean_s]), np.array([deviation * (step.fixed_s / slots + token_s)])
        return _expected_last(centres, deviations, weights=np.ones(1), instances=instances)
    shares, weights = _unit_rule()
    longest = law.quantile(shares ** (1 / answers))
    within = np.maximum(law.within(longest), 1e-12)
    others = (law.limited_mean(longest) - longest * (1 - within)) / within
    squares = (law.limited_second(longest) - longest**2 * (1 - within)) / within
    centres = step.fixed_s * longest + token_s * (longest + (answers - 1) * others)
    deviations = token_s * np.sqrt(np.maximum((answers - 1) * (squares - others**2), 0.0))
    return _expected_last(centres, deviations, weights=weights, instances=instances)


@cache
def _unit_rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(_LONGEST_NODES)
    return (nodes + 1) / 2, weights / 2


def _expected_last(
    centres: NDArray[np.float64], deviations: NDArray[np.float64], *, weights: NDArray[np.float64], instances: int
) -> float:
    """Expected maximum of draws from a mixture of normal laws."""
    spread = np.maximum(deviations, 1e-9 * centres + 1e-12)
    low, high = float(np.min(centres - 7 * spread)), float(np.max(centres + 7 * spread))
    times = np.linspace(low, high, _TIME_NODES)
    below = weights @ ndtr((times - centres[:, None]) / spread[:, None])
    return low + float(np.trapezoid(1 - np.minimum(below, 1.0) ** instances, times))


def instances_for_deadline(
    step: DecodeStep,
    *,
    law: AnswerLengths,
    answers: float,
    deadline_s: float,
    slots: float = math.inf,
    prompt_tokens: float = 0.0,
) -> float | None:
    """Instances that end all answers of a step in time; None when the longest answer alone takes too long.

    Parameters
    ----------
    step : line of an instance
    law : of the lengths
    answers : N, of the whole step [1]
    deadline_s : T [s]
    slots : S, of an instance [1]
    prompt_tokens : [tokens]

    Returns
    -------
    a fraction of instances counts [1]

    Notes
    -----
    With slots for all: M = N w / (T - a E[max of N]), w from `answer_work_s`. Otherwise M is such that a K(N / M) +
    w N / M = T. No number of instances shortens a E[max of N]. Instances count as equally loaded.

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967 (the part that does not divide).

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> instances_for_deadline(DecodeStep(1.0, 0.5), law=answer_lengths(mean_tokens=4.0, variation=0.0), answers=100,
    ...     deadline_s=14.0)
    20.0
    """
    longest_s = step.fixed_s * law.expected_maximum(answers)
    if longest_s >= deadline_s:
        return None
    work_s = answer_work_s(step, law=law, prompt_tokens=prompt_tokens)
    share = (deadline_s - longest_s) / work_s
    if share <= slots:
        return answers / share

    def late_s(held: float) -> float:
        steps = max(law.expected_maximum(answers), expected_steps(law, answers=held, slots=slots))
        return step.fixed_s * steps + held * work_s - deadline_s

    if late_s(slots) >= 0:
        return answers / slots
    # Where the longest answer alone counts, the end of the bracket is the root itself, give or take rounding.
    return answers / (float(brentq(late_s, slots, share)) if late_s(share) > 0 else share)

"""The scoring service: sandboxes or reward models that judge each answer, with a timeout.

Service times follow a log-normal law cut at the timeout, the same law as capped lengths, here in seconds.
"""

from __future__ import annotations

import math

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.capped_lognormal import CappedLognormal
from planner.formulas.generation import expected_steps
from planner.formulas.observed_lengths import ObservedLengths
from planner.formulas.queueing import mean_wait_s


def service_law(mean_s: float, *, variation: float, timeout_s: float = math.inf) -> AnswerLengths:
    """How long scoring an answer takes: it ends at the timeout whatever it would have taken.

    Parameters
    ----------
    mean_s : mean without the timeout, > 0 [s]
    variation : coefficient of variation without the timeout [1]
    timeout_s : [s]

    Returns
    -------
    law whose "tokens" are seconds; its share at the cap are the timeouts

    Notes
    -----
    min(S, timeout), ln S normal with s^2 = ln(1 + cv^2) and median mean / sqrt(1 + cv^2).

    References
    ----------
    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions, Volume 1", 2nd ed., 1994,
    eq. (14.5), (14.8) and (14.34).

    >>> round(service_law(30.0, variation=2.0, timeout_s=120.0).mean_tokens, 2)
    25.35
    """
    if variation <= 0:
        return ObservedLengths.of([mean_s], cap_tokens=timeout_s)
    sigma = math.sqrt(math.log1p(variation**2))
    return CappedLognormal(mean_s / math.sqrt(1 + variation**2), sigma, timeout_s)


def busy_sandboxes(samples_per_s: float, *, law: AnswerLengths) -> float:
    """Sandboxes at work on average [1].

    Parameters
    ----------
    samples_per_s : answers to score, filtered and dropped ones included [1/s]
    law : of the service [s]

    Notes
    -----
    lambda E[min(S, timeout)].

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961, eq. (1).

    >>> busy_sandboxes(2.0, law=ObservedLengths.of([30.0]))
    60.0
    """
    return samples_per_s * law.mean_tokens


def scoring_wait_s(
    samples_per_s: float, *, law: AnswerLengths, sandboxes: int, arrival_scv: float = 1.0
) -> float | None:
    """Mean wait for a sandbox when answers are scored as they end; None when there are too few [s].

    Parameters
    ----------
    samples_per_s : [1/s]
    law : of the service [s]
    sandboxes : [1]
    arrival_scv : squared coefficient of variation of the times between answers [1]

    Notes
    -----
    (ca^2 + cs^2) / 2 C(c, a) S / (c - a).

    References
    ----------
    A. O. Allen, "Probability, Statistics, and Queueing Theory with Computer Science Applications", 2nd ed., 1990,
    eq. (5.107), the Allen-Cunneen approximation.
    """
    offered = busy_sandboxes(samples_per_s, law=law)
    if offered <= 0:
        return 0.0
    if sandboxes < 1:
        return None
    return mean_wait_s(
        offered,
        servers=sandboxes,
        service_s=law.mean_tokens,
        arrival_scv=arrival_scv,
        service_scv=squared_variation(law),
    )


def sandboxes_for_wait(samples_per_s: float, *, law: AnswerLengths, wait_s: float, arrival_scv: float = 1.0) -> int:
    """Fewest sandboxes with which the mean wait stays within a target.

    Parameters
    ----------
    samples_per_s : [1/s]
    law : of the service [s]
    wait_s : target, > 0 [s]
    arrival_scv : [1]

    Returns
    -------
    [1]

    Notes
    -----
    The wait falls with every sandbox, so that halving finds the first within the target.

    References
    ----------
    A. O. Allen, "Probability, Statistics, and Queueing Theory with Computer Science Applications", 2nd ed., 1990,
    eq. (5.107).

    >>> sandboxes_for_wait(2048 / 300, law=service_law(30.0, variation=2.0, timeout_s=120.0), wait_s=1.0)
    184
    """

    def is_enough(count: int) -> bool:
        wait = scoring_wait_s(samples_per_s, law=law, sandboxes=count, arrival_scv=arrival_scv)
        return wait is not None and wait <= wait_s

    few = math.floor(busy_sandboxes(samples_per_s, law=law))
    many, reach = few + 1, 1
    while not is_enough(many):
        few, reach = many, 2 * reach
        many += reach
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return many if samples_per_s > 0 else 0


def burst_s(samples: float, *, law: AnswerLengths, sandboxes: float) -> float:
    """Time until the last score when all answers of a step arrive at once [s].

    Parameters
    ----------
    samples : [1]
    law : of the service [s]
    sandboxes : [1]

    Notes
    -----
    Work over sandboxes while answers wait, then the longest of what every sandbox has left: `expected_steps` with
    seconds for tokens.

    References
    ----------
    D. R. Cox, "Renewal Theory", 1962, section 5.2 (equilibrium residual life); H. A. David, H. N. Nagaraja, "Order
    Statistics", 3rd ed., 2003, section 3.1.

    >>> burst_s(60, law=ObservedLengths.of([10.0]), sandboxes=60)
    10.0
    """
    return expected_steps(law, answers=samples, slots=sandboxes) if samples > 0 else 0.0


def group_score_s(*, wait_s: float, law: AnswerLengths, group: int) -> float:
    """Time from the end of a group's last answer to its last score, all answers judged side by side, at most [s].

    Parameters
    ----------
    wait_s : mean wait for a sandbox [s]
    law : of the service [s]
    group : answers of a prompt [1]

    Notes
    -----
    wait + E[max of g]; less when the others ended, and were judged, before the last.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 3.1.

    >>> group_score_s(wait_s=1.0, law=ObservedLengths.of([10.0]), group=16)
    11.0
    """
    return wait_s + law.expected_maximum(group)


def staleness_of_scoring(score_s: float, *, step_s: float) -> float:
    """Versions that pass while a sample is scored [1].

    >>> staleness_of_scoring(60.0, step_s=300.0)
    0.2
    """
    return score_s / step_s if step_s > 0 else 0.0

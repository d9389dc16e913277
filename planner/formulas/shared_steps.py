"""Decode and prefill that share a replica: how many requests run at a rate, and how long their tokens take.

A batch of B requests makes B tokens a step; each answer of o tokens brings a prompt that holds the replica for p
seconds. All figures are means of a steady state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import pdtr

_MANY_STEPS = 1000.0
_CLOSE = 1e-7


def tpot_s(step_s: float, *, batch: float, prefill_s: float, output_tokens: float) -> float:
    """Time of a token of a running request, the prompts of others in between.

    Parameters
    ----------
    step_s : decode step at this batch [s]
    batch : B, requests that run [1]
    prefill_s : p, time of the replica that a prompt takes [s]
    output_tokens : o, mean answer [tokens]

    Returns
    -------
    [s]

    Notes
    -----
    T(B) + B p / o: while a request gets o tokens, each of the B requests beside it is replaced once on average.

    References
    ----------
    A. Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024, section 3.2
    (generation stalls by prefills); J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations
    Research 9(3), 1961.

    >>> tpot_s(0.008, batch=64, prefill_s=0.016, output_tokens=256)
    0.012
    """
    return step_s + batch * prefill_s / output_tokens


def rate_rps(step_s: float, *, batch: float, prefill_s: float, output_tokens: float) -> float:
    """Requests a second that keep so many running.

    Notes
    -----
    B / (o T(B) + B p), Little's law with the time of `tpot_s`. It grows with B as long as T(B)/B falls.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961, eq. (1).

    >>> round(rate_rps(0.008, batch=64, prefill_s=0.016, output_tokens=256), 4)
    20.8333
    """
    return batch / (output_tokens * step_s + batch * prefill_s) if batch > 0 else 0.0


def batch_at(
    rate: float, *, step: Callable[[float], float], prefill_s: float, output_tokens: float, most: float
) -> float | None:
    """Requests that run at a rate; None when the replica cannot serve it.

    Parameters
    ----------
    rate : arrivals [1/s]
    step : time of a decode step by batch [s]
    prefill_s, output_tokens : as in `tpot_s`
    most : requests that may run at once [1]

    Notes
    -----
    Root of `rate_rps`.

    References
    ----------
    As `rate_rps`.

    >>> print(round(batch_at(20.0, step=lambda batch: 0.008, prefill_s=0.0, output_tokens=256, most=64), 5))
    40.96
    """

    def missing(batch: float) -> float:
        found = rate_rps(step(batch), batch=batch, prefill_s=prefill_s, output_tokens=output_tokens)
        return rate - found

    if rate <= 0:
        return 0.0
    if missing(most) >= 0:
        return None
    return _root(missing, high=most)


def batch_within(
    limit_s: float, *, step: Callable[[float], float], prefill_s: float, output_tokens: float, most: float
) -> float:
    """Largest batch whose tokens keep within a time; 0 when not even one request does.

    Parameters
    ----------
    limit_s : of a token [s]
    step, prefill_s, output_tokens, most : as in `batch_at`

    Notes
    -----
    Root of `tpot_s`.

    References
    ----------
    As `tpot_s`.

    >>> round(batch_within(0.012, step=lambda batch: 0.008, prefill_s=0.016, output_tokens=256, most=256), 6)
    64.0
    """

    def left(batch: float) -> float:
        return limit_s - tpot_s(step(batch), batch=batch, prefill_s=prefill_s, output_tokens=output_tokens)

    if left(most) >= 0:
        return most
    return _root(left, high=most) if left(min(1.0, most)) > 0 else 0.0


def _root(above: Callable[[float], float], *, high: float) -> float:
    """Where a figure that is positive at small numbers crosses zero."""
    return float(brentq(above, 0.0, high, xtol=_CLOSE, rtol=_CLOSE))


class Boarding(NamedTuple):
    """What passes before a prompt that rides on decode steps has its first token, apart from its own prefill.

    Parameters
    ----------
    until_step_s : for the step under way to end [s]
    others_s : for prompts that came during the same step [s]
    step_s : the decode part of its own step [s]
    gap_s : mean length of the step in which a prompt comes [s]
    """

    until_step_s: float
    others_s: float
    step_s: float
    gap_s: float

    @property
    def total_s(self) -> float:
        return self.until_step_s + self.others_s + self.step_s


def boarding(step_s: float, *, rate: float, prefill_s: float, prefill_scv: float = 0.0) -> Boarding | None:
    """Waits of a prompt whose tokens join the next decode step whole, with all that came beside it; None when full.

    Parameters
    ----------
    step_s : T, decode step without prompts [s]
    rate : prompts [1/s]
    prefill_s : p, what a prompt adds to a step [s]
    prefill_scv : its squared coefficient of variation [1]

    Notes
    -----
    A step lasts T and p for each prompt that came during the one before: its mean is c = T / (1 - rate p). A prompt
    comes during a step of length g = E[C^2] / E[C] = c + rate p^2 (1 + v), waits for half of it, and shares the next
    one with rate g others. Steps are taken as independent of the ones before.

    References
    ----------
    L. Kleinrock, "Queueing Systems, Volume 1: Theory", 1975, section 5.2 (residual life); A. Agrawal et al., "Taming
    Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024, section 4.2 (prompts on decode steps).

    >>> found = boarding(0.01, rate=10.0, prefill_s=0.02)
    >>> round(found.gap_s, 6), round(found.total_s, 6)
    (0.0165, 0.02155)
    """
    busy = rate * prefill_s
    if busy >= 1:
        return None
    gap_s = step_s / (1 - busy) + rate * prefill_s**2 * (1 + prefill_scv)
    return Boarding(gap_s / 2, busy * gap_s, step_s, gap_s)


def covered_s(duration_s: float, *, step_s: float, rate: float, prefill_s: float) -> float:
    """Until the first end of a step after a time that began with a step: what waits for a copy beside the steps.

    Parameters
    ----------
    duration_s : of the copy [s]
    step_s : T, decode step without prompts [s]
    rate : prompts [1/s]
    prefill_s : p, what a prompt adds to a step [s]

    Notes
    -----
    Wald: c (1 + sum_n P(S_n <= duration)), c = T / (1 - rate p) the mean step and S_n the time of n steps, n T and p
    for each of a Poisson number of prompts of mean rate n c.

    References
    ----------
    D. R. Cox, "Renewal Theory", 1962, section 3.2 (renewal function) and section 4.4 (Wald's equation).

    >>> round(covered_s(0.025, step_s=0.01, rate=0.0, prefill_s=0.02), 6)
    0.03
    """
    busy = rate * prefill_s
    if duration_s <= 0 or step_s <= 0 or busy >= 1:
        return max(duration_s, 0.0)
    mean_s = step_s / (1 - busy)
    most = duration_s / step_s
    if most > _MANY_STEPS:
        return duration_s + mean_s / 2
    counts = np.arange(1, int(most) + 1)
    room = (duration_s - counts * step_s) / prefill_s if prefill_s > 0 else np.full(len(counts), np.inf)
    whole = pdtr(np.floor(np.minimum(room, 1e9)), rate * counts * mean_s)
    return mean_s * (1 + float(whole.sum()))

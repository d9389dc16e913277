"""Staleness of asynchronous rollout: how many versions old the groups taken are, and what dropping old ones costs.

Age counts versions of the weights from the start of a group to the start of its training step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths
from planner.formulas.rollout_cycle import Cycle, Rollout, asynchronous

_PHASES = 32
_ROUNDS = 6
_SETTLED = 2e-3


def ages(rollout: Rollout, *, cycle: Cycle, oldest: int = 24) -> NDArray[np.float64]:
    """Share of the groups taken at each age.

    Parameters
    ----------
    rollout : of the trainer and an instance
    cycle : its steady cycle
    oldest : age that stands for all older ones [1]

    Returns
    -------
    shares of age 0, 1, ... [1]

    Notes
    -----
    A trainer that waits takes what has ended at once: P(age <= k) = F(x_s + k X)^g, averaged over the moments of start
    where answers start all the time. One that does not wait takes them in the order they ended, E training steps
    later: P(age <= k) = F(y)^g with as much ended after y tokens as k - E training steps. The mean is eta in both:
    starts and consumption both advance by N a version. Answers that wait for slots count from their slot, and then
    the mean is below eta. Shares older than the bound are within 0.03 of runs event by event for bounds from two;
    with a bound of one the runs alternate between steps and find up to 0.14 where this finds none.

    References
    ----------
    W. Fu et al., "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning", 2025,
    arXiv:2505.24298, section 5.1, eq. (3).
    """
    within = _ended_in_time(rollout, cycle=cycle, numbers=np.arange(float(oldest)))
    return np.diff(np.concatenate((within, [1.0])), prepend=0.0)


def _ended_in_time(rollout: Rollout, *, cycle: Cycle, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(age <= k)."""
    if not cycle.waits:
        places = np.array([_ended_after(rollout, cycle=cycle, steps=float(k) - cycle.buffered) for k in numbers])
        return 1 - rollout.unfinished(places, tokens=cycle.tokens)
    places = cycle.taken + numbers * cycle.tokens
    if not cycle.spread:
        return 1 - rollout.unfinished(places, tokens=cycle.tokens)
    starts = (np.arange(_PHASES) + 0.5) / _PHASES * cycle.tokens
    left = np.maximum(places[:, None] - starts, 0.0)
    running = rollout.unfinished(left.ravel(), tokens=cycle.tokens).reshape(left.shape)
    found: NDArray[np.float64] = 1 - running.mean(axis=1)
    return found


def _ended_after(rollout: Rollout, *, cycle: Cycle, steps: float) -> float:
    """Tokens from the start of a cycle until this many training steps' groups have ended."""
    if steps <= 0:
        return 0.0
    whole, places = math.floor(steps), np.linspace(0.0, cycle.tokens, _PHASES)
    before = rollout.ages(cycle.tokens)
    running = rollout.unfinished((before + places[:, None]).ravel(), tokens=cycle.tokens)
    ended = (1 + rollout.again) * -np.diff(running.reshape(_PHASES, -1).sum(axis=1), prepend=0.0)
    ended[0] = 0.0
    return whole * cycle.tokens + float(np.interp(steps - whole, np.cumsum(ended), places))


def share_older(shares: NDArray[np.float64], *, bound: float) -> float:
    """Share of the groups older than a bound [1].

    >>> share_older(np.array([0.1, 0.6, 0.3]), bound=1)
    0.3
    """
    return float(shares[math.floor(bound + 1e-9) + 1 :].sum())


def mean_age(shares: NDArray[np.float64]) -> float:
    """[versions]

    >>> mean_age(np.array([0.25, 0.5, 0.25]))
    1.0
    """
    return float(shares @ np.arange(len(shares)))


def age_of_length(rollout: Rollout, *, cycle: Cycle, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean age of an answer of a known length when its group is taken [versions].

    Parameters
    ----------
    rollout : of the trainer and an instance
    cycle : its steady cycle, with a trainer that waits or not
    lengths : of the answer [tokens]

    Returns
    -------
    one for each length [versions]

    Notes
    -----
    A group is taken k versions on or earlier if this answer and the g - 1 others have ended:
    E[age | L] = sum_k 1 - 1(L <= y_k) F(y_k)^(g-1). Short answers are as old as their longest brother makes them.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.1.
    """
    numbers = np.arange(24.0)
    if cycle.waits:
        places = cycle.taken + numbers * cycle.tokens
    else:
        places = np.array([_ended_after(rollout, cycle=cycle, steps=float(k) - cycle.buffered) for k in numbers])
    others = 1 - replace(rollout, group=rollout.group - 1).unfinished(places, tokens=cycle.tokens)
    found: NDArray[np.float64] = (1 - (lengths[:, None] <= places) * others).sum(axis=1)
    return found


@lru_cache(maxsize=256)
def dropping(rollout: Rollout, *, slots: float = math.inf) -> tuple[Cycle, float]:
    """The cycle when groups older than the bound are dropped at the door of the trainer and others started for them.

    Parameters
    ----------
    rollout : of the trainer and an instance; its ``again`` is what is looked for
    slots : S, of an instance [1]

    Returns
    -------
    cycle, and share of the groups that is dropped [1]

    Notes
    -----
    With r groups started again per group taken, N are taken if P(y_eta) + r P(eta X) = 1 (P of a group having ended),
    since those started again begin as the trainer takes its own. Lost: r / (1 + r). Against runs event by event steps
    are up to 7 % short and the share lost within 0.06 for a bound of two or more; with a bound of one and a cap that
    many answers reach, steps are up to 12 % short, because the cycle is then not steady.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.1, eq. (3).
    """
    settled: list[Cycle] = []

    def wanting(again: float) -> float:
        now = replace(rollout, again=again)
        settled.append(asynchronous(now, slots=slots))
        return _wanted_again(now, cycle=settled[-1]) - again

    first = wanting(0.0)
    again = _secant(wanting, first=first) if first > _SETTLED else 0.0
    return settled[-1], again / (1 + again)


def _secant(function: Callable[[float], float], *, first: float) -> float:
    """Where a falling function is nought, from its value there at nought."""
    before, at_before, now = 0.0, first, first / 2
    for _ in range(_ROUNDS):
        found = function(now)
        slope = (found - at_before) / (now - before) if now != before else -1.0
        before, at_before = now, found
        if abs(found) < _SETTLED:
            break
        now = max(now - found / min(slope, -0.5), 0.0)
    return before


def _wanted_again(rollout: Rollout, *, cycle: Cycle) -> float:
    bound = math.floor(rollout.bound + 1e-9)
    in_time = float(_ended_in_time(rollout, cycle=cycle, numbers=np.array([float(bound)]))[0])
    if not cycle.waits or cycle.spread:
        return (1 - in_time) / max(in_time, 0.05)
    again_in_time = 1 - float(rollout.unfinished(np.array([bound * cycle.tokens]), tokens=cycle.tokens)[0])
    return (1 - in_time) / max(again_in_time, 0.05)


def policies_of_an_answer(law: AnswerLengths, *, cycle: Cycle) -> float:
    """Versions of the weights that wrote an answer, on average: the width of what an importance weight must correct.

    Parameters
    ----------
    law : of the lengths
    cycle : the steady cycle; answers are interrupted at a new version and go on with it

    Returns
    -------
    [1]

    Notes
    -----
    1 + sum_{k>=1} P(L > k X) for answers that start with a version, 1 + E[L] / X for such as start any time.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.2 (an answer from several policies, decoupled objective).
    """
    if cycle.spread:
        return 1 + law.mean_tokens / cycle.tokens
    most = math.ceil(float(law.quantile(1 - 1e-9)) / cycle.tokens)
    return 1 + float(np.sum(1 - law.within(np.arange(1, most + 1) * cycle.tokens)))

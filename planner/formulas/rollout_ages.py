"""Staleness of asynchronous rollout: how many versions old the groups taken are, and what dropping old ones costs.

Age counts versions of the weights from the start of a group to the start of its training step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths
from planner.formulas.rollout_batch import Rollout
from planner.formulas.rollout_bunches import bunches
from planner.formulas.rollout_cycle import Cycle, cycle, slot_bound, told

_PHASES = 32
_MOST_LOST = 0.9
_SLOTS_FREE = 0.7
"""Of the step without them: slots that allow a shorter one are never all taken."""
_HARDLY = 1e-6
"""Of all groups: where no more are too old, nothing is dropped."""


def ages(rollout: Rollout, *, cycle: Cycle) -> NDArray[np.float64]:
    """Share of the groups taken at each age.

    Parameters
    ----------
    rollout : of the trainer and an instance
    cycle : its steady cycle

    Returns
    -------
    shares of age 0, 1, ...; the last stands for all older ones [1]

    Notes
    -----
    A trainer that waits takes what has ended at once: P(age <= k) = F(x_s + k X)^g, averaged over the moments of start
    where answers start all the time. One that does not wait takes them in the order they ended, E training steps
    later: P(age <= k) = F(y)^g with as much ended after y tokens as k - E training steps. The mean is eta in both:
    starts and consumption both advance by N a version. Answers that wait for slots count from their slot, and then
    the mean is below eta. Steps in bunches have ages of their own. Shares older than the bound are within 0.02 of runs
    event by event.

    References
    ----------
    W. Fu et al., "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning", 2025,
    arXiv:2505.24298, section 5.1, eq. (3).
    """
    if cycle.shares:
        return np.array(cycle.shares)
    if rollout.bound <= 0:
        return np.bincount([0], minlength=rollout.oldest).astype(np.float64)
    within = _ended_in_time(rollout, cycle=cycle, numbers=np.arange(float(rollout.oldest)))
    return np.diff(np.concatenate((within, [1.0])), prepend=0.0)


def _ended_in_time(rollout: Rollout, *, cycle: Cycle, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(age <= k)."""
    if not cycle.waits:
        places = _ended_after(rollout, cycle=cycle, steps=numbers - cycle.buffered)
        return 1 - rollout.unfinished(places, tokens=cycle.tokens)
    places = cycle.taken + numbers * cycle.tokens
    if not cycle.spread:
        return 1 - rollout.unfinished(places, tokens=cycle.tokens)
    starts = (np.arange(_PHASES) + 0.5) / _PHASES * cycle.tokens
    left = np.maximum(places[:, None] - starts, 0.0)
    running = rollout.unfinished(left.ravel(), tokens=cycle.tokens).reshape(left.shape)
    found: NDArray[np.float64] = 1 - running.mean(axis=1)
    return found


def _ended_after(rollout: Rollout, *, cycle: Cycle, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tokens from the start of a cycle until so many training steps' groups have ended."""
    places = np.linspace(0.0, cycle.tokens, _PHASES)
    before = rollout.ages(cycle.tokens)
    running = rollout.unfinished((before + places[:, None]).ravel(), tokens=cycle.tokens)
    ended = -np.diff(running.reshape(_PHASES, -1).sum(axis=1), prepend=0.0)
    ended[0] = 0.0
    late = np.maximum(steps, 0.0)
    whole = np.floor(late)
    found: NDArray[np.float64] = whole * cycle.tokens + np.interp(late - whole, np.cumsum(ended), places)
    return np.where(steps > 0, found, 0.0)


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
    numbers = np.arange(float(rollout.oldest))
    if cycle.waits:
        places = cycle.taken + numbers * cycle.tokens
    else:
        places = _ended_after(rollout, cycle=cycle, steps=numbers - cycle.buffered)
    others = 1 - replace(rollout, group=rollout.group - 1).unfinished(places, tokens=cycle.tokens)
    found: NDArray[np.float64] = (1 - (lengths[:, None] <= places) * others).sum(axis=1)
    return found


@lru_cache(maxsize=256)
def dropping(rollout: Rollout, *, slots: float = math.inf) -> tuple[Cycle, float]:
    """The cycle when groups older than the bound are dropped at the door of the trainer and others started for them.

    Parameters
    ----------
    rollout : of the trainer and an instance
    slots : S, of an instance [1]

    Returns
    -------
    cycle, and share of the groups that is dropped [1]

    Notes
    -----
    `bunches` with what is too old left out. Against runs event by event steps are within 4 % and the share lost within
    0.025, but for a bound of one with many answers at the cap, where they are up to 11 % short and find a loss of none
    instead of 0.08: the runs keep alternating where mean batches come to rest. With slots that are always taken no
    more is lost than is too old with such slots or than they have time to write again; ages are those before
    anything is dropped.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.1, eq. (3).
    """
    even = cycle(rollout)
    held = slot_bound(rollout, slots=slots) if math.isfinite(slots) else even
    if not even.waits and held.step_s <= even.step_s:
        old = share_older(ages(rollout, cycle=even), bound=rollout.oldest_useful)
        if old <= _HARDLY:
            return even, 0.0
    run = bunches(rollout, tokens=even.tokens, drops=True)
    free = told(rollout, run=run, even=even)
    if held.step_s <= _SLOTS_FREE * free.step_s or math.isinf(slots):
        return free, run.lost
    # Groups that start as slots come free are younger when they end. Dropped are no more than are too old then, or
    # than slots can write again: with none to spare fewer groups wait, and fewer grow old.
    old = share_older(ages(rollout, cycle=held), bound=rollout.oldest_useful)
    lost = min(run.lost, max(old, 1 - held.step_s / free.step_s), _MOST_LOST)
    more = slot_bound(replace(rollout, answers=rollout.answers / (1 - lost)), slots=slots)
    return (more if more.step_s > free.step_s else free), lost


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

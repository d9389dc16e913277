"""The steady cycle of asynchronous rollout: a batch of answers starts with every version of the weights.

Counted in tokens instead of time: an answer running through a whole cycle gains X tokens, whatever the batch does
meanwhile. Fluid: instances alike, groups many. See `rollout_ages` for what staleness follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from planner.formulas.rollout_batch import LAST, Rollout, table
from planner.formulas.rollout_bunches import Bunches, bunches

__all__ = ["Cycle", "Rollout", "asynchronous", "cycle", "ends_in_bunches", "is_shorter", "slot_bound", "told"]

_PHASES = np.linspace(0.0, 1.0, 48)
_MOST_VERSIONS = 200
_NONE = 1e-12
_BUNCHED = 12
"""Bound up to which bunches are told from even steps: beyond, work and not answers binds."""
_BUNCHES_ADD = 1.25
"""Steps in bunches are -11 ... +17 % beside even ones: where slots alone make more of them, slots bind."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A steady cycle.

    ``step_s`` is its length, ``tokens`` X what an answer gains in it, ``taken`` the tokens it has gained since the
    last new version when the trainer takes its groups, ``buffered`` the finished groups left then, in training steps,
    ``waits`` whether the trainer waits for groups, ``spread`` whether answers start all the time. Where steps come in
    bunches: ``shares`` of the groups at each age, and the ``shortest_s`` and ``longest_s`` of the steps.
    """

    step_s: float
    tokens: float
    taken: float
    buffered: float
    waits: bool
    spread: bool = False
    shares: tuple[float, ...] = ()
    shortest_s: float | None = None
    longest_s: float | None = None


@lru_cache(maxsize=512)
def cycle(rollout: Rollout) -> Cycle:
    """Length of a training step when answers start up to eta versions ahead.

    Parameters
    ----------
    rollout : of the trainer and an instance

    Returns
    -------
    Cycle

    Notes
    -----
    Answers that started k versions ago are at x + k X, so that the batch is n sum_k (1 - F(x + k X)) and a cycle takes
    T = a X + b n E[L] + pause, exactly, however uneven the batch. The trainer takes its groups at x_s, T_train + pause
    before the end, where the unfinished groups are the eta N / g that may be: sum_k (1 - F(x_s + k X)^g) = eta (half a
    group more, since the last one needed ends between two counts). If fewer are unfinished as soon as a version is
    new, the trainer never waits: T = T_train + pause. eta = 0 is synchronous. With a trainer that takes no time it is
    partial rollout: generation stops when enough groups have ended, and eta training steps of groups go on in the next.
    Every step is alike here, and slots are without limit: see `asynchronous`. Against runs event by event T is within
    -7 ... +2.5 % in 35 of 36 cases (bounds 0 to 8); alike lengths with a bound of one come out 10 % short.

    References
    ----------
    W. Fu et al., "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning", 2025,
    arXiv:2505.24298, section 5.1, eq. (3) (answers started <= (version + eta + 1) N).
    """
    least = (rollout.train_s - rollout.work_s) / rollout.step.fixed_s
    # No fewer than E[L] / X are unfinished, so that of a cycle of hardly a token they need not be counted.
    if least > 0 and rollout.law.mean_tokens <= least * (rollout.bound + 1):
        unfinished = float(np.sum(rollout.unfinished(rollout.ages(least), tokens=least)))
        if unfinished <= rollout.bound:
            return Cycle(rollout.train_s + rollout.pause_s, least, 0.0, rollout.bound - unfinished, waits=False)
    longest = table(rollout.law).longest
    surplus = cache(partial(_surplus, rollout=rollout))  # the search asks for both ends once more
    bottom = max(least, longest / _MOST_VERSIONS)
    if surplus(math.log(bottom)) <= 0:
        return _closed(rollout, tokens=bottom)
    most = 1.5 * longest + rollout.train_s / rollout.step.fixed_s
    if surplus(math.log(most)) > 0:  # decode steps so slow that hardly any answer ends in a cycle
        return _closed(rollout, tokens=most)
    logarithm = brentq(surplus, math.log(bottom), math.log(most), xtol=1e-4)
    return _closed(rollout, tokens=math.exp(logarithm))


def _closed(rollout: Rollout, *, tokens: float) -> Cycle:
    step_s = rollout.cycle_s(tokens) + rollout.pause_s
    return Cycle(step_s, tokens, _taken(rollout, tokens=tokens, ages=rollout.ages(tokens)), 0.0, waits=True)


def _taken(rollout: Rollout, *, tokens: float, ages: NDArray[np.float64]) -> float:
    """Tokens gained from the start of a cycle until the trainer takes its groups."""
    places, known = _PHASES * tokens, table(rollout.law)
    written = np.interp(ages[:, None] + places, known.places, known.means).sum(axis=0)
    elapsed_s = rollout.step.fixed_s * places + rollout.step.sequence_s * rollout.answers * (written - written[0])
    return float(np.interp(rollout.cycle_s(tokens) - rollout.train_s, elapsed_s, places))


def _surplus(logarithm: float, rollout: Rollout) -> float:
    """Logarithm, nearly a line, of the groups unfinished when the trainer wants to begin over those that may be."""
    tokens = math.exp(logarithm)
    ages = rollout.ages(tokens)
    places = ages + _taken(rollout, tokens=tokens, ages=ages)
    unfinished = max(float(rollout.unfinished(places, tokens=tokens).sum()), _NONE)
    return math.log(unfinished / (rollout.bound + LAST / rollout.groups))


def slot_bound(rollout: Rollout, *, slots: float) -> Cycle:
    """The cycle when every slot is always taken: answers start as others end, not with a version.

    Parameters
    ----------
    rollout : of the trainer and an instance
    slots : S, sequences an instance runs at once [1]

    Notes
    -----
    T = n E[L] (a + b S) / S + pause; an answer gains (T - pause) / (a + b S) tokens in it.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961.
    """
    running_s = rollout.work_s + rollout.step.fixed_s * rollout.answers * rollout.law.mean_tokens / slots
    tokens = running_s / rollout.step.at(slots)
    taken = max(running_s - rollout.train_s, 0.0) / running_s * tokens
    return Cycle(running_s + rollout.pause_s, tokens, taken, 0.0, waits=True, spread=True)


@lru_cache(maxsize=512)
def asynchronous(rollout: Rollout, *, slots: float = math.inf) -> Cycle:
    """The cycle with what bunches and slots make of it.

    Parameters
    ----------
    rollout : of the trainer and an instance
    slots : S, sequences an instance runs at once [1]

    Notes
    -----
    A cycle in which the trainer waits need not repeat itself: all answers of the first eta + 1 versions started
    together, and steps go on coming in bunches, eta of them as short as training and then a long one. The mean step
    and ages then are those of `bunches`. T = max(T, `slot_bound`). Against runs event by event T is within -2 ... +3.5
    % in 36 cases (bounds 0 to 8, caps 16,000 to 65,536), and within 6 % where slots and longest answers bind alike.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.1.
    """
    held = slot_bound(rollout, slots=slots) if math.isfinite(slots) else None
    if held is not None and is_shorter(rollout, than_s=held.step_s / _BUNCHES_ADD):
        return held
    free = cycle(rollout)
    if free.waits and 0 < rollout.bound <= _BUNCHED:
        free = _bunched(rollout, free=free)
    return held if held is not None and held.step_s > free.step_s else free


def is_shorter(rollout: Rollout, *, than_s: float) -> bool:
    """Whether `cycle` is, without looking for it: its groups are finished in time at the place of a longer one."""
    tokens = (than_s - rollout.pause_s - rollout.work_s) / rollout.step.fixed_s
    if tokens <= 0 or than_s < rollout.train_s + rollout.pause_s:
        return False
    return _surplus(math.log(tokens), rollout) <= 0


def _bunched(rollout: Rollout, *, free: Cycle) -> Cycle:
    return told(rollout, run=bunches(rollout, tokens=free.tokens), even=free)


def told(rollout: Rollout, *, run: Bunches, even: Cycle) -> Cycle:
    """A run in bunches as a cycle: its mean step, ages and extremes, with the places of the even cycle."""
    work_s = rollout.work_s / (1 - run.lost)
    tokens = max(run.step_s - rollout.pause_s - work_s, 0.01 * run.step_s) / rollout.step.fixed_s
    return replace(
        even,
        step_s=run.step_s,
        tokens=tokens,
        taken=even.taken * tokens / even.tokens,
        shares=run.shares,
        shortest_s=run.shortest_s,
        longest_s=run.longest_s,
    )


def ends_in_bunches(found: Cycle) -> bool:
    """Whether short and long steps take turns.

    >>> ends_in_bunches(Cycle(528.0, 0.0, 0.0, 0.0, waits=True, shortest_s=301.0, longest_s=756.0))
    True
    """
    if found.shortest_s is None or found.longest_s is None:
        return False
    return found.longest_s > 1.2 * found.shortest_s

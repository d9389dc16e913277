"""The steady cycle of asynchronous rollout: a batch of answers starts with every version of the weights.

Counted in tokens instead of time: an answer running through a whole cycle gains X tokens, whatever the batch does
meanwhile. Fluid: instances alike, groups many. See `rollout_ages` for what staleness follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.decode_step import DecodeStep

_PHASES = 48
_PLACES = 1500
_BINS = 12
_MOST_VERSIONS = 200
_LAST = 0.5
"""Groups that may be unfinished, on average, at the moment the last one that is needed ends."""
_NEVER = 1e-7
"""Share of answers beyond the length at which a law without cap is cut."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a cycle is computed from.

    Parameters
    ----------
    step : line of an instance, contexts within its part per sequence
    law : of the lengths
    answers : n, of a training step, per instance [1]
    group : answers of one prompt, used together [1]
    groups : of a training step, over all instances [1]
    train_s : a training step [s]
    pause_s : of generation at every new version: synchronisation, caches computed again [s]
    bound : eta, versions that started answers may be ahead [1]
    again : groups started for dropped ones when the trainer takes its own, over those it takes [1]
    """

    step: DecodeStep
    law: AnswerLengths
    answers: float
    groups: float
    train_s: float
    bound: float
    group: int = 16
    pause_s: float = 0.0
    again: float = 0.0

    @property
    def work_s(self) -> float:
        """Time of an instance that goes into the tokens of a cycle, b n E[L] [s]."""
        return self.step.sequence_s * (1 + self.again) * self.answers * self.law.mean_tokens

    def cycle_s(self, tokens: float) -> float:
        """Time without the pause in which an answer that runs through it gains these tokens [s]."""
        return self.step.fixed_s * tokens + self.work_s

    def unfinished(self, places: NDArray[np.float64], *, tokens: float) -> NDArray[np.float64]:
        """Share of the groups that still run where a mean instance has gained so much since their start [1].

        Parameters
        ----------
        places : tokens gained on an instance like the mean [tokens]
        tokens : X, gained in a whole cycle [tokens]

        Notes
        -----
        Instances are unlike by the lengths they happen to get: after y tokens one is ahead or behind by a normal
        number of variance (b X / T)^2 n Var[L] y / X. F is averaged over it, and the answers of a group run apart.

        References
        ----------
        W. Feller, "An Introduction to Probability Theory and Its Applications, Volume II", 2nd ed., 1971, section XI.1
        (renewal counts are asymptotically normal).
        """
        spread = math.sqrt(squared_variation(self.law) * self.answers / tokens) * self.law.mean_tokens
        spread *= self.step.sequence_s * tokens / self.cycle_s(tokens)
        edges, weights = _bins()
        ahead = np.maximum(spread * np.sqrt(places), 1e-6 * self.law.mean_tokens)[:, None] * edges
        written = _table(self.law).written(places[:, None] + ahead)
        within = (1 - np.diff(written, axis=1) / np.diff(ahead, axis=1)) @ weights
        found: NDArray[np.float64] = 1 - np.clip(within, 0.0, 1.0) ** self.group
        return found

    def ages(self, tokens: float) -> NDArray[np.float64]:
        """Where the answers of each version are at the start of a cycle in which X tokens are gained [tokens]."""
        return np.arange(0.0, math.ceil(1.2 * _table(self.law).longest / tokens) + 1) * tokens


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """E[min(L, x)] at many lengths."""

    places: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def longest(self) -> float:
        return float(self.places[-1])

    def written(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Below nought the length itself, so that an average of F is right there too."""
        found: NDArray[np.float64] = np.minimum(tokens, 0.0) + np.interp(tokens, self.places, self.means)
        return found


@lru_cache(maxsize=64)
def _table(law: AnswerLengths) -> _Table:
    longest = float(law.quantile(1 - _NEVER))
    places = np.concatenate(([0.0], np.geomspace(longest / 1e5, longest, _PLACES)))
    return _Table(places, law.limited_mean(places))


@cache
def _bins() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of equal bins over a normal number, with mean nought, and what lies in each."""
    edges = np.linspace(-3.0, 3.0, _BINS + 1)
    weights = np.diff(ndtr(edges))
    return edges, weights / weights.sum()


@dataclass(frozen=True, slots=True)
class Cycle:
    """A steady cycle.

    ``step_s`` is its length, ``tokens`` X what an answer gains in it, ``taken`` the tokens it has gained since the
    last new version when the trainer takes its groups, ``buffered`` the finished groups left then, in training steps,
    ``waits`` whether the trainer waits for groups, ``spread`` whether answers start all the time.
    """

    step_s: float
    tokens: float
    taken: float
    buffered: float
    waits: bool
    spread: bool = False


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
    new, the trainer never waits: T = T_train + pause. eta = 0 is synchronous. Against runs event by event T is within
    -5 ... +2.5 % in 35 of 36 cases (bounds 0 to 8), and 10 % short for alike lengths with a bound of one, where steps
    are not steady. With a trainer that does not work (T_train = 0) it is partial rollout: generation stops when enough
    groups have ended, and eta training steps of groups go on in the next. Slots without limit: see `asynchronous`.

    References
    ----------
    W. Fu et al., "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning", 2025,
    arXiv:2505.24298, section 5.1, eq. (3) (answers started <= (version + eta + 1) N).
    """
    least = (rollout.train_s - rollout.work_s) / rollout.step.fixed_s
    if least > 0:
        unfinished = (1 + rollout.again) * float(np.sum(rollout.unfinished(rollout.ages(least), tokens=least)))
        if unfinished <= rollout.bound:
            return Cycle(rollout.train_s + rollout.pause_s, least, 0.0, rollout.bound - unfinished, waits=False)
    longest = _table(rollout.law).longest
    bottom = max(least, longest / _MOST_VERSIONS)
    if _surplus(math.log(bottom), rollout) <= 0:
        return _closed(rollout, tokens=bottom)
    most = 1.5 * longest + rollout.train_s / rollout.step.fixed_s
    logarithm = brentq(_surplus, math.log(bottom), math.log(most), args=(rollout,), xtol=1e-4)
    return _closed(rollout, tokens=math.exp(logarithm))


def _closed(rollout: Rollout, *, tokens: float) -> Cycle:
    step_s = rollout.cycle_s(tokens) + rollout.pause_s
    return Cycle(step_s, tokens, _taken(rollout, tokens=tokens), 0.0, waits=True)


def _taken(rollout: Rollout, *, tokens: float) -> float:
    """Tokens gained from the start of a cycle until the trainer takes its groups."""
    places, table, ages = np.linspace(0.0, tokens, _PHASES), _table(rollout.law), rollout.ages(tokens)[:, None]
    written = table.written(ages + places).sum(axis=0)
    again = (table.written(ages + tokens) - table.written(ages + tokens - places)).sum(axis=0) if rollout.again else 0.0
    of_all = written - written[0] + rollout.again * again
    elapsed_s = rollout.step.fixed_s * places + rollout.step.sequence_s * rollout.answers * of_all
    return float(np.interp(rollout.cycle_s(tokens) - rollout.train_s, elapsed_s, places))


def _surplus(logarithm: float, rollout: Rollout) -> float:
    """Groups unfinished when the trainer wants to begin, beyond those that may be, in training steps."""
    tokens = math.exp(logarithm)
    ages = rollout.ages(tokens)
    running = float(np.sum(rollout.unfinished(ages + _taken(rollout, tokens=tokens), tokens=tokens)))
    if rollout.again:
        running += rollout.again * float(np.sum(rollout.unfinished(ages, tokens=tokens)))
    return running - rollout.bound - _LAST / rollout.groups


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


def asynchronous(rollout: Rollout, *, slots: float = math.inf) -> Cycle:
    """The longer of the cycle that the longest answers allow and the one that the slots allow.

    Parameters
    ----------
    rollout : of the trainer and an instance
    slots : S, sequences an instance runs at once [1]

    Notes
    -----
    T = max(`cycle`, `slot_bound`).

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 4.1.
    """
    free = cycle(rollout)
    held = slot_bound(rollout, slots=slots) if math.isfinite(slots) else free
    return held if held.step_s > free.step_s else free

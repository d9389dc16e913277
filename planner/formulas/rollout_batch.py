"""Answers that instances write for a trainer: how far a batch gets with so many tokens gained, in shares of groups.

Counted in tokens instead of time: every running answer of an instance gains as many, whatever the batch does meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.decode_step import DecodeStep

_PLACES = 1500
_BINS = 12
_NEVER = 1e-7
"""Share of answers beyond the length at which a law without cap is cut."""
LAST = 0.5
"""Groups that may be unfinished, on average, at the moment the last one that is needed ends."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A trainer and the instances that write for it.

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
    age_limit : versions beyond which groups are dropped, where they are; the bound if not told [1]
    """

    step: DecodeStep
    law: AnswerLengths
    answers: float
    groups: float
    train_s: float
    bound: float
    group: int = 16
    pause_s: float = 0.0
    age_limit: float | None = None

    @property
    def work_s(self) -> float:
        """Time of an instance that goes into the tokens of a training step, b n E[L] [s]."""
        return self.step.sequence_s * self.answers * self.law.mean_tokens

    @property
    def oldest_useful(self) -> int:
        """Age up to which groups are not dropped [1]."""
        return math.floor((self.bound if self.age_limit is None else self.age_limit) + 1e-9)

    @property
    def oldest(self) -> int:
        """Ages that are told apart [1]."""
        return max(2 * math.ceil(self.bound) + 8, 24)

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
        scale = np.maximum(spread * np.sqrt(places), 1e-6 * self.law.mean_tokens)
        written = table(self.law).written(places[:, None] + scale[:, None] * edges)
        within = 1 - (written[:, 1:] - written[:, :-1]) @ weights / (scale * (edges[1] - edges[0]))
        found: NDArray[np.float64] = 1 - within.clip(0.0, 1.0) ** self.group
        return found

    def ages(self, tokens: float) -> NDArray[np.float64]:
        """Where the answers of each version are at the start of a cycle in which X tokens are gained [tokens]."""
        return np.arange(0.0, math.ceil(1.2 * table(self.law).longest / tokens) + 1) * tokens


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """E[min(L, x)] at many lengths."""

    places: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def longest(self) -> float:
        """Length that no answer exceeds, or one in ten million [tokens]."""
        return float(self.places[-1])

    def written(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Below nought the length itself, so that an average of F is right there too."""
        found: NDArray[np.float64] = np.minimum(tokens, 0.0) + np.interp(tokens, self.places, self.means)
        return found


@lru_cache(maxsize=64)
def table(law: AnswerLengths) -> Table:
    """E[min(L, x)] of a law at lengths close enough to interpolate."""
    longest = float(law.quantile(1 - _NEVER))
    places = np.concatenate(([0.0], np.geomspace(longest / 1e5, longest, _PLACES)))
    return Table(places, law.limited_mean(places))


@cache
def _bins() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of equal bins over a normal number, with mean nought, and what lies in each."""
    edges = np.linspace(-3.0, 3.0, _BINS + 1)
    weights = np.diff(ndtr(edges))
    return edges, weights / weights.sum()

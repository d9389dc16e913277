"""Asynchronous rollout from its start, version by version, with mean batches: steps that come in bunches.

Nothing is drawn: shares of groups end as the law of lengths says, see `rollout_batch`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.formulas.rollout_batch import LAST, Rollout, Table, table

_POINTS = 24
_TABLE = 400
_MOST_VERSIONS = 48
_FEW = 3


@dataclass(frozen=True, slots=True)
class Bunches:
    """Means over the last versions of a run: step, shares of the groups at each age, share dropped; extreme steps."""

    step_s: float
    shares: tuple[float, ...]
    lost: float
    shortest_s: float
    longest_s: float


def bunches(rollout: Rollout, *, tokens: float, drops: bool = False) -> Bunches:
    """Run from (eta + 1) N answers started at once until steps repeat in bunches of eta + 1.

    Parameters
    ----------
    rollout : of the trainer and an instance
    tokens : X, gained in a step on average, for how far instances are apart [tokens]
    drops : groups more than eta versions old are dropped as the trainer would take them, and others started for them

    Returns
    -------
    Bunches

    Notes
    -----
    Groups of version i start at x_i; by x a share 1 - G(x - x_i) of them has ended. Training step j takes what ends
    between X_(j-1) and X_j, where X_j holds N: sum_i n_i (G(X_(j-1) - x_i) - G(X_j - x_i)) = 1. Time between two
    places is a dx + b n sum_i n_i (E[min(L, x - x_i)] of the one less of the other). A version begins T_train + pause
    after the trainer took its groups, at X_j or when its last step was done, whichever was later.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.1, eq. (3) (answers started <= (version + eta + 1) N);
    T. G. Kurtz, "Solutions of ordinary differential equations as limits of pure jump Markov processes", Journal of
    Applied Probability 7(1), 1970 (mean fields of large populations).
    """
    run = _Run(
        rollout, ended=_ended_table(rollout, tokens=tokens), means=table(rollout.law), drops=drops and rollout.bound > 0
    )
    bunch = math.ceil(rollout.bound) + 1
    counted = min(bunch, _MOST_VERSIONS) if bunch > _FEW else 2 * bunch
    for _ in range(min(max(2 * bunch, 12), _MOST_VERSIONS) + counted):
        run.version_on()
    steps = np.diff(run.begins)[-counted:]
    taken, lost = np.sum(run.taken[-counted:], axis=0), float(np.sum(run.dropped[-counted:]))
    return Bunches(
        step_s=float(steps.mean()),
        shares=tuple(taken / taken.sum()),
        lost=lost / (lost + float(taken.sum())),
        shortest_s=float(steps.min()),
        longest_s=float(steps.max()),
    )


def _ended_table(rollout: Rollout, *, tokens: float) -> Table:
    places = np.concatenate(([0.0], np.geomspace(1e-3, 1.3, _TABLE) * table(rollout.law).longest))
    return Table(places, 1 - rollout.unfinished(places, tokens=tokens))


@dataclass(slots=True)
class _Run:
    rollout: Rollout
    ended: Table
    means: Table
    drops: bool
    starts: list[float] = field(default_factory=lambda: [0.0])
    sizes: list[float] = field(default_factory=list)
    born: list[int] = field(default_factory=lambda: [0])
    begins: list[float] = field(default_factory=lambda: [0.0])
    taken: list[NDArray[np.float64]] = field(default_factory=list)
    dropped: list[float] = field(default_factory=list)
    place: float = 0.0
    before: float = 0.0

    def __post_init__(self) -> None:
        self.sizes.append(self.rollout.bound + 1)

    def version_on(self) -> None:
        """A training step: its groups, its time, and the answers that start with the next version."""
        version = len(self.begins) - 1
        last = self._last_needed(version)
        self._account(version, last=last)
        begins = max(last, self.place)
        now = self.begins[-1] + self._seconds(self.place, np.array([begins]))[0]
        if self.drops and self.dropped[-1] > 1e-6:
            self._start(begins, size=self.dropped[-1], version=version)
        self.place, self.before = self._after(begins, seconds=self.rollout.train_s), last
        self.begins.append(float(now) + self.rollout.train_s + self.rollout.pause_s)
        self._start(self.place, size=1.0, version=version + 1)
        self._forget()

    def _start(self, place: float, *, size: float, version: int) -> None:
        self.starts.append(place)
        self.sizes.append(size)
        self.born.append(version)

    def _forget(self) -> None:
        """Groups that have all been taken no longer count."""
        while self.before - self.starts[0] > self.ended.longest:
            for each in (self.starts, self.sizes, self.born):
                each.pop(0)

    def _gained(self, known: Table, places: NDArray[np.float64], *, since: float) -> NDArray[np.float64]:
        """By place and start: what a table grows by between two places, times the size."""
        starts = np.array(self.starts)
        upto = np.interp(places[:, None] - starts, known.places, known.means)
        grown: NDArray[np.float64] = (upto - np.interp(since - starts, known.places, known.means)) * self.sizes
        return grown

    def _seconds(self, since: float, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Time from a place to others."""
        line, answers = self.rollout.step, self.rollout.answers
        written = self._gained(self.means, places, since=since).sum(axis=1)
        found: NDArray[np.float64] = line.fixed_s * (places - since) + line.sequence_s * answers * written
        return found

    def _fresh(self, version: int) -> NDArray[np.bool_]:
        """Which groups the trainer would use."""
        oldest = version - math.floor(self.rollout.bound + 1e-9) if self.drops else -1
        return np.array(self.born) >= oldest

    def _last_needed(self, version: int) -> float:
        """Where enough groups have ended for the next training step."""
        fresh = self._fresh(version)
        wanted = 1.0 - (LAST / self.rollout.groups if version == 0 else 0.0)
        low, high = self.before, self.starts[-1] + self.ended.longest
        for _ in range(2):
            places = np.linspace(low, high, _POINTS)
            reached = self._gained(self.ended, places, since=self.before)[:, fresh].sum(axis=1)
            above = min(max(int(np.searchsorted(reached, wanted)), 1), _POINTS - 1)
            low, high = float(places[above - 1]), float(places[above])
        return float(np.interp(wanted, reached, places))

    def _after(self, since: float, *, seconds: float) -> float:
        """Where answers are so much later."""
        low, high = since, since + seconds / self.rollout.step.fixed_s
        for _ in range(2):
            places = np.linspace(low, high, _POINTS)
            spent = self._seconds(since, places)
            above = min(max(int(np.searchsorted(spent, seconds)), 1), _POINTS - 1)
            low, high = float(places[above - 1]), float(places[above])
        return float(np.interp(seconds, spent, places))

    def _account(self, version: int, *, last: float) -> None:
        """Ages of what is taken, and what is dropped."""
        grown = self._gained(self.ended, np.array([last]), since=self.before)[0]
        fresh = self._fresh(version)
        old = np.minimum(version - np.array(self.born), self.rollout.oldest - 1)
        self.taken.append(
            np.bincount(old[fresh], weights=grown[fresh], minlength=self.rollout.oldest).astype(np.float64)
        )
        self.dropped.append(float(grown[~fresh].sum()))

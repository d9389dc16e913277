"""Asynchronous rollout from its start, version by version, with mean batches: steps that come in bunches.

Nothing is drawn: shares of groups end as the law of lengths says, see `rollout_batch`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.formulas.rollout_batch import LAST, Rollout, table

_CELLS = 256
"""Of the grid of tokens, up to the longest answer of the slowest instance; more where a step is short beside it."""
_MOST_CELLS = 2048
_CELLS_A_STEP = 32
_REACH = 1.3
_MOST_VERSIONS = 48
_FEWEST = 1e-6
"""Of the groups of a step: what is dropped below that is rounding."""
_FEW, _LONG = 3, 20
Numbers = NDArray[np.float64]
_SPENT, _ENDED, _USEFUL = range(3)


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
    bunch = math.ceil(rollout.bound) + 1
    counted = min(bunch, _MOST_VERSIONS) if bunch > _FEW else 2 * bunch
    if drops and bunch <= _FEW:  # what is started again takes turns with longer periods
        counted = _LONG
    versions = min(max(2 * bunch, 12), _MOST_VERSIONS) + counted
    run = _Run.of(rollout, tokens=tokens, drops=drops and rollout.bound > 0)
    for version in range(versions):
        run.version_on(version, counts=version >= versions - counted)
    steps = np.diff(run.begins)[-counted:]
    lost, taken = math.fsum(run.dropped[-counted:]), run.taken.sum()
    return Bunches(
        step_s=float(steps.mean()),
        shares=tuple((run.taken / taken).tolist()),
        lost=lost / (lost + float(taken)),
        shortest_s=float(steps.min()),
        longest_s=float(steps.max()),
    )


@dataclass(slots=True)
class _Lines:
    """What all groups together have reached on a grid of places: time spent, groups ended, those that may be taken.

    One array for all, because a group that begins adds to each of them.
    """

    cell: float
    values: Numbers
    rise_s: float
    """Of the time in a cell, beyond what any group adds."""
    known: int
    """Cells that are filled."""
    curves: Numbers
    """What a group that has just begun adds from one cell to the next, up to all it will ever add."""

    def add(self, start: float, *, sizes: float | Numbers) -> None:
        """Groups that begin at a place, as many of each line."""
        whole, part = divmod(start / self.cell, 1.0)
        first, curves = int(whole) + 1, self.curves
        last = first + curves.shape[1] - 1
        self._reach(last)
        self.values[:, first:last] += sizes * ((1 - part) * curves[:, 1:] + part * curves[:, :-1])
        self.values[:, last : self.known] += sizes * curves[:, -1:]

    def at(self, line: int, place: float) -> float:
        """Value of a line at a place."""
        whole, part = divmod(place / self.cell, 1.0)
        here = int(whole)
        self._reach(here + 1)
        before, after = self.values[line, here : here + 2].tolist()
        found: float = before + part * (after - before)
        return found

    def where(self, line: int, value: float) -> float:
        """The place of a value, or the end of what is known: nothing runs beyond it."""
        reached = self.values[line, : self.known]
        after = min(max(int(reached.searchsorted(value)), 1), self.known - 1)
        low, high = reached[after - 1 : after + 1].tolist()
        part = (value - low) / (high - low) if high > low else 1.0
        found: float = (after - 1 + min(part, 1.0)) * self.cell
        return found

    @property
    def end_s(self) -> float:
        """Time when all groups have ended."""
        return float(self.values[_SPENT, self.known - 1])

    def _reach(self, index: int) -> None:
        """Go on with what is known at the end: no group adds anything beyond it."""
        known, wanted = self.known, index + 1
        if wanted <= known:
            return
        if wanted > self.values.shape[1]:
            more = np.empty((len(self.values), 2 * wanted))
            more[:, :known] = self.values[:, :known]
            self.values = more
        self.values[:, known:wanted] = self.values[:, known - 1 : known]
        self.values[_SPENT, known:wanted] += self.rise_s * np.arange(1.0, wanted - known + 1)
        self.known = wanted


def _lines_of(rollout: Rollout, *, tokens: float, drops: bool) -> _Lines:
    """Before any group begins; without dropped groups all may be taken."""
    known = table(rollout.law)
    reach = _REACH * known.longest
    cell = max(min(reach / _CELLS, tokens / _CELLS_A_STEP), reach / _MOST_CELLS)
    places = cell * np.arange(float(math.ceil(reach / cell) + 1))
    work_s = rollout.step.sequence_s * rollout.answers * known.written(places)
    groups = 1 - rollout.unfinished(places, tokens=tokens)
    curves = np.array([work_s, groups, groups] if drops else [work_s, groups])
    return _Lines(cell, np.zeros((len(curves), 8 * len(places))), rollout.step.fixed_s * cell, 1, curves)


@dataclass(slots=True)
class _Run:
    rollout: Rollout
    lines: _Lines
    drops: bool
    taken: Numbers
    starts: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    born: list[int] = field(default_factory=list)
    begins: list[float] = field(default_factory=lambda: [0.0])
    dropped: list[float] = field(default_factory=list)
    place: float = 0.0
    place_s: float = 0.0
    """Time there; a group that begins in a cell bends the line between its ends."""
    before: float = 0.0
    too_old: int = 0
    """Groups, in the order of their start, that the trainer leaves out."""

    @classmethod
    def of(cls, rollout: Rollout, *, tokens: float, drops: bool) -> Self:
        """The first answers, all started at once."""
        lines = _lines_of(rollout, tokens=tokens, drops=drops)
        run = cls(rollout, lines, drops, np.zeros(rollout.oldest))
        run._start(0.0, size=rollout.bound + 1, version=0)
        return run

    @property
    def _takes(self) -> int:
        """The line of the groups that the trainer takes from."""
        return _USEFUL if self.drops else _ENDED

    def version_on(self, version: int, *, counts: bool) -> None:
        """A training step: its groups, its time, and the answers that start with the next version."""
        self._leave_out(version)
        held = self.lines.at(self._takes, self.before) + 1
        last = max(self.lines.where(self._takes, held), self.before)
        gone = self._grown(_ENDED, last) - self._grown(_USEFUL, last) if self.drops else 0.0
        self.dropped.append(gone)
        if counts:
            self._account(version, last=last)
        # The last group that is needed ends between two counts.
        begins = max(self.lines.where(self._takes, held - LAST / self.rollout.groups), self.place)
        reached_s = self.lines.at(_SPENT, begins) if begins > self.place else self.place_s
        now = self.begins[-1] + reached_s - self.place_s
        if gone > _FEWEST:
            self._start(begins, size=gone, version=version)
        self.place_s = min(reached_s + self.rollout.train_s, self.lines.end_s)
        self.place, self.before = self.lines.where(_SPENT, self.place_s), last
        self.begins.append(now + self.rollout.train_s + self.rollout.pause_s)
        self._start(self.place, size=1.0, version=version + 1)

    def _start(self, place: float, *, size: float, version: int) -> None:
        self.starts.append(place)
        self.sizes.append(size)
        self.born.append(version)
        self.lines.add(place, sizes=size)

    def _leave_out(self, version: int) -> None:
        """Groups that have become too old for the trainer."""
        if not self.drops:
            return
        while self.born[self.too_old] < version - self.rollout.oldest_useful:
            self.lines.add(self.starts[self.too_old], sizes=np.array([[0.0], [0.0], [-self.sizes[self.too_old]]]))
            self.too_old += 1

    def _grown(self, line: int, last: float) -> float:
        return self.lines.at(line, last) - self.lines.at(line, self.before)

    def _account(self, version: int, *, last: float) -> None:
        """Ages of what is taken."""
        starts, curve = np.array(self.starts[self.too_old :]), self.lines.curves[_ENDED]
        places = self.lines.cell * np.arange(float(len(curve)))
        grown = np.interp(last - starts, places, curve) - np.interp(self.before - starts, places, curve)
        old = np.minimum(version - np.array(self.born[self.too_old :]), self.rollout.oldest - 1)
        self.taken += np.bincount(old, weights=grown * self.sizes[self.too_old :], minlength=self.rollout.oldest)

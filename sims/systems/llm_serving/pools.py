"""The units of a role as the control plane sees them: which are up, loading, draining, released or lost, and how long.

Every change of a unit goes through its pool, so that what the data plane does and what is counted agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import simpy

from sims.engine import merge
from sims.parts.course import Process
from sims.systems.llm_serving.plane import ServingPlane

UP, DRAINING, RELEASED, LOADING, HALTED, LOST = "up", "draining", "released", "loading", "halted", "lost"
SERVING = (UP, DRAINING)
MOST_NOTES = 200
DRAIN_LOOK_S = 1.0
"""How often a unit that drains is looked at."""


@dataclass(frozen=True, slots=True)
class Note:
    """A moment worth a mark."""

    at_s: float
    role: str
    what: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Unit-seconds of a role over a run by state, and how many units served."""

    unit_s: dict[str, float]
    mean_up: float
    least_up: int
    most_up: int

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {"least_up": min, "most_up": max}

    @property
    def changed(self) -> bool:
        """Whether units came or went."""
        return any(spent_s > 0 for state, spent_s in self.unit_s.items() if state != UP)

    @property
    def used_s(self) -> float:
        """Unit-seconds that were not free for other work: serving, draining, loading, or lost and being repaired."""
        return sum(spent_s for state, spent_s in self.unit_s.items() if state != RELEASED)

    @property
    def released_s(self) -> float:
        """Unit-seconds free for other work."""
        return self.unit_s.get(RELEASED, 0.0)


class Pool:
    """The units of one role; ``load_s`` is what a unit takes to load its weights and warm up."""

    def __init__(
        self,
        env: simpy.Environment,
        *,
        plane: ServingPlane,
        role: str,
        count: int,
        load_s: float,
        spares: int,
        notes: list[Note],
    ) -> None:
        self.role, self.load_s, self.spares, self.notes = role, load_s, spares, notes
        self.states = [UP] * count
        self._env, self._plane = env, plane
        self._unit_s: dict[str, float] = dict.fromkeys((UP, DRAINING, RELEASED, LOADING, HALTED, LOST), 0.0)
        self._since_s = 0.0
        self._least = self._most = count
        self._orders = [0] * count

    def count(self, *states: str) -> int:
        """Units in these states."""
        return sum(state in states for state in self.states)

    def units(self, *states: str) -> list[int]:
        """Their numbers."""
        return [unit for unit, state in enumerate(self.states) if state in states]

    def _set(self, unit: int, state: str) -> None:
        self._count_time()
        self.states[unit] = state
        self._orders[unit] += 1
        up = self.count(*SERVING)
        self._least, self._most = min(self._least, up), max(self._most, up)

    def _count_time(self) -> None:
        span_s, self._since_s = self._env.now - self._since_s, self._env.now
        for state, units in Counter(self.states).items():
            self._unit_s[state] += units * span_s

    def usage(self) -> Usage:
        """So far."""
        self._count_time()
        spent = dict(self._unit_s)
        up_s = sum(spent[state] for state in SERVING)
        return Usage(spent, up_s / self._env.now if self._env.now > 0 else 0.0, self._least, self._most)

    def halt(self, units: Sequence[int]) -> list[int]:
        """Those of ``units`` that serve stop where they are."""
        hit = [unit for unit in units if self.states[unit] in SERVING]
        for unit in hit:
            self._plane.halt(unit, role=self.role, now_s=self._env.now)
            self._set(unit, HALTED)
        if hit:
            self.note("lost" if len(hit) == 1 else f"lost: {len(hit)}")
        return hit

    def isolate(self, unit: int) -> None:
        """The loss is known: its requests are moved."""
        self._plane.isolate(unit, role=self.role, now_s=self._env.now)
        self._set(unit, LOST)

    def note(self, what: str) -> None:
        """Remember what happens now, while there is room."""
        if len(self.notes) < MOST_NOTES:
            self.notes.append(Note(self._env.now, self.role, what))

    def join(self, unit: int) -> None:
        """It is up, empty."""
        self._plane.rejoin(unit, role=self.role, now_s=self._env.now)
        self._set(unit, UP)

    def release(self, unit: int) -> None:
        """It is given away, empty."""
        self._plane.release(unit, role=self.role)
        self._set(unit, RELEASED)

    def resize(self, wanted: int) -> None:
        """Have so many units up or coming: order those missing, drain those too many."""
        there = self.count(UP, LOADING)
        if wanted != there:
            self.note(f"count {there} → {wanted}")
        if wanted > there:
            self._more(wanted - there)
        elif wanted < there:
            self._fewer(there - wanted)

    def _more(self, count: int) -> None:
        back = self.units(DRAINING)[:count]
        for unit in back:
            self._plane.rejoin(unit, role=self.role, now_s=self._env.now)
            self._set(unit, UP)
        for unit in self.units(RELEASED)[: count - len(back)]:
            self._set(unit, LOADING)
            self._env.process(self._load(unit, order=self._orders[unit]))

    def _load(self, unit: int, *, order: int) -> Process:
        yield self._env.timeout(self.load_s)
        if self._orders[unit] == order:
            self.join(unit)

    def _fewer(self, count: int) -> None:
        called_off = self.units(LOADING)[-count:]
        for unit in called_off:
            self._set(unit, RELEASED)
        up = self.units(UP)
        # The least busy are empty first; of equals the last.
        up.sort(key=lambda unit: (self._plane.load(unit, role=self.role), -unit))
        for unit in up[: count - len(called_off)]:
            self._plane.drain(unit, role=self.role)
            self._set(unit, DRAINING)
            self._env.process(self._drain(unit, order=self._orders[unit]))

    def _drain(self, unit: int, *, order: int) -> Process:
        while self._orders[unit] == order and not self._plane.is_done():
            if self._plane.is_empty(unit, role=self.role):
                self.release(unit)
                return
            yield self._env.timeout(DRAIN_LOOK_S)

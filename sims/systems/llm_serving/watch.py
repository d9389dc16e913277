"""Watches the queue around losses: which phase requests arrive in, and when all is as before.

A run is *before* until the first loss, then *during* until every lost unit is back or replaced and no more requests
wait than before, then *after*. Requests that wait are looked at every ``look_s``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import simpy

from sims.parts.course import Process
from sims.systems.llm_serving.plane import ServingPlane

BEFORE, DURING, AFTER = 0, 1, 2
SPREADS = 4.0
"""So many standard deviations above its mean the queue counts as longer than before."""
LOOKS = 2000
"""Looks in the time of the arrivals. A run that lasts on and on is looked at half as often every so many looks."""


@dataclass(slots=True)
class Disturbance:
    """From a loss until all is as before; further losses on the way belong to it. None: not within the run."""

    at_s: float
    units: int = 0
    joined_s: float | None = None
    """When the last lost unit was back or replaced."""
    queue_back_s: float | None = None
    """When the queue was last longer than before; ``at_s`` if it never was."""
    over_s: float | None = None


@dataclass(slots=True)
class Watch:
    """Marks the phases of a run and keeps its disturbances."""

    plane: ServingPlane
    env: simpy.Environment
    warmup_s: float
    look_s: float
    found: list[Disturbance] = field(default_factory=list)
    _missing: int = 0
    _warm: bool = False
    _is_long: bool = True
    _looks: int = 0
    _sum: float = 0.0
    _squares: float = 0.0
    _limit: float = 0.0
    _last_long_s: float = 0.0

    def lost(self, units: int) -> None:
        """So many units halt now."""
        if not self.is_open:
            self.found.append(Disturbance(self.env.now))
            self._limit = self._longest_usual()
            self._is_long = True
            self._last_long_s = self.env.now
            self._phase(DURING)
        self.found[-1].units += units
        self.found[-1].joined_s = None
        self._missing += units

    def back(self) -> None:
        """A lost unit is back or replaced."""
        self._missing -= 1
        if self._missing == 0:
            self.found[-1].joined_s = self.env.now

    @property
    def is_open(self) -> bool:
        return bool(self.found) and self.found[-1].over_s is None

    def _phase(self, phase: int) -> None:
        self.plane.state.window[0].phase = phase

    def _longest_usual(self) -> float:
        if not self._looks:
            return 1.0
        mean = self._sum / self._looks
        return mean + SPREADS * math.sqrt(max(0.0, self._squares / self._looks - mean * mean)) + 1.0

    def looking(self) -> Process:
        """Look at the queue again and again."""
        looks = 0
        while not self.plane.is_done():
            yield self.env.timeout(self.look_s)
            self._look(self.plane.waiting())
            looks += 1
            if looks % (2 * LOOKS) == 0:
                self.look_s *= 2

    def _remember(self, waiting: int) -> None:
        """The queue before any loss; what was seen while the system filled counts only until there is better."""
        if not self._warm and self.env.now >= self.warmup_s:
            self._warm = True
            self._looks, self._sum, self._squares = 0, 0.0, 0.0
        self._looks += 1
        self._sum += waiting
        self._squares += waiting * waiting

    def close(self) -> tuple[Disturbance, ...]:
        """What was found by the end of the run; the queue may be as before while a unit is still missing."""
        if self.is_open and not self._is_long:
            self.found[-1].queue_back_s = self._last_long_s
        return tuple(self.found)

    def _look(self, waiting: int) -> None:
        if not self.is_open:
            if not self.found:
                self._remember(waiting)
            return
        self._is_long = waiting > self._limit
        if self._is_long:
            self._last_long_s = self.env.now
            return
        if self._missing == 0:
            now = self.found[-1]
            now.queue_back_s, now.over_s = self._last_long_s, self.env.now
            self._phase(AFTER)

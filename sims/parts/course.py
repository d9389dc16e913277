"""A run from its first arrival to its end: its times, who looks at it on the way, and the drive through it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import simpy

from sims.engine.hooks import Hooks, NoHooks
from sims.engine.run import Plane, drive
from sims.parts.meter import BATCHES

SAMPLES = 240
DRAIN_S = 3600.0

Process = Generator[simpy.Event, object, None]
SampleT = TypeVar("SampleT")
PlaneT = TypeVar("PlaneT", bound=Plane)


class Timed(Protocol):
    """A source of requests, as a run's times depend on it."""

    @property
    def horizon_s(self) -> float:
        """When the last request comes, or is expected to."""

    @property
    def finite(self) -> bool:
        """Whether the run goes on until the last request is finished."""


@dataclass(frozen=True, slots=True)
class Course:
    """The times of a run: arrivals until ``horizon_s``, of which what lies before ``warmup_s`` is not measured."""

    horizon_s: float
    warmup_s: float
    finite: bool

    @classmethod
    def of(cls, source: Timed, *, warmup_s: float) -> Course:
        """Raises ValueError when the source has no end or nothing in it."""
        if not 0 < source.horizon_s < float("inf"):
            raise ValueError("the run has no length: give a duration, a number of requests or a trace with requests")
        return cls(source.horizon_s, min(warmup_s, source.horizon_s), source.finite)

    @property
    def batch_s(self) -> float:
        """Length of a batch of the measuring window."""
        return max(self.horizon_s - self.warmup_s, 1e-9) / BATCHES

    @property
    def end_s(self) -> float:
        """When the run is over at the latest: a finite source is followed until its last request is done."""
        return self.horizon_s * 4 + DRAIN_S if self.finite else self.horizon_s


def evenly(env: simpy.Environment, *, course: Course, count: int, look: Callable[[float], object]) -> Process:
    """Look ``count`` times, the last time at the horizon."""
    for index in range(1, count + 1):
        yield env.timeout(max(0.0, course.horizon_s * index / count - env.now))
        look(env.now)


def until_done(
    env: simpy.Environment, *, course: Course, count: int, look: Callable[[float], object], done: Callable[[], bool]
) -> Process:
    """Go on looking after the horizon until the last request is finished, the more seldom the longer that takes."""
    yield env.timeout(course.horizon_s)
    every_s = course.horizon_s / count
    while not done():
        for _ in range(count):
            yield env.timeout(every_s)
            look(env.now)
            if done():
                return
        every_s *= 2


@dataclass(slots=True)
class Recorder(Generic[SampleT]):
    """Keeps samples of the system: to the horizon, after it, and those at the ends of the measuring window."""

    read: Callable[[float], SampleT]
    samples: list[SampleT] = field(default_factory=list)
    drained: list[SampleT] = field(default_factory=list)
    opened: SampleT | None = None
    closed: SampleT | None = None

    def sample(self, at_s: float) -> None:
        """One more for the time line."""
        self.samples.append(self.read(at_s))

    def drain(self, at_s: float) -> None:
        """One more of the time after the last arrival."""
        self.drained.append(self.read(at_s))

    def window(self, env: simpy.Environment, *, course: Course) -> Process:
        """Mark the window's start and end."""
        yield env.timeout(course.warmup_s)
        self.opened = self.read(env.now)
        yield env.timeout(course.horizon_s - env.now)
        self.closed = self.read(env.now)


def follow(
    plane: PlaneT,
    *,
    env: simpy.Environment,
    course: Course,
    look: Callable[[float], object],
    samples: int,
    check: Callable[[PlaneT], None] | None,
    hooks: Hooks | None,
    clock: Callable[[], float],
    budget_s: float,
) -> str:
    """Run to the end with ``samples`` looks on the way, each followed by a check if there is one; how it ended."""
    env.process(evenly(env, course=course, count=samples, look=look))
    if check is not None:
        env.process(_checks(env, plane=plane, check=check, every_s=course.horizon_s / samples))
    return drive(plane, env=env, end_s=course.end_s, hooks=hooks or NoHooks(), clock=clock, budget_s=budget_s)


def _checks(env: simpy.Environment, *, plane: PlaneT, check: Callable[[PlaneT], None], every_s: float) -> Process:
    while not plane.is_done():
        yield env.timeout(every_s)
        check(plane)

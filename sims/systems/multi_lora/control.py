"""The control plane as SimPy processes: replicas fail and come back, adapters are placed anew."""

from __future__ import annotations

import math
from dataclasses import dataclass

import simpy

from sims.parts.course import Process
from sims.systems.multi_lora.plane import LoraPlane


@dataclass(frozen=True, slots=True)
class Failure:
    """A replica halts at ``at_s``, is isolated once that is detected, and rejoins empty ``rejoin_s`` after that."""

    replica: int
    at_s: float
    rejoin_s: float = math.inf
    detection_s: float = 0.0


def failing(env: simpy.Environment, *, plane: LoraPlane, failure: Failure) -> Process:
    """One failure and the return."""
    yield env.timeout(failure.at_s)
    plane.halt(failure.replica, now_s=env.now)
    yield env.timeout(failure.detection_s)
    plane.isolate(failure.replica, now_s=env.now)
    if math.isfinite(failure.rejoin_s):
        yield env.timeout(failure.rejoin_s)
        plane.rejoin(failure.replica, now_s=env.now)


def placing(env: simpy.Environment, *, plane: LoraPlane, every_s: float) -> Process:
    """Place adapters by the traffic of the last interval, again and again."""
    since = plane.state.came.copy()
    while not plane.is_done():
        yield env.timeout(every_s)
        since = plane.place_anew(since)

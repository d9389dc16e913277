"""The control plane as SimPy processes: instances fail and come back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import simpy

from sims.parts.course import Process
from sims.systems.rl_rollout.plane import RolloutPlane


@dataclass(frozen=True, slots=True)
class Failure:
    """An instance fails at ``at_s`` [s] with all it runs, and is up again ``rejoin_s`` later."""

    instance: int
    at_s: float
    rejoin_s: float = math.inf


def failing(env: simpy.Environment, *, plane: RolloutPlane, failure: Failure) -> Process:
    """One failure and the return."""
    yield env.timeout(failure.at_s)
    plane.fail(failure.instance, now_s=env.now)
    if math.isfinite(failure.rejoin_s):
        yield env.timeout(failure.rejoin_s)
        plane.rejoin(failure.instance, now_s=env.now)

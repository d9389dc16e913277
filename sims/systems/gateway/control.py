"""The control plane as SimPy processes: instances fail and come back, probes find out, a canary grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import simpy
from numpy.typing import NDArray

from sims.engine.streams import stream
from sims.parts.course import Process
from sims.systems.gateway.config import Health
from sims.systems.gateway.plane import GatewayPlane

MOST_PHASES = 20
"""Instances are probed at so many moments of an interval, evenly spread."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An instance fails at ``at_s`` [s] with its cache and all it serves, and is up again ``rejoin_s`` later, cold."""

    instance: int
    at_s: float
    rejoin_s: float = math.inf
    hangs: bool = False
    """Whether it goes silent, so that requests wait for the gateway's timeout; else it refuses at once."""


@dataclass(frozen=True, slots=True)
class CanaryStep:
    """From ``at_s`` on ``instances`` run version B and get ``weight`` (0 … 1) of the sessions or requests."""

    at_s: float
    weight: float
    instances: int


def failing(env: simpy.Environment, *, plane: GatewayPlane, failure: Failure) -> Process:
    """One failure and the return."""
    yield env.timeout(failure.at_s)
    plane.fail(failure.instance, hangs=failure.hangs, now_s=env.now)
    if math.isfinite(failure.rejoin_s):
        yield env.timeout(failure.rejoin_s)
        plane.rejoin(failure.instance, now_s=env.now)


def growing(env: simpy.Environment, *, plane: GatewayPlane, steps: tuple[CanaryStep, ...]) -> Process:
    """The steps of a canary in the order of their time."""
    for step in sorted(steps, key=lambda one: one.at_s):
        yield env.timeout(max(0.0, step.at_s - env.now))
        plane.set_canary(step.instances, weight=step.weight, now_s=env.now)


class Prober:
    """Probes every instance once an interval and tells the plane who is out and who is back."""

    def __init__(self, plane: GatewayPlane, *, health: Health, instances: int, seed: int) -> None:
        self._plane, self._health = plane, health
        self._bad = np.zeros(instances, np.int64)
        self._good = np.zeros(instances, np.int64)
        self._out = np.zeros(instances, bool)
        self._chance = stream(seed, name="false probes")
        drawn = float(stream(seed, name="probe phase").random())
        self._phase = drawn if health.probe_phase is None else health.probe_phase

    def start(self, env: simpy.Environment) -> None:
        """Begin to probe, a share of the instances at each of some moments of the interval."""
        groups = min(MOST_PHASES, len(self._bad))
        for group in range(groups):
            members = np.arange(group, len(self._bad), groups)
            first_s = ((self._phase + group / groups) % 1.0) * self._health.probe_interval_s
            env.process(self._probing(env, members=members, first_s=first_s))

    def _probing(self, env: simpy.Environment, *, members: NDArray[np.int64], first_s: float) -> Process:
        health, turn = self._health, 0
        while not self._plane.is_done():
            yield env.timeout(max(0.0, first_s + turn * health.probe_interval_s - env.now))
            turn += 1
            at_once, late = self._answers(members, now_s=env.now)
            failed = at_once | late
            for i in members[late].tolist():
                env.process(self._give_up(env, i))
            for i in members[at_once].tolist():
                self._count_bad(i, now_s=env.now)
            for i in members[~failed & (self._out[members] | (self._bad[members] > 0))].tolist():
                self._count_good(i, now_s=env.now)

    def _answers(self, members: NDArray[np.int64], *, now_s: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Who fails at once, and who does not answer in time."""
        state, health = self._plane.state, self._health
        down = state.instances.up[members] == 0
        silent = down & (state.instances.hangs[members] == 1)
        if math.isfinite(health.probe_busy_s):
            work_s = state.queue_s[0, members] + np.maximum(0.0, state.until_s[0, members] - now_s)
            silent |= ~down & (work_s > health.probe_busy_s)
        refused = down & ~silent
        if health.probe_false_rate > 0:
            refused |= ~silent & (self._chance.random(len(members)) < health.probe_false_rate)
        return refused, silent

    def _give_up(self, env: simpy.Environment, i: int) -> Process:
        yield env.timeout(self._health.probe_timeout_s)
        self._count_bad(i, now_s=env.now)

    def _count_bad(self, i: int, *, now_s: float) -> None:
        self._bad[i] += 1
        self._good[i] = 0
        if self._bad[i] >= self._health.probe_failures and not self._out[i]:
            self._out[i] = self._plane.judge(i, out=True, now_s=now_s)

    def _count_good(self, i: int, *, now_s: float) -> None:
        self._good[i] += 1
        self._bad[i] = 0
        if self._out[i] and self._good[i] >= self._health.probe_successes:
            self._out[i] = False
            self._plane.judge(i, out=False, now_s=now_s)

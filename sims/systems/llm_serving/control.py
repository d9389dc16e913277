"""The control plane as SimPy processes: units are lost and come back, the load scales them, the night releases them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import simpy

from sims.engine.streams import stream
from sims.parts.course import Process
from sims.parts.scaling import Policy, Scaler
from sims.systems.llm_serving.plane import ServingPlane
from sims.systems.llm_serving.pools import HALTED, LOADING, LOST, UP, Note, Pool, Usage
from sims.systems.llm_serving.watch import Watch

ROLES = ("decode", "prefill")
HOUR_S = 3600.0
DAY_H = 24.0


@dataclass(frozen=True, slots=True)
class Nodes:
    """How units lie on nodes: one spans ``per_unit`` nodes, or ``units`` of them share a node and are lost together."""

    per_unit: int = 1
    units: int = 1

    def of(self, units: int) -> int:
        """Nodes under so many units."""
        return units * self.per_unit if self.per_unit > 1 else -(-units // self.units)

    def lost(self, node: int, *, units: int) -> range:
        """The units that stop with a node."""
        if self.per_unit > 1:
            return range(node // self.per_unit, node // self.per_unit + 1)
        return range(node * self.units, min(units, (node + 1) * self.units))


@dataclass(frozen=True, slots=True)
class Failure:
    """Units from ``unit`` on, ``together`` of them, halt at ``at_s``, are isolated once that is detected, and rejoin.

    ``rejoin_s`` counts from the detection. ``role`` is decode (replicas too) or prefill.
    """

    unit: int
    at_s: float
    rejoin_s: float
    detection_s: float = 0.0
    role: str = "decode"
    together: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """Every node of a role fails at random, ``per_node_h`` times an hour while it is up, each by its own stream."""

    per_node_h: float
    rejoin_s: float
    detection_s: float = 0.0
    role: str = "decode"
    nodes: Nodes = field(default_factory=Nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """A role is resized every ``every_s`` by a policy on its ``load``.

    ``sequences``: requests in decode units or waiting for them (on replicas: all requests); ``kv``: KV tokens pledged
    to them, in capacities of a unit; ``busy``: units at work, mean since the last look; ``queue``: requests waiting.
    """

    policy: Policy
    every_s: float
    load: str = "sequences"
    role: str = "decode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """From hour to hour of each day a role keeps ``units``; the others are back by its end.

    The run begins at ``start_h``; a day lasts ``day_s``.
    """

    from_h: float
    to_h: float
    units: int
    role: str = "decode"
    start_h: float = 0.0
    day_s: float = 86_400.0

    def spans_s(self) -> Iterator[tuple[float, float]]:
        """Begin and end of all nights [s of simulated time], from that in which the run begins on."""
        hour_s = self.day_s / DAY_H
        begin_s = ((self.from_h - self.start_h) % DAY_H - DAY_H) * hour_s
        lasts_s = (self.to_h - self.from_h) % DAY_H * hour_s
        while True:
            if begin_s + lasts_s > 0:
                yield max(0.0, begin_s), begin_s + lasts_s
            begin_s += self.day_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What happens to the units of a run. ``load_s``: loading weights and warming up; ``spares`` stand by, by role."""

    failures: Sequence[Failure] = ()
    rates: Sequence[FailureRate] = ()
    scaling: Sequence[Scaling] = ()
    nights: Sequence[Night] = ()
    load_s: float = 0.0
    spares: tuple[tuple[str, int], ...] = ()

    @property
    def loses(self) -> bool:
        """Whether a unit can be lost."""
        return bool(self.failures or self.rates)

    def check(self, counts: dict[str, int]) -> None:
        """Raise ValueError naming what does not fit the fleet."""
        for failure in self.failures:
            count = counts.get(failure.role, 0)
            if not 0 <= failure.unit <= failure.unit + failure.together - 1 < count:
                raise ValueError(f"a failure names unit {failure.unit} of {count}")
        roles = (
            {one.role for one in self.rates} | {one.role for one in self.scaling} | {one.role for one in self.nights}
        )
        for role in sorted(roles):
            if not counts.get(role):
                raise ValueError(f"there are no {role} units")
        for night in self.nights:
            if not (0 <= night.from_h < DAY_H and 0 <= night.to_h < DAY_H and night.from_h != night.to_h):
                raise ValueError("a night runs from an hour to another of a day of 24")
            if not night.day_s > 0:
                raise ValueError(f"a day lasts more than {night.day_s} s")
            if night.units < 1:
                raise ValueError(f"at night at least 1 unit stays, not {night.units}")


class Operator:
    """Runs a control plan on a plane."""

    def __init__(
        self, env: simpy.Environment, *, plane: ServingPlane, control: Control, counts: dict[str, int], seed: int
    ) -> None:
        self._env, self._plane, self._control, self._seed = env, plane, control, seed
        spares = dict(control.spares)
        self.notes: list[Note] = []
        self.pools = {
            role: Pool(
                env,
                plane=plane,
                role=role,
                count=count,
                load_s=control.load_s,
                spares=spares.get(role, 0),
                notes=self.notes,
            )
            for role, count in counts.items()
        }
        self._ceilings = dict(counts)
        self._fetching = False
        self.usage: dict[str, Usage] | None = None

    def usage_now(self) -> dict[str, Usage]:
        """By role, from the start."""
        return {role: pool.usage() for role, pool in self.pools.items()}

    def reads_usage(self, at_s: float) -> Process:
        """Keep the usage of a moment."""
        yield self._env.timeout(at_s)
        self.usage = self.usage_now()

    def start(self, watch: Watch) -> None:
        """Begin all processes, in a fixed order."""
        for failure in self._control.failures:
            self._env.process(self._fails(failure, watch=watch))
        for rate in self._control.rates:
            for node in range(rate.nodes.of(len(self.pools[rate.role].states))):
                self._env.process(self._fails_at_random(rate, node=node, watch=watch))
        for scaling in self._control.scaling:
            self._env.process(self._scales(scaling))
        for night in self._control.nights:
            self._env.process(self._sleeps(night))

    def _fails(self, failure: Failure, *, watch: Watch) -> Process:
        yield self._env.timeout(failure.at_s)
        units = range(failure.unit, failure.unit + failure.together)
        yield from self._loses(
            failure.role, units, detection_s=failure.detection_s, rejoin_s=failure.rejoin_s, watch=watch
        )

    def _fails_at_random(self, rate: FailureRate, *, node: int, watch: Watch) -> Process:
        chance, pool = stream(self._seed, name=f"failures of {rate.role} node {node}"), self.pools[rate.role]
        while rate.per_node_h > 0:
            yield self._env.timeout(float(chance.exponential(HOUR_S / rate.per_node_h)))
            if self._plane.is_done():
                return
            units = rate.nodes.lost(node, units=len(pool.states))
            yield from self._loses(rate.role, units, detection_s=rate.detection_s, rejoin_s=rate.rejoin_s, watch=watch)
            if not math.isfinite(rate.rejoin_s):
                return
            yield self._env.timeout(rate.rejoin_s)

    def _loses(
        self, role: str, units: Sequence[int], *, detection_s: float, rejoin_s: float, watch: Watch
    ) -> Iterator[simpy.Event]:
        pool = self.pools[role]
        hit = pool.halt(units)
        if not hit:
            return
        watch.lost(len(hit))
        yield self._env.timeout(detection_s)
        for unit in hit:
            pool.isolate(unit)
        if self._plane.fetches_s() is not None and not self._fetching:
            self._fetching = True
            self._env.process(self._fetches())
        for unit in hit:
            self._env.process(self._returns(pool, unit, rejoin_s=rejoin_s, watch=watch))

    def _returns(self, pool: Pool, unit: int, *, rejoin_s: float, watch: Watch) -> Process:
        """A spare takes the place of a lost unit if one stands by; the repaired one is the next spare."""
        replaced = pool.spares > 0 and self._control.load_s < rejoin_s
        if replaced:
            pool.spares -= 1
            self._env.process(self._stands_by(pool, rejoin_s=rejoin_s))
        wait_s = self._control.load_s if replaced else rejoin_s
        if math.isfinite(wait_s):
            yield self._env.timeout(wait_s)
            pool.join(unit)
            pool.note("replaced" if replaced else "back")
            watch.back()

    def _stands_by(self, pool: Pool, *, rejoin_s: float) -> Process:
        if math.isfinite(rejoin_s):
            yield self._env.timeout(rejoin_s)
            pool.spares += 1

    def _fetches(self) -> Process:
        """KV comes from the pool, one request after the other."""
        while (ready_s := self._plane.fetches_s()) is not None:
            yield self._env.timeout(max(0.0, ready_s - self._env.now))
            self._plane.take_fetched(upto_s=max(ready_s, self._env.now), now_s=self._env.now)
        self._fetching = False

    def _scales(self, scaling: Scaling) -> Process:
        scaler, pool, role = Scaler(scaling.policy), self.pools[scaling.role], scaling.role
        busy_s = 0.0
        while not self._plane.is_done():
            yield self._env.timeout(scaling.every_s)
            if scaling.load == "busy":
                before_s, busy_s = busy_s, self._plane.busy_s(role, now_s=self._env.now)
                load = (busy_s - before_s) / scaling.every_s
            else:
                load = self._plane.demand(role, load=scaling.load)
            wanted = scaler.wanted(load, units=pool.count(UP, LOADING), now_s=self._env.now)
            pool.resize(min(wanted, self._ceilings[role]))

    def _sleeps(self, night: Night) -> Process:
        pool = self.pools[night.role]
        for begin_s, end_s in night.spans_s():
            yield self._env.timeout(max(0.0, begin_s - self._env.now))
            if self._plane.is_done():
                return
            self._ceilings[night.role] = night.units
            pool.resize(min(night.units, pool.count(UP, LOADING)))
            yield self._env.timeout(max(0.0, end_s - pool.load_s - self._env.now))
            self._ceilings[night.role] = len(pool.states)
            pool.resize(len(pool.states) - pool.count(HALTED, LOST))

"""Reads a design as states that may turn over: its objectives, its units and their loss, its rank by cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.core.fleet import Fleet, Pool
from planner.core.flip_words import Key, State
from planner.core.probing import Point, Probe


@dataclass(frozen=True, slots=True)
class Rival:
    """Another design that this one is held against by its cost: a variant, or the same inputs compared.

    ``change`` makes it of the design at hand, so that both move together.
    """

    label: str
    change: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Judge:
    """Reads a point as states that may turn over. ``fleet`` counts the units, ``rival`` is held against by ``cost``."""

    probe: Probe
    fleet: Callable[[Point], Fleet] | None = None
    cost: str = ""
    rival: Rival | None = None
    _known: dict[int, dict[Key, State]] = field(default_factory=dict, repr=False, compare=False)
    """States by point, which the probe keeps."""
    _needs: dict[int, dict[Key, float]] = field(default_factory=dict, repr=False, compare=False)
    """Units each pool has to have beside the spare ones, before they are whole, and how many it lacks with one lost."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Those of the design as it is."""
        base = self.probe.at({})
        return self.fleet(base).pools if self.fleet is not None and base.result is not None else ()

    def states(self, change: Mapping[str, object], *, with_rival: bool = True) -> dict[Key, State] | None:
        """None for inputs that make no design."""
        point = self.probe.at(change)
        if point.result is None:
            return None
        base = self.probe.at({})
        if point is not base and point.told == base.told:
            # What counts the units works the design out once more: not for an input that moves nothing.
            return self.states({}, with_rival=False)
        if id(point) not in self._known:
            pools = self.fleet(point).pools if self.fleet is not None else ()
            self._known[id(point)] = {("objective", name): met for name, met in _held(point)} | _units(pools)
            self._needs[id(point)] = dict(_needs(pools))
        found = self._known[id(point)]
        if self.rival is None or not with_rival:
            return found
        mine, other = point.value(self.cost), self.probe.at({**change, **self.rival.change}).value(self.cost)
        if mine is None or other is None:
            return found
        return {**found, ("rival", self.rival.label): mine <= other * (1 + 1e-9)}

    def margin(self, key: Key, change: Mapping[str, object], *, grows: bool) -> float | None:
        """How far a point is from where something turns over: its sign tells the side. None where no figure tells.

        Of units: their need, with headroom, less the whole number that it passes; of a loss the need less what is left.
        """
        point, (turn, name) = self.probe.at(change), key
        metric = None if point.result is None else point.result.metrics.get(name)
        if turn == "objective" and metric is not None and metric.value is not None and metric.objective is not None:
            return metric.value - metric.objective
        if turn == "rival" and self.rival is not None:
            mine, other = point.value(self.cost), self.probe.at({**change, **self.rival.change}).value(self.cost)
            return None if mine is None or other is None else mine - other
        need = self._needs.get(id(point), {}).get(key)
        pool = next((pool for pool in self.pools if pool.name == name), None) if need is not None else None
        if need is None or pool is None or turn == "loss":
            return need
        sized = pool.units - pool.spare_units
        return need - (sized if grows else sized - 1)


def _held(point: Point) -> Iterator[tuple[str, bool]]:
    """Objectives with their verdicts; one whose figure does not exist is missed."""
    if point.result is None:
        return
    for name, metric in point.result.metrics.items():
        if metric.objective is not None:
            yield name, bool(metric.met)


def _needs(pools: Sequence[Pool]) -> Iterator[tuple[Key, float]]:
    for pool in pools:
        if pool.needed_units is not None:
            yield ("units", pool.name), pool.needed_units * (1 + pool.headroom)
            yield ("loss", pool.name), pool.needed_units - (pool.units - pool.units_per_node)


def _units(pools: Sequence[Pool]) -> dict[Key, State]:
    """Units of each pool, and whether the rest carries the peak when a node is lost."""
    found: dict[Key, State] = {}
    for pool in pools:
        found["units", pool.name] = pool.units
        if pool.needed_units:
            found["loss", pool.name] = pool.units - pool.units_per_node >= pool.needed_units * (1 - 1e-9)
    return found

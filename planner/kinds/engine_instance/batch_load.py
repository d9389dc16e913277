"""Many units under many loads: what `load.Operation` does for one, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.formulas import many_loads
from planner.formulas.many_neighbours import Corrections, Landscape
from planner.formulas.many_points import Array, Mask, Points
from planner.formulas.many_replicas import Units
from planner.kinds.engine_instance import lean, load
from planner.kinds.engine_instance.batch_units import Leg, Unit

Places = NDArray[np.intp]


class Legs:
    """Replicas that points are worked out on: rows of `Leg`, each with the measurements it leans on."""

    def __init__(self, legs: Sequence[Leg], *, own: Sequence[bool], landscape: Landscape) -> None:
        self._landscape = landscape
        self._units = Units.of([leg.row for leg in legs])
        self.capacity = np.array([leg.capacity for leg in legs])
        asked: dict[Any, int] = {}
        # Of a replica that only bounds another, the spread of TPOT is not asked for.
        self._places = np.array(
            [asked.setdefault((leg.configuration, is_own), len(asked)) for leg, is_own in zip(legs, own, strict=True)],
            dtype=np.intp,
        )
        self._seen = [landscape.seen(configuration, spread=is_own) for configuration, is_own in asked]

    def corrections(self, legs: Places, *, concurrency: Array, capacity: Array) -> Corrections:
        return self._landscape.corrections(
            self._seen, places=self._places[legs], concurrency=concurrency, capacity=capacity
        )

    def at(self, legs: Places, *, concurrency: Array, capacity: Array) -> tuple[Points, Corrections]:
        """With so many requests in the system, before lesser GPUs bound it."""
        base = many_loads.closed_loop(self._units.take(legs), concurrency=concurrency, capacity=capacity)
        found = self.corrections(legs, concurrency=concurrency, capacity=capacity)
        return base.leaning(tpot=found.tpot, ttft=found.ttft), found

    def max_rate_rps(self) -> Array:
        """Of each leg alone."""
        every = np.arange(len(self.capacity))
        found = self.corrections(every, concurrency=self.capacity, capacity=self.capacity)
        rates: Array = many_loads.max_rate_rps(self._units, capacity=self.capacity) / found.tpot
        return rates

    def at_rate(self, legs: Places, *, rate_rps: Array) -> tuple[Points, Mask]:
        """Under Poisson arrivals, and where that exists: as `load.Operation._alone_at_rate`."""
        capacity = self.capacity[legs]
        full = np.maximum(capacity, 1.0)
        # With all places taken a leg has one correction, whatever the rate.
        used, of_used = np.unique(legs, return_inverse=True)
        capacities = self.capacity[used]
        at_full = self.corrections(used, concurrency=np.maximum(capacities, 1.0), capacity=capacities).of(of_used)
        found, exists = self._at_rate_with(legs, rate_rps=rate_rps, lean_on=at_full)
        places = np.flatnonzero(exists & (found.concurrency < full))
        high, middle = np.log(full[places]), np.log(np.maximum(found.concurrency[places], 1.0))

        def over(some: Places, middle: Array) -> Array:
            nonlocal found
            lean_on = self.corrections(legs[some], concurrency=np.exp(middle), capacity=capacity[some])
            there, is_there = self._at_rate_with(legs[some], rate_rps=rate_rps[some], lean_on=lean_on)
            kept = np.flatnonzero(is_there)
            found = found.merged(there.of(kept), some[kept])
            asked = np.where(is_there, np.clip(there.concurrency, 1.0, full[some]), full[some])
            gap: Array = np.log(asked) - middle
            return gap

        bracket = many_loads.Bracket(places, np.zeros_like(high), high, high, middle - high)
        for _found in many_loads.enclosed(
            over, bracket, middle=middle, rounds=load.REPEATS, is_near=lambda _at, gap: np.abs(gap) <= load.SETTLED
        ):
            pass
        return found, exists

    def _at_rate_with(self, legs: Places, *, rate_rps: Array, lean_on: Corrections) -> tuple[Points, Mask]:
        """With factors that do not follow the load."""
        capacity, units = self.capacity[legs], self._units.take(legs)
        base, exists = many_loads.open_loop(units, rate_rps=rate_rps * lean_on.tpot, capacity=capacity)
        point = base.leaning(tpot=lean_on.tpot, ttft=lean_on.ttft)
        return replace(point, concurrency=rate_rps * point.e2e_s), exists


@dataclass(frozen=True, slots=True)
class Served:
    """Units that serve requests: the leg of each, and by turn the legs that bound it, -1 where there is no more."""

    legs: Legs
    own: Places
    bounds: tuple[Places, ...]
    max_rate_rps: Array

    @classmethod
    def of(cls, units: Sequence[Unit], *, landscape: Landscape) -> Served:
        """All of ``units`` have a leg of their own."""
        rows, own, turns = _rows(units)
        is_own = np.zeros(len(rows), dtype=bool)
        is_own[own] = True
        legs = Legs(rows, own=is_own.tolist(), landscape=landscape)
        bounds = tuple(_near(legs, own=own, turn=turn) for turn in turns)
        rates = legs.max_rate_rps()
        most = np.maximum(rates[own], 0.0)
        for turn in bounds:
            most = np.where(turn >= 0, np.maximum(most, rates[turn]), most)
        return cls(legs=legs, own=own, bounds=bounds, max_rate_rps=most)

    def at(self, places: Places, *, concurrency: Array) -> Points:
        """Units of some places, each with so many requests in the system."""
        legs = self.own[places]
        own, leaning = self.legs.at(legs, concurrency=concurrency, capacity=self.legs.capacity[legs])
        bounded, changed = own, np.zeros(len(places), dtype=bool)
        for turn in self.bounds:
            rows = np.flatnonzero(turn[places] >= 0)
            if len(rows):
                other = turn[places[rows]]
                bound, _correction = self.legs.at(
                    other, concurrency=concurrency[rows], capacity=self.legs.capacity[other]
                )
                bounded = bounded.merged(bounded.of(rows).bounded(bound), rows)
                changed[rows] = True
        rows = np.flatnonzero(changed)
        return bounded.merged(_as_carried(own.of(rows), bounded.of(rows), leaning.of(rows)), rows)

    def at_rate(self, places: Places, *, rate_rps: Array) -> tuple[Points, Mask]:
        """Units of some places, each under arrivals, and where that exists."""
        legs = self.own[places]
        own, alone = self.legs.at_rate(legs, rate_rps=rate_rps)
        bounded, exists, changed = own, alone.copy(), np.zeros(len(places), dtype=bool)
        for turn in self.bounds:
            rows = np.flatnonzero(turn[places] >= 0)
            bound, there = self.legs.at_rate(turn[places[rows]], rate_rps=rate_rps[rows])
            rows, bound = rows[there], bound.of(np.flatnonzero(there))
            bound = replace(bound, concurrency=rate_rps[rows] * bound.e2e_s).settled()
            held = bounded.of(rows).bounded(bound)
            bounded = bounded.merged(held.where(exists[rows], bound), rows)
            exists[rows] = True
            changed[rows] = True
        rows = np.flatnonzero(changed & alone)
        at, capacity = np.maximum(own.concurrency[rows], 1.0), self.legs.capacity[legs[rows]]
        leaning = self.legs.corrections(legs[rows], concurrency=at, capacity=capacity)
        found = bounded.merged(_as_carried(own.of(rows), bounded.of(rows), leaning), rows)
        return replace(found, concurrency=rate_rps * found.e2e_s).settled(), exists


def _rows(units: Sequence[Unit]) -> tuple[list[Leg], Places, list[Places]]:
    """Legs of all units in a row, the place of each unit's own, and by turn those of its lesser GPUs."""
    rows: list[Leg] = []
    own = np.zeros(len(units), dtype=np.intp)
    turns = [np.full(len(units), -1) for _ in range(max((len(one.lesser) for one in units), default=0))]
    for place, one in enumerate(units):
        if one.own is None:
            raise ValueError(f"unit {place} serves nothing")
        own[place] = len(rows)
        for turn, _leg in enumerate(one.lesser):
            turns[turn][place] = len(rows) + 1 + turn
        rows += [one.own, *one.lesser]
    return rows, own, turns


def _near(legs: Legs, *, own: Places, turn: Places) -> Places:
    """Of the lesser GPUs of a turn those that come near when nothing else runs: see `lean.operation`."""
    there = np.flatnonzero(turn >= 0)
    capacity, alone = legs.capacity[own[there]], np.ones(len(there))
    one, _correction = legs.at(own[there], concurrency=alone, capacity=capacity)
    other, _correction = legs.at(turn[there], concurrency=alone, capacity=capacity)
    ratio = np.minimum(other.e2e_s / one.e2e_s, other.ttft_s / one.ttft_s)
    found = turn.copy()
    found[there[ratio >= lean.NEAR]] = -1
    return found


def _as_carried(own: Points, bounded: Points, leaning: Corrections) -> Points:
    """As `load._as_carried`: what was measured of the replica itself stands."""
    gaps = bounded.gap_s / own.gap_s
    ttft = bounded.ttft_s / own.ttft_s
    carried = own.leaning(tpot=gaps**leaning.tpot_carried, ttft=ttft**leaning.ttft_carried)
    wholly = (leaning.tpot_carried == 1.0) & (leaning.ttft_carried == 1.0)
    return bounded.where(wholly, carried)

"""Loads of many replicas at once: the fixed points of `serving`, each row for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from planner.formulas import serving
from planner.formulas.many_points import Array, Mask, Points
from planner.formulas.many_replicas import Units


def whole_places(capacity: Array) -> Array:
    """Places that can be taken: part of a request's room lets none run."""
    return np.maximum(np.floor(capacity), 1.0)


def max_rate_rps(units: Units, *, capacity: Array) -> Array:
    """As `serving.max_rate_rps`: the request rate that no arrival rate may reach [1/s].

    References
    ----------
    As `serving.max_rate_rps`.
    """
    places = whole_places(capacity)
    full_s = units.output_tokens * units.tpot_s(places, units.step_s(places))
    found: Array = np.minimum(places / full_s, 1.0 / units.queue_unit_s)
    return found


def closed_loop(units: Units, *, concurrency: Array, capacity: Array) -> Points:
    """Steady states with constant numbers of requests in the system.

    Parameters
    ----------
    units : a row a load
    concurrency : requests waiting or running [1]
    capacity : requests that may run at once [1]

    References
    ----------
    As `serving.closed_loop`; a row is settled when it has converged, whatever the others do.
    """
    queue_s = units.queue_factor * np.maximum(concurrency - 1.0, 0.0) * units.queue_unit_s
    fixed_s = units.base_s + units.prefill_s + queue_s
    start = np.minimum(0.93 * concurrency, capacity)
    running = _settled(units, concurrency=concurrency, capacity=capacity, fixed_s=fixed_s, start=start)
    step_s = units.step_s(running)
    tpot_s, output = units.tpot_s(running, step_s), units.output_tokens
    waited_s = fixed_s + step_s / 2
    prefills_s = concurrency * units.busy_s - waited_s - (output - 1.0) * tpot_s
    places_s = (concurrency / capacity - 1.0) * (output * tpot_s) - waited_s
    admission_s = np.maximum(np.maximum(places_s, prefills_s), 0.0)
    return _points(units, running, step_s, queue_s=queue_s, admission_s=admission_s, concurrency=concurrency)


def _settled(units: Units, *, concurrency: Array, capacity: Array, fixed_s: Array, start: Array) -> Array:
    """The batch of each row; those that have converged are worked on no more."""
    found, left = start.copy(), np.arange(len(start))
    value = start
    for _ in range(serving.ITERATIONS):
        step_s = units.step_s(value)
        decode_s = units.output_tokens * units.tpot_s(value, step_s)
        following = np.minimum(concurrency * decode_s / (decode_s + (fixed_s + step_s / 2)), capacity)
        found[left] = following
        moves = np.abs(value - following) > serving.TOLERANCE * np.abs(following)
        if not moves.any():
            break
        value = following
        if not moves.all():
            value, left, units = following[moves], left[moves], units.take(moves.nonzero()[0])
            concurrency, capacity, fixed_s = concurrency[moves], capacity[moves], fixed_s[moves]
    return found


def _points(
    units: Units,
    running: Array,
    step_s: Array,
    *,
    queue_s: Array,
    admission_s: Array,
    concurrency: Array | None = None,
    queue_chance: Array | None = None,
    admission_chance: Array | None = None,
) -> Points:
    pauses, pause_s, sure = running / units.output_tokens, units.pause_s(running), np.ones_like(running)
    return Points(
        closed=np.full(len(running), admission_chance is None),
        concurrency=np.zeros_like(running) if concurrency is None else concurrency,
        running=running,
        base_s=units.base_s,
        prefill_s=units.prefill_s,
        first_step_s=step_s / 2,
        queue_s=queue_s,
        admission_s=admission_s,
        decode_s=step_s * units.per_token,
        interference_s=pauses * pause_s,
        pauses_per_token=pauses,
        pause_s=pause_s,
        output_tokens=units.output_tokens,
        queue_chance=sure if queue_chance is None else queue_chance,
        admission_chance=sure if admission_chance is None else admission_chance,
    )


def open_loop(units: Units, *, rate_rps: Array, capacity: Array) -> tuple[Points, Mask]:
    """Steady states under Poisson arrivals, and which of them exist; the others are those of an idle replica.

    Parameters
    ----------
    units : a row a load
    rate_rps : arrivals [1/s]
    capacity : requests that may run at once [1]

    References
    ----------
    As `serving.open_loop`.
    """
    places = whole_places(capacity)
    full_s = units.output_tokens * units.tpot_s(places, units.step_s(places))
    unit_s = units.queue_unit_s
    exists = (rate_rps * unit_s < 1.0) & (rate_rps * full_s / places < 1.0)
    rate_rps = np.where(exists, rate_rps, 0.0)
    offered = rate_rps * full_s
    alone = np.ones_like(places)
    waits, chance = _erlang_c(rate_rps * unit_s, servers=alone), _erlang_c(offered, servers=places)
    running = _lowest_batches(units, offered=rate_rps * units.output_tokens, capacity=places)
    found = _points(
        units,
        running,
        units.step_s(running),
        queue_s=0.5 * waits * unit_s / (1.0 - rate_rps * unit_s),
        admission_s=chance * full_s / (places - offered),
        queue_chance=rate_rps * unit_s,
        admission_chance=chance,
    )
    return replace(found, concurrency=rate_rps * found.e2e_s), exists


def _erlang_c(offered: Array, *, servers: Array) -> Array:
    """As `queueing.erlang_c`, below saturation."""
    some = offered > 0
    load = np.where(some, offered, 1.0)
    term = np.exp(servers * np.log(load) - load - gammaln(servers + 1))
    blocked = np.where(some, term / gammaincc(servers + 1, load), 0.0)
    found: Array = blocked / (1 - offered / servers * (1 - blocked))
    return found


def _lowest_batches(units: Units, *, offered: Array, capacity: Array) -> Array:
    """As `serving._lowest_batch`: batches B with ``B = offered · TPOT(B)``."""

    def asked(some: Units, offered: Array, running: Array) -> Array:
        return offered * some.tpot_s(running, some.step_s(running))

    def over(places: NDArray[np.intp], running: Array) -> Array:
        return asked(units.take(places), offered[places], running) - running

    low = asked(units, offered, np.zeros_like(offered))
    high = np.minimum(asked(units, offered, capacity), capacity)
    every = np.arange(len(offered))
    low_over, high_over = over(every, low), over(every, high)
    found = np.where(low_over <= 0.0, low, high)
    left = every[(low_over > 0.0) & (high_over < 0.0)]
    bracket = Bracket(left, low[left], high[left], low_over[left], high_over[left])
    for place, value in enclosed(
        over,
        bracket,
        middle=bracket.middle,
        rounds=serving.ITERATIONS,
        is_near=lambda middle, middle_over: np.abs(middle_over) <= serving.TOLERANCE * middle,
    ):
        found[place] = value
    return found


@dataclass(frozen=True, slots=True)
class Bracket:
    """Ends around a crossing of zero, one a row; ``left`` are the rows."""

    left: NDArray[np.intp]
    low: Array
    high: Array
    low_over: Array
    high_over: Array

    @property
    def middle(self) -> Array:
        """Where a straight line between the ends crosses."""
        found: Array = (self.low * self.high_over - self.high * self.low_over) / (self.high_over - self.low_over)
        return found

    def closer(self, middle: Array, middle_over: Array, *, moved: Array) -> Bracket:
        """With one end moved; an end that stays twice counts half."""
        up = middle_over > 0.0
        return Bracket(
            left=self.left,
            low=np.where(up, middle, self.low),
            high=np.where(up, self.high, middle),
            low_over=np.where(up, middle_over, np.where(moved < 0, self.low_over / 2, self.low_over)),
            high_over=np.where(up, np.where(moved > 0, self.high_over / 2, self.high_over), middle_over),
        )

    def of(self, keep: Mask) -> Bracket:
        """Some of the rows."""
        return Bracket(*(getattr(self, each.name)[keep] for each in fields(self)))


def enclosed(
    over: Callable[[NDArray[np.intp], Array], Array],
    bracket: Bracket,
    *,
    middle: Array,
    rounds: int,
    is_near: Callable[[Array, Array], Mask],
) -> Iterator[tuple[NDArray[np.intp], Array]]:
    """Crossings of zero of a function that falls, by regula falsi in the Illinois form: rows as they are found.

    Parameters
    ----------
    over : of some rows and their arguments
    bracket : where to look
    middle : where to look first
    rounds : at most; what is not found by then is the upper end
    is_near : of arguments and values: near enough to stop

    References
    ----------
    Dowell, Jarratt, "A modified regula falsi method for computing the root of an equation", BIT 11, 1971,
    doi:10.1007/BF01934364.
    """
    moved = np.zeros(len(bracket.left))
    for _ in range(rounds):
        if not len(bracket.left):
            return
        middle_over = over(bracket.left, middle)
        near = is_near(middle, middle_over)
        yield bracket.left[near], middle[near]
        far = ~near
        bracket = bracket.closer(middle, middle_over, moved=moved).of(far)
        moved = np.where(middle_over > 0.0, 1.0, -1.0)[far]
        middle = bracket.middle
    yield bracket.left, bracket.high

"""When each request of a trace comes in a replay that is scaled, stretched, repeated and cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

INSTANT_S = 1.0
"""The length given to a trace whose requests all come at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``first`` row of the trace that comes, and for this and all later rows the moments of one round."""

    first: int
    own_s: Floats
    """Moment of each row in its round, and the end of the round."""
    starts: Integers
    """Requests of a round before each row, and in all."""
    copies: int
    """The most that a row comes in a round."""
    count: int
    """Requests of the whole replay."""

    @property
    def lives(self) -> int:
        """How often a row comes at most: copies in rounds."""
        return self.copies * -(-self.count // max(1, int(self.starts[-1])))

    @property
    def horizon_s(self) -> float:
        """Moment of the last request; 0 without any."""
        if self.count == 0:
            return 0.0
        last_s = float(self.at_s(np.array([self.count - 1]))[0])
        return last_s if last_s > 0 else INSTANT_S

    @property
    def times(self) -> Integers:
        """How often each row of the trace comes."""
        each = np.zeros(self.first + len(self.starts) - 1, np.int64)
        if self.count:
            rounds, rest = divmod(self.count, int(self.starts[-1]))
            copies = np.diff(self.starts)
            each[self.first :] = rounds * copies + np.clip(rest - self.starts[:-1], 0, copies)
        return each

    def rows(self, places: Integers) -> tuple[Integers, Integers]:
        """Row of each request of the replay, and which life of the row it is, counted from 0."""
        rounds, within = np.divmod(places, self.starts[-1])
        rows = np.searchsorted(self.starts, within, side="right") - 1
        return self.first + rows, rounds * self.copies + within - self.starts[rows]

    def at_s(self, places: Integers) -> Floats:
        """Moment of each request of the replay [s]."""
        rounds, within = np.divmod(places, self.starts[-1])
        rows = np.searchsorted(self.starts, within, side="right") - 1
        share = (within - self.starts[rows]) / (self.starts[rows + 1] - self.starts[rows])
        slot_s = self.own_s[rows + 1] - self.own_s[rows]
        moments: Floats = rounds * self.own_s[-1] + self.own_s[rows] + share * slot_s
        return moments


def plan_of(
    trace_s: Floats,
    *,
    rate_scale: float = 1.0,
    duration_s: float | None = None,
    requests: int | None = None,
    start_s: float = 0.0,
    warp_to_s: float | None = None,
    keep_rate: bool = False,
    rounds: int = 1,
) -> Plan:
    """The replay of a trace with these sorted arrivals [s]; see `sims.parts.traces.Trace`. Raises ValueError.

    Notes
    -----
    A trace of n requests that span s lasts n/(n − 1)·s: its last request is followed by a gap of the mean length. With
    ``keep_rate`` request i of n comes ⌊(i + 1)·c⌋ − ⌊i·c⌋ times, where c = ``rate_scale``·``warp_to_s`` / length.
    """
    if rounds < 1 or not rate_scale > 0 or not (warp_to_s is None or warp_to_s > 0):
        raise ValueError("rounds, rate_scale and warp_to_s must be above 0")
    if warp_to_s is None and keep_rate:
        raise ValueError("keep_rate says how a trace is warped: give warp_to_s")
    if warp_to_s is not None and not keep_rate and rate_scale != 1.0:
        raise ValueError("rate_scale must be 1 where the same requests are warped: their number gives the rate")
    first = int(np.searchsorted(trace_s, trace_s[0] + start_s)) if len(trace_s) else 0
    rows = len(trace_s) - first
    if rows == 0:
        return Plan(first, np.zeros(1), np.zeros(1, np.int64), 1, 0)
    own_s = trace_s[first:] - trace_s[first]
    length_s = float(own_s[-1]) * rows / (rows - 1) if rows > 1 and own_s[-1] > 0 else INSTANT_S
    speed = rate_scale if warp_to_s is None else length_s / warp_to_s
    copies = rate_scale / speed if keep_rate else 1.0
    starts = np.floor(np.arange(rows + 1) * copies + 1e-9).astype(np.int64)
    count = rounds * int(starts[-1])
    count = count if requests is None else min(count, requests)
    plan = Plan(first, np.append(own_s, length_s) / speed, starts, max(1, math.ceil(copies - 1e-9)), count)
    return plan if duration_s is None else _until(plan, duration_s)


def _until(plan: Plan, until_s: float) -> Plan:
    """The part of a replay up to a moment."""
    low, high = 0, plan.count
    while low < high:
        middle = (low + high) // 2
        if plan.at_s(np.array([middle]))[0] <= until_s:
            low = middle + 1
        else:
            high = middle
    return Plan(plan.first, plan.own_s, plan.starts, plan.copies, low)

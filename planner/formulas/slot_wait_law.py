"""The law of the wait for a slot: about the balance at random, tilted by how slots come and go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from planner.formulas.busy_periods import ResidenceLaw
from planner.formulas.distinct import Distinct
from planner.formulas.slot_cycles import Cycles

Array = NDArray[np.float64]

_POINTS = 48
_SPREADS = 6.0
_LONGER_HOLDS = 3
"""Power of the mean hold by which its squared coefficient of variation falls below that of a single request."""
_QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class SlotWaits:
    """How long requests wait for a slot.

    Parameters
    ----------
    mean_s : over all requests [s]
    waiting : share of the requests that wait [1]
    p50_s, p90_s, p99_s : quantiles over all requests [s]
    different : adapters that would run at once with slots for all
    full : share of the time in which an adapter without a slot finds none [1]
    """

    mean_s: float
    waiting: float
    p50_s: float
    p90_s: float
    p99_s: float
    different: Distinct
    full: float


def moving_waits(
    at: Callable[[Array], Cycles],
    centres: Array,
    slots: NDArray[np.int64],
    different: Distinct,
    law: ResidenceLaw,
    residence_s: float,
) -> list[SlotWaits]:
    """Law of the wait for each number of slots, about the wait at which they are in balance.

    Parameters
    ----------
    at : cycles of the adapters by wait, in units of S
    centres : waits in balance, in units of S [1]
    slots : G of each [1]
    different : adapters that would run at once with slots for all
    law : of the residence times
    residence_s : S [s]

    Notes
    -----
    The density of `planner.formulas.slot_cliff.slot_waits`, summed on points up to six deviations about its centre.

    References
    ----------
    S. Karlin, H. M. Taylor, "A Second Course in Stochastic Processes", 1981, section 15.5 (stationary density of a
    diffusion).
    """
    spreads, hold = _spreads(at, centres), _hold(at(centres))
    ends = np.maximum(centres - _SPREADS * spreads, 0.0), centres + _SPREADS * spreads
    waits = np.linspace(*ends, _POINTS, axis=1)
    cycle = at(waits)
    holds = _hold(cycle)
    noise = (1.0 + law.scv / np.maximum(hold, 1.0) ** _LONGER_HOLDS) / 2.0
    tilt = (cycle.busy - slots[:, None]) / holds / noise[:, None]
    step = (waits[:, 1] - waits[:, 0])[:, None]
    climbs = np.cumsum((tilt[:, 1:] + tilt[:, :-1]) / 2 * step, axis=1)
    logs = np.concatenate((np.zeros((len(slots), 1)), climbs), axis=1) + np.log(slots[:, None] / holds * step)
    below = np.where(waits[:, 0] <= 0, [_below(int(count), different) for count in slots], -np.inf)
    highest = np.maximum(logs.max(axis=1), below)
    weights = np.exp(logs - highest[:, None])
    weights[:, [0, -1]] /= 2
    mass = weights / (weights.sum(axis=1) + np.exp(below - highest))[:, None]
    return [
        _of_law(*each, different, residence_s) for each in zip(waits, mass, *_of_cycle(cycle, waits, mass), strict=True)
    ]


def _of_cycle(cycle: Cycles, waits: Array, mass: Array) -> tuple[list[float], list[float]]:
    """Of `Cycles`, at the mean wait: requests that start a cycle, and those that come during a wait of one unit."""
    at = (mass * waits).sum(axis=1)
    return (
        [float(np.interp(*each)) for each in zip(at, waits, cycle.first, strict=True)],
        [float(np.interp(*each)) for each in zip(at, waits, cycle.while_waiting, strict=True)],
    )


def _of_law(
    waits: Array, mass: Array, first: float, during: float, different: Distinct, residence_s: float
) -> SlotWaits:
    """Over requests, from the law of the wait an adapter finds; what is missing of the mass to one waits not at all."""
    mean = first * float(mass @ waits) + during * float(mass @ waits**2) / 2
    times = np.concatenate(([0.0], waits))
    later = np.cumsum(mass[::-1])[::-1]
    over = np.concatenate((later[:1], later - mass / 2))
    # The sum of (wait - t) over longer waits, as two running sums.
    left = np.cumsum((mass * waits)[::-1])[::-1] - waits * later
    left = np.concatenate(([float(mass @ waits)], left))
    beyond = np.minimum(first * over + during * left, 1.0)
    p50, p90, p99 = np.interp(-(1.0 - np.array(_QUANTILES)), -beyond, times * residence_s).tolist()
    return SlotWaits(mean * residence_s, float(beyond[0]), p50, p90, p99, different, float(mass.sum()))


def _hold(cycle: Cycles) -> Array:
    return cycle.busy / cycle.activations


def _spreads(at: Callable[[Array], Cycles], centres: Array) -> Array:
    """Deviations of the wait: sqrt(tau / -da/dW)."""
    ends = np.stack((centres, centres * 1.01 + 0.01))
    cycle = at(ends)
    slope = (cycle.busy[0] - cycle.busy[1]) / (ends[1] - ends[0])
    spreads: Array = np.sqrt(cycle.busy[0] / cycle.activations[0] / np.maximum(slope, 1e-12))
    return spreads


def _below(slots: int, different: Distinct) -> float:
    """Logarithm of the weight of all states with a free slot, that of a slot just taken being one."""
    if different.deviation <= 0:
        return 0.0
    z = (slots - different.mean) / different.deviation
    return math.log(different.deviation * math.sqrt(2 * math.pi)) + float(log_ndtr(z)) + z * z / 2

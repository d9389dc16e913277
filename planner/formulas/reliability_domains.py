"""Units that are lost together: with their node, their rack, their power zone.

What holds units is nested: a zone holds racks, a rack nodes, a node units. Each is up or down on its own; a unit is up
when all that holds it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

Array = NDArray[np.float64]
_DIRECT = 4_000_000
"""Products of a convolution up to which it is done one by one, which keeps the smallest probabilities exact."""


@dataclass(frozen=True, slots=True)
class Level:
    """Something units stand in and are lost with: how many it holds, and the share of time it is up.

    Units are dealt over at least so many of them within what holds those, and fill them one by one where that is not
    enough.
    """

    units: int
    up: float
    at_least: int = 1


def up_alone(causes: Iterable[tuple[float, float, float]]) -> float:
    """Share of time in which nothing of a unit has failed.

    Parameters
    ----------
    causes : of each cause how many parts can fail [1], failures of one part [1/h], and the time back [h]

    Notes
    -----
    A = 1 / (1 + sum of n r R): alternating renewal, in which what is down does not fail again.

    References
    ----------
    R. E. Barlow, F. Proschan, "Mathematical Theory of Reliability", 1965, section 3.3.

    >>> round(up_alone([(18, 5e-5, 0.75), (144, 1.2e-5, 0.75)]), 6)
    0.998033
    """
    return 1 / (1 + math.fsum(parts * failures_per_h * repair_h for parts, failures_per_h, repair_h in causes))


def nested(
    *,
    nodes_per_unit: int,
    units_per_node: int,
    nodes_per_rack: int,
    racks_per_zone: int,
    own_up: float,
    node_up: float,
    rack_up: float,
    zone_up: float,
    racks: int = 1,
    zones: int = 1,
) -> tuple[Level, ...]:
    """The levels units stand in, innermost first: the unit itself, node, rack, zone.

    Parameters
    ----------
    nodes_per_unit, units_per_node : one of the two is 1
    nodes_per_rack, racks_per_zone : how many fit
    own_up : share of time in which nothing of a unit alone has failed (with its nodes where it spans several) [1]
    node_up, rack_up, zone_up : of one node that units share, one rack, one zone [1]
    racks, zones : over how many the units are dealt at least [1]

    Notes
    -----
    Units are not cut at the edge of what holds them: a unit larger than a rack takes racks of its own, and is up when
    they all are, which multiplies; so does one larger than a zone.

    References
    ----------
    R. E. Barlow, F. Proschan, "Statistical Theory of Reliability and Life Testing", 1975, section 1.2 (series systems).

    >>> levels = nested(nodes_per_unit=18, units_per_node=1, nodes_per_rack=4, racks_per_zone=8, own_up=0.99,
    ...                 node_up=1.0, rack_up=0.9, zone_up=0.8)
    >>> [(level.units, round(level.up, 3)) for level in levels]
    [(1, 0.99), (1, 1.0), (1, 0.59), (1, 0.8)]
    """
    per_rack = units_per_node * max(nodes_per_rack // nodes_per_unit, 1)
    racks_of_one = math.ceil(nodes_per_unit / nodes_per_rack)
    per_zone = per_rack * max(racks_per_zone // racks_of_one, 1)
    zones_of_one = math.ceil(racks_of_one / racks_per_zone)
    return (
        Level(1, own_up),
        Level(units_per_node, node_up),
        Level(per_rack, rack_up**racks_of_one, math.ceil(racks / zones)),
        Level(per_zone, zone_up**zones_of_one, zones),
    )


def unit_up(levels: Sequence[Level]) -> float:
    """Share of time in which one unit is up.

    >>> round(unit_up([Level(1, 0.9), Level(4, 0.9)]), 2)
    0.81
    """
    return math.prod(level.up for level in levels)


def most_together(units: int, *, levels: Sequence[Level]) -> tuple[int, ...]:
    """The most units that one of each level holds, innermost first.

    >>> most_together(10, levels=[Level(1, 1.0), Level(4, 1.0), Level(32, 1.0, at_least=3)])
    (1, 4, 4)
    """
    found: list[int] = []
    for level in reversed(levels):
        dealt = math.ceil(units / level.at_least)
        units = dealt if dealt <= level.units else min(units, level.units)
        found.append(units)
    return tuple(reversed(found))


def units_up(units: int, *, levels: Sequence[Level]) -> Array:
    """Probability that exactly j of the units are up, j from 0 on.

    Parameters
    ----------
    units : how many there are [1]
    levels : what holds them, innermost first; each holds a whole number of the one before

    Returns
    -------
    [1], of length ``units`` + 1

    Notes
    -----
    What is up of two things that fail apart is the convolution of what is up of each. A level of which each is up with
    probability a has the distribution of its contents with weight a, and none up with weight 1 - a: the common shock of
    Marshall and Olkin. Without levels all are up.

    References
    ----------
    R. E. Barlow, K. D. Heidtmann, "Computing k-out-of-n System Reliability", IEEE Transactions on Reliability R-33,
    1984, pp. 322-323 (generating function of components that differ); A. W. Marshall, I. Olkin, "A Multivariate
    Exponential Distribution", Journal of the American Statistical Association 62, 1967, pp. 30-44 (shocks in common).

    >>> [float(round(each, 3)) for each in units_up(2, levels=[Level(1, 0.9), Level(2, 0.8)])]
    [0.208, 0.144, 0.648]
    """
    if not levels or units == 0:
        return np.concatenate((np.zeros(units), [1.0]))
    groups = min(levels[-1].at_least, units)
    if groups > 1 and math.ceil(units / groups) <= levels[-1].units:
        each, more = divmod(units, groups)
        few = _power(_held(each, levels), groups - more)
        return _both(few, _power(_held(each + 1, levels), more)) if more else few
    full, rest = divmod(units, levels[-1].units)
    if not full:
        return _held(rest, levels)
    found = _power(_held(levels[-1].units, levels), full)
    return _both(found, _held(rest, levels)) if rest else found


def short_of(needed: int, *, units: int, levels: Sequence[Level]) -> float:
    """Share of time in which fewer than ``needed`` of the units are up.

    >>> round(short_of(1, units=2, levels=[Level(1, 0.9), Level(2, 0.8)]), 3)
    0.208
    """
    if needed <= 0:
        return 0.0
    if needed > units:
        return 1.0
    return min(math.fsum(units_up(units, levels=levels)[:needed]), 1.0)


def spares_for(needed: int, *, levels: Sequence[Level], target: float, at_most: int) -> int | None:
    """Fewest units beyond the needed ones that carry the need for the target share of time; None above ``at_most``.

    Notes
    -----
    Found by doubling and halving: another unit takes nothing from those there are, so the share only grows.

    References
    ----------
    R. E. Barlow, F. Proschan, "Statistical Theory of Reliability and Life Testing", 1975, section 1.2 (k-out-of-n
    structures are coherent).

    >>> levels = [Level(1, 0.999), Level(4, 0.9999)]
    >>> spares_for(3, levels=levels, target=0.999, at_most=50), spares_for(3, levels=levels, target=0.99999, at_most=50)
    (1, 4)
    """

    def enough(spares: int) -> bool:
        return 1 - short_of(needed, units=needed + spares, levels=levels) >= target

    low, high = -1, 0
    while not enough(high):
        if high >= at_most:
            return None
        low, high = high, min(max(2 * high, 1), at_most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _held(units: int, levels: Sequence[Level]) -> Array:
    """What is up of the units that one of the outermost level holds."""
    up = levels[-1].up
    found = up * units_up(units, levels=levels[:-1])
    found[0] += 1 - up
    return found


def _power(base: Array, times: int) -> Array:
    """The distribution of a sum of so many alike, by squaring."""
    found = np.ones(1)
    while times:
        if times & 1:
            found = _both(found, base)
        times >>= 1
        if times:
            base = _both(base, base)
    return found


def _both(one: Array, other: Array) -> Array:
    if one.size * other.size <= _DIRECT:
        return np.convolve(one, other)
    found: Array = np.maximum(fftconvolve(one, other), 0.0)
    return found

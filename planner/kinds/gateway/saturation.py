"""The request rate that saturates the instances: more requests share the caches, so that less of each is found."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from planner.kinds.gateway.service import request_s
from planner.kinds.gateway.spec import GatewaySpec

LEAST_REQUEST_S = 1e-9
"""A request that computes nothing still takes a moment."""
LEAST_RPS = 1e-9
_NEAR = 1e-14
_ALIKE = 0.01
_ROUNDS = 4

Point = tuple[float, float]
"""A rate and the tokens a request computes at it."""


def saturation_rps(
    spec: GatewaySpec, *, computed: Callable[[float], float], skew: float, start_rps: float, start_tokens: float
) -> float:
    """Where the rate equals N over the time of a request at that rate, over the load of the fullest instance.

    Parameters
    ----------
    computed : tokens a request computes at a rate [tokens]
    skew : load of the fullest instance where nothing passes it on, else 1 [means]
    start_rps, start_tokens : a point that is known [1/s, tokens]

    Notes
    -----
    Tokens are taken as linear in the logarithm of the rate between the closest points on either side of saturation, or
    the last two; a new point is taken where that line crosses, until it moves by less than a hundredth.
    """

    def carried(tokens: float) -> float:
        each_s = max(request_s(spec, computed_tokens=tokens), LEAST_REQUEST_S)
        return max(spec.instances / each_s / skew, LEAST_RPS)

    points = [(start_rps, start_tokens)]
    rate = carried(start_tokens)
    for _ in range(_ROUNDS):
        if abs(math.log(rate / points[-1][0])) < _ALIKE:
            break
        points.append((rate, computed(rate)))
        rate = _crossing(*_around(points, carried=carried), carried=carried)
    return rate


def _around(points: list[Point], *, carried: Callable[[float], float]) -> tuple[Point, Point]:
    """The closest points below and above saturation; the last two where all are on one side."""
    below = [point for point in points if carried(point[1]) > point[0]]
    above = [point for point in points if carried(point[1]) <= point[0]]
    if below and above:
        return max(below), min(above)
    return points[-2], points[-1]


def _crossing(one: Point, other: Point, *, carried: Callable[[float], float]) -> float:
    """Where the line through two points meets what can be carried."""
    at, tokens = math.log(one[0]), one[1]
    slope = (other[1] - tokens) / (math.log(other[0]) - at)
    least, most = sorted((one[1], other[1]))
    low, high = math.log(LEAST_RPS), max(at, math.log(other[0])) + 10.0

    def room(middle: float) -> float:
        asked = min(max(tokens + slope * (middle - at), least / 2), 2 * most)
        return math.log(carried(asked)) - middle

    if room(low) <= 0 or room(high) >= 0:
        return math.exp(low if room(low) <= 0 else high)
    return math.exp(brentq(room, low, high, xtol=_NEAR))

"""More than the instances can do: what a queue limit keeps of the goodput, and who is shed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.formulas import shedding
from planner.kinds.gateway.policies import Outcome
from planner.kinds.gateway.spec import GatewaySpec
from planner.kinds.gateway.waits import UNCAPPED

MOST_DEADLINE = 2000.0
"""Service times; beyond it a queue limit makes no difference that can be told."""
UNBOUNDED = ("prefix_aware", UNCAPPED)
"""Policies whose fullest instance saturates before the others; all count as if they were as full."""


@dataclass(frozen=True, slots=True)
class Overload:
    """An instance as a queue M/M/1/K that gives each request its prefill and its part of decode.

    Loads are multiples of what saturates the instances, decode included: as the rate grows both grow together, and the
    caches hold less of each session.
    """

    deadline: float
    """The objective in times of a request."""
    limit: int
    """Queue limit in use: the stated one, or the best for the overload asked about."""
    best_limit: int
    saturation_rps: float
    goodput_rps: float
    """Requests inside the objective at the overload, with the limit."""
    goodput_unlimited_rps: float
    turned_away: float
    urgent_shed: float
    other_shed: float

    def goodputs_at(self, loads: Sequence[float], *, limit: int | None) -> list[float]:
        """Goodput [req/s] at some loads."""
        found = shedding.goodputs(loads, limit=limit, deadline=self.deadline)
        return [self.saturation_rps * each for each in found]


def overload_of(spec: GatewaySpec, *, chosen: Outcome) -> Overload:
    """Past saturation with the hits of the policy of the spec."""
    saturation = chosen.capacity_rps
    each_s = spec.instances / (saturation * (chosen.skew if chosen.name in UNBOUNDED else 1.0))
    factor, deadline = spec.overload_factor, min(spec.ttft_p99_slo_s / each_s, MOST_DEADLINE)
    best = shedding.best_limit(factor, deadline=deadline)
    limit = spec.queue_limit or best
    urgent, other = shedding.shed_shares([factor * spec.urgent_share, factor * (1 - spec.urgent_share)])
    return Overload(
        deadline=deadline,
        limit=limit,
        best_limit=best,
        saturation_rps=saturation,
        goodput_rps=saturation * shedding.goodput(factor, limit=limit, deadline=deadline),
        goodput_unlimited_rps=saturation * shedding.goodput(factor, limit=None, deadline=deadline),
        turned_away=shedding.turned_away(factor, limit=limit),
        urgent_shed=urgent,
        other_shed=other,
    )

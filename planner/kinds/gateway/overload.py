"""More than the instances can do: what a queue limit keeps of the goodput, and who is shed."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import shedding
from planner.kinds.gateway.policies import Outcome
from planner.kinds.gateway.spec import GatewaySpec

MOST_DEADLINE = 2000.0
"""Service times; beyond it a queue limit makes no difference that can be told."""
LEAST_SERVICE_S = 1e-9


@dataclass(frozen=True, slots=True)
class Overload:
    """The prefill queue of an instance as M/M/1/K, loads in multiples of what saturates it."""

    service_s: float | None
    deadline: float
    """The objective in service times."""
    limit: int
    """Queue limit in use: the stated one, or the best for the overload asked about."""
    best_limit: int
    saturation_rps: float | None
    """Rate that saturates prefill beside the decode of the peak."""
    goodput_rps: float | None
    """Requests inside the objective at the overload, with the limit."""
    goodput_unlimited_rps: float | None
    turned_away: float
    urgent_shed: float
    other_shed: float

    def goodput_at(self, load: float, *, limit: int | None) -> float | None:
        """Goodput [req/s] at a load; None without a service time."""
        if self.saturation_rps is None:
            return None
        return self.saturation_rps * shedding.goodput(load, limit=limit, deadline=self.deadline)


def overload_of(spec: GatewaySpec, *, chosen: Outcome) -> Overload:
    """Past saturation with the policy of the spec."""
    mean_s, factor = chosen.service.mean_s, spec.overload_factor
    if mean_s is None or mean_s <= LEAST_SERVICE_S:
        return Overload(None, 0.0, spec.queue_limit or 1, 1, None, None, None, 0.0, 0.0, 0.0)
    deadline = min(spec.ttft_p99_slo_s / mean_s, MOST_DEADLINE)
    best = shedding.best_limit(factor, deadline=deadline)
    limit = spec.queue_limit or best
    saturation = spec.instances / mean_s
    urgent, other = shedding.shed_shares([factor * spec.urgent_share, factor * (1 - spec.urgent_share)])
    return Overload(
        service_s=mean_s,
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

"""The bill: replicas by what they are for, instances if they are priced, traffic; the parts sum to it exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.formulas import cost
from planner.kinds.gateway.load import Load
from planner.kinds.gateway.replicas import Sizing
from planner.kinds.gateway.spec import GatewaySpec

PARTS = ("replicas_used", "instances", "egress", "replicas_spare", "replicas_headroom")
GB = 1e9


@dataclass(frozen=True, slots=True)
class Bill:
    """What an hour at the peak costs, and its parts."""

    usd_per_h: float
    parts: Mapping[str, float]

    def per_m_requests(self, rps: float) -> float | None:
        """The bill over a million requests; None without requests."""
        return cost.usd_per_million_tokens(self.usd_per_h, tokens_per_s=rps)

    def per_m_tokens(self, tokens_per_s: float) -> float | None:
        """The bill over a million tokens; None without tokens."""
        return cost.usd_per_million_tokens(self.usd_per_h, tokens_per_s=tokens_per_s)


def bill_of(spec: GatewaySpec, *, load: Load, sizing: Sizing) -> Bill:
    """Replicas at their price, instances where one is given, and traffic by the gigabyte."""
    price = spec.replica_usd_per_h
    replicas = sizing.replicas * price
    instances = spec.instances * (spec.instance_usd_per_h or 0.0)
    egress = load.egress_bytes_per_s * 3600 / GB * spec.egress_usd_per_gb
    total = replicas + instances + egress
    spare = min(spec.spare_replicas, max(sizing.replicas - 1, 0)) * price
    used = min(sizing.replicas * sizing.busiest_share, float(sizing.replicas)) * price
    parts = {
        "replicas_used": min(used, replicas - spare),
        "instances": instances,
        "egress": egress,
        "replicas_spare": spare,
    }
    return Bill(total, cost.exact_parts(total, parts=parts, remainder="replicas_headroom"))

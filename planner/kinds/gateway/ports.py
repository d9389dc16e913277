"""What a gateway gives to the designs behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.ports import Offer, Ports, Take
from planner.core.result import Result
from planner.kinds.gateway.spec import GatewaySpec


def _rate(spec: GatewaySpec, _result: Result) -> float:
    return spec.peak_rps


def _hits(_spec: GatewaySpec, result: Result) -> float | None:
    return result.value("hit_share")


def _surge(_spec: GatewaySpec, result: Result) -> float | None:
    """How much busier the instances are just after one is lost: its share, and what has to be computed again."""
    before, after = result.value("instance_utilisation"), result.value("utilisation_after_loss")
    return max(0.0, after / before - 1) if before and after is not None else None


def _asked(_spec: Any, rate: float) -> Mapping[str, Any]:
    return {"peak_rps": rate}


_BEHIND = ("instance",)
PORTS = Ports(
    offers=(
        Offer("request_rate", _rate, absorbed=_BEHIND),
        Offer("prefix_hit_rate", _hits, absorbed=_BEHIND),
        Offer("surge", _surge, absorbed=_BEHIND),
    ),
    takes=(Take("request_rate", _asked),),
)

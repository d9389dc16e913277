"""What a serving fleet takes from what stands before and under it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.ports import Offer, Ports, Take
from planner.core.result import Result
from planner.kinds.llm_serving.spec import LlmServingSpec


def _rate(spec: LlmServingSpec, _result: Result) -> float:
    return spec.peak_rps


def _asked(_spec: LlmServingSpec, rate: float) -> Mapping[str, Any]:
    return {"peak_rps": rate}


def _hits(_spec: LlmServingSpec, share: float) -> Mapping[str, Any]:
    return {"prefix_hit_rate": min(max(share, 0.0), 1.0)}


def _surge(spec: LlmServingSpec, share: float) -> Mapping[str, Any]:
    """The headroom has to hold it."""
    return {"headroom": share} if share > spec.headroom else {}


PORTS = Ports(
    offers=(Offer("request_rate", _rate),),
    takes=(Take("request_rate", _asked), Take("prefix_hit_rate", _hits), Take("surge", _surge)),
    lends=True,
)

"""What a fleet of adapters takes from the gateway before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.ports import Offer, Ports, Take
from planner.core.result import Result
from planner.kinds.multi_lora.spec import MultiLoraSpec


def _rate(spec: MultiLoraSpec, _result: Result) -> float:
    return spec.requests_per_s


def _asked(_spec: MultiLoraSpec, rate: float) -> Mapping[str, Any]:
    return {"requests_per_s": rate}


PORTS = Ports(
    offers=(Offer("request_rate", _rate),),
    takes=(Take("request_rate", _asked),),
    lends=True,
)

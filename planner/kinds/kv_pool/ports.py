"""What a pool of KV caches gives to the fleet above it: its prefill units are that fleet's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.ports import Offer, Ports, Take
from planner.core.result import Result
from planner.kinds.kv_pool.spec import KvPoolSpec


def _hits(_spec: KvPoolSpec, result: Result) -> float | None:
    return result.value("prefix_hit_rate")


def _asked(_spec: Any, rate: float) -> Mapping[str, Any]:
    return {"turns_per_s": rate}


PORTS = Ports(
    offers=(Offer("prefix_hit_rate", _hits, absorbed=("prefill",)),),
    takes=(Take("request_rate", _asked),),
)

"""What one replica takes from the cache beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.ports import Ports, Take


def _hits(_spec: Any, share: float) -> Mapping[str, Any]:
    return {"prefix_hit_rate": min(max(share, 0.0), 1.0)}


def _asked(_spec: Any, rate: float) -> Mapping[str, Any]:
    """A rate takes the place of a number of clients."""
    return {"rate_rps": rate, "concurrency": None}


PORTS = Ports(takes=(Take("prefix_hit_rate", _hits), Take("request_rate", _asked)))

"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning, Uncertain
from planner.kinds.engine_instance import batch, bought, levers
from planner.kinds.engine_instance.launch import LAUNCHER
from planner.kinds.engine_instance.ports import PORTS

UNCERTAIN = Uncertain(("input_tokens", "output_tokens", "prefix_hit_rate", "concurrency", "rate_rps"))
PLANNING = Planning(
    fleet=bought.fleet,
    search=levers.SEARCH,
    batch=batch.batch,
    launch=LAUNCHER,
    uncertain=UNCERTAIN,
    ports=PORTS,
)

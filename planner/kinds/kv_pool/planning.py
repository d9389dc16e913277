"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning, Uncertain
from planner.kinds.kv_pool import bought, levers
from planner.kinds.kv_pool.launch import LAUNCHER
from planner.kinds.kv_pool.ports import PORTS

UNCERTAIN = Uncertain(("turns_per_s", "context_tokens", "new_tokens", "output_tokens", "continue_probability", "gap_s"))
PLANNING = Planning(
    fleet=bought.fleet,
    launch=LAUNCHER,
    search=levers.SEARCH,
    uncertain=UNCERTAIN,
    ports=PORTS,
)

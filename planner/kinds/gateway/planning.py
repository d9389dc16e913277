"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning, Uncertain
from planner.kinds.gateway import bought, levers
from planner.kinds.gateway.launch import LAUNCHER
from planner.kinds.gateway.ports import PORTS

UNCERTAIN = Uncertain(("peak_rps", "input_tokens", "output_tokens", "prefix_tokens", "turns", "ttft_s", "tpot_s"))
PLANNING = Planning(
    fleet=bought.fleet,
    launch=LAUNCHER,
    search=levers.SEARCH,
    uncertain=UNCERTAIN,
    ports=PORTS,
)

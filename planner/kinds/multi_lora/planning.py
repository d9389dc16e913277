"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning, Uncertain
from planner.kinds.multi_lora import bought, levers
from planner.kinds.multi_lora.launch import LAUNCHER
from planner.kinds.multi_lora.ports import PORTS

UNCERTAIN = Uncertain(("requests_per_s", "input_tokens", "output_tokens", "prefix_share", "zipf_exponent"))
PLANNING = Planning(
    fleet=bought.fleet,
    launch=LAUNCHER,
    search=levers.SEARCH,
    uncertain=UNCERTAIN,
    ports=PORTS,
)

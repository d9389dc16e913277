"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning, Uncertain
from planner.kinds.rl_rollout import bought, levers
from planner.kinds.rl_rollout.launch import LAUNCHER
from planner.kinds.rl_rollout.ports import PORTS

UNCERTAIN = Uncertain(("prompt_tokens", "output_tokens", "length_cv", "train_step_s", "rate_tokens_per_s"))
PLANNING = Planning(
    fleet=bought.fleet,
    launch=LAUNCHER,
    search=levers.SEARCH,
    uncertain=UNCERTAIN,
    ports=PORTS,
)

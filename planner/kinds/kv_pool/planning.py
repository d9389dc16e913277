"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning
from planner.kinds.kv_pool import bought

PLANNING = Planning(fleet=bought.fleet)

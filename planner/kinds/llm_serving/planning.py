"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from planner.core.planning import Planning
from planner.kinds.llm_serving import bought, levers

PLANNING = Planning(fleet=bought.fleet, search=levers.SEARCH)

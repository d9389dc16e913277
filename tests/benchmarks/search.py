"""The cheapest fleet for the reference workload, over every GPU with a price."""

from __future__ import annotations

from functools import cache

from planner import kinds
from planner.catalog import files
from planner.core import optimise
from planner.core.catalog import Catalog
from planner.core.sweep_goal import read_goal

SLUG = "llm_serving"


@cache
def _catalog() -> Catalog:
    return files.load()


def reference() -> float:
    """Points that are judged: estimated, or rejected by a bound, one for each reason."""
    kind, catalog = kinds.get(SLUG), _catalog()
    search, base = kinds.planning(SLUG).search, kind.spec()
    if search is None:
        raise RuntimeError("the kind has no search")
    goal = read_goal(kind, result=kind.estimate(base, catalog), objective=search.objective)
    return float(len(optimise.find(kind, base=base, search=search, goal=goal, catalog=catalog).sweep.points))

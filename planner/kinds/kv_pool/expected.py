"""The estimate of a run: the design's fleet under the load of the run, with caches that were empty at its start."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.simulation import SimulationRequest
from planner.kinds.kv_pool.estimate import answer
from planner.kinds.kv_pool.run_plan import prepare
from planner.kinds.kv_pool.spec import KvPoolSpec


def expected(spec: KvPoolSpec, catalog: Catalog, request: SimulationRequest) -> Result:
    """Hits of what came back since the start, work and waits of the measuring window.

    Raises
    ------
    ValueError
        When an option is impossible; the message names it.
    """
    return answer(prepare(spec, catalog=catalog, request=request).made)

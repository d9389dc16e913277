"""This system as the driver sees it: its loop, its one pool that grows, what it tells, and the orders it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.batches import pooled
from sims.engine.plane import Chunk, StatePlane
from sims.engine.run import MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.records import doubled
from sims.systems.llm_serving import aggregated, disaggregated, faults
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.state import State


class ServingPlane(StatePlane[State]):
    """The loop of the topology, and the orders of the control plane."""

    def __init__(
        self, config: Config, *, state: State, chunks: Iterator[Chunk], horizon_s: float, most_in_flight: int
    ) -> None:
        super().__init__(state, chunks=chunks, horizon_s=horizon_s)
        self._config = config
        self._most_in_flight = most_in_flight
        self._advance = aggregated.advance if config.aggregated else disaggregated.advance

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(self._advance(self.state, until_s, most_events))

    def _grow(self, code: int) -> None:  # noqa: ARG002 - only requests can run short
        if len(self.state.requests) >= self._most_in_flight:
            raise MemoryBudgetError
        self.state = self.state._replace(requests=doubled(self.state.requests, book=self.state.totals[0]))

    def partial(self) -> Mapping[str, Any]:
        """Percentiles so far, from the warm part of the run."""
        state, totals = self.state, self.state.totals[0]
        return {
            "ttft_p50_s": percentile(pooled(state.ttft), q=0.5),
            "ttft_p99_s": percentile(pooled(state.ttft), q=0.99),
            "tpot_p50_s": percentile(pooled(state.tpot), q=0.5),
            "tpot_p99_s": percentile(pooled(state.tpot), q=0.99),
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_in_flight": int(totals.in_flight),
        }

    def halt(self, unit: int, *, now_s: float) -> None:
        """A decode unit (or replica) fails."""
        stop = faults.halt_replica if self._config.aggregated else faults.halt_unit
        stop(self.state, int(unit), float(now_s))

    def isolate(self, unit: int, *, now_s: float) -> None:
        """Its failure is known: move its requests."""
        stop = faults.isolate_replica if self._config.aggregated else faults.isolate_unit
        stop(self.state, int(unit), float(now_s))

    def rejoin(self, unit: int, *, now_s: float) -> None:
        """Put it back."""
        back = faults.rejoin_replica if self._config.aggregated else faults.rejoin_unit
        back(self.state, int(unit), float(now_s))

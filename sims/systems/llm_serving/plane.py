"""This system as the driver sees it: feeds arrivals, grows the pool, answers how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.run import LIMIT, WANTS_ARRIVALS, WANTS_SLOTS, MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.arrivals import Chunk
from sims.systems.llm_serving import aggregated, disaggregated, faults
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.state import State, feed, grown
from sims.systems.llm_serving.timeline import HasState


class ServingPlane(HasState):
    """The state with its loop; see `sims.engine.run.Plane`."""

    def __init__(
        self, config: Config, *, state: State, chunks: Iterator[Chunk], horizon_s: float, most_in_flight: int
    ) -> None:
        self.state = state
        self._config = config
        self._chunks = chunks
        self._horizon_s = horizon_s
        self._most_in_flight = most_in_flight
        self._loop = aggregated.advance if config.aggregated else disaggregated.advance

    def advance(self, until_s: float, most_events: int) -> int:
        """Handle events up to ``until_s``, ``most_events`` of them however often arrivals or slots must be fetched."""
        last = self.events() + most_events
        while (left := last - self.events()) > 0:
            code = int(self._loop(self.state, float(until_s), int(left)))
            if code == WANTS_ARRIVALS:
                feed(self.state, next(self._chunks, None))
            elif code == WANTS_SLOTS:
                if len(self.state.requests) >= self._most_in_flight:
                    raise MemoryBudgetError
                self.state = grown(self.state)
            else:
                return code
        return LIMIT

    def is_done(self) -> bool:
        """Whether all have arrived and left."""
        totals = self.state.totals[0]
        return bool(totals.more == 0 and totals.next_arrival >= totals.arrivals and totals.in_flight == 0)

    def simulated_s(self) -> float:
        return float(self.state.totals[0].now_s)

    def events(self) -> int:
        return int(self.state.totals[0].events)

    def fraction(self, now_s: float) -> float:
        """By simulated time; a draining system is almost done."""
        return min(1.0, now_s / self._horizon_s) if self._horizon_s > 0 else 1.0

    def partial(self) -> Mapping[str, Any]:
        """Percentiles so far, from the warm part of the run."""
        state, totals = self.state, self.state.totals[0]
        return {
            "ttft_p50_s": percentile(state.ttft.sum(axis=0), q=0.5),
            "ttft_p99_s": percentile(state.ttft.sum(axis=0), q=0.99),
            "tpot_p50_s": percentile(state.tpot.sum(axis=0), q=0.5),
            "tpot_p99_s": percentile(state.tpot.sum(axis=0), q=0.99),
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

"""This system as the driver sees it: its loop, its one pool that grows, what it tells, and the orders it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sims.engine.batches import pooled
from sims.engine.plane import Chunk, StatePlane
from sims.engine.run import MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.adapter_meter import TPOT
from sims.parts.records import doubled
from sims.systems.multi_lora.config import Config
from sims.systems.multi_lora.loop import advance
from sims.systems.multi_lora.orders import HALT, ISOLATE, REJOIN, obey
from sims.systems.multi_lora.state import State, placement


class LoraPlane(StatePlane[State]):
    """The loop, a pool of requests that grows, and the orders of the control plane."""

    def __init__(
        self, config: Config, *, state: State, chunks: Iterator[Chunk], horizon_s: float, most_in_flight: int, seed: int
    ) -> None:
        super().__init__(state, chunks=chunks, horizon_s=horizon_s)
        self._config, self._seed, self._most_in_flight = config, seed, most_in_flight

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(advance(self.state, until_s, most_events))

    def _grow(self, code: int) -> None:  # noqa: ARG002 - only requests can run short
        if len(self.state.requests) >= self._most_in_flight:
            raise MemoryBudgetError
        self.state = self.state._replace(requests=doubled(self.state.requests, book=self.state.totals[0]))

    def partial(self) -> Mapping[str, Any]:
        """Figures so far, from the warm part of the run."""
        totals, ttft = self.state.totals[0], pooled(self.state.sketches[:TPOT])
        found = int(totals.hot + totals.warm + totals.cold)
        return {
            "ttft_p50_s": percentile(ttft, q=0.5),
            "ttft_p99_s": percentile(ttft, q=0.99),
            "slot_hit_rate": float(totals.hot / found) if found else None,
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_in_flight": int(totals.in_flight),
        }

    def halt(self, replica: int, *, now_s: float) -> None:
        """A replica fails."""
        obey(self.state, HALT, int(replica), float(now_s))

    def isolate(self, replica: int, *, now_s: float) -> None:
        """Its failure is known: its requests go to others."""
        obey(self.state, ISOLATE, int(replica), float(now_s))

    def rejoin(self, replica: int, *, now_s: float) -> None:
        """It is back."""
        obey(self.state, REJOIN, int(replica), float(now_s))

    def place_anew(self, since: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place adapters by the requests that came since ``since`` was counted; the count now."""
        came = self.state.came.copy()
        shares = (came - since)[:-1].astype(np.float64)
        if shares.sum() > 0:
            homes, copies = placement(self._config, shares / shares.sum(), seed=self._seed)
            self.state.homes[:], self.state.copies[:] = homes, copies
        return came

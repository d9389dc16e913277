"""This system as the driver sees it: its loop, its pools that grow, what it tells, and the orders it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.batches import pooled
from sims.engine.lists import END
from sims.engine.plane import StatePlane
from sims.engine.run import MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.holdings import with_entries
from sims.parts.records import doubled
from sims.parts.sessions import Turns
from sims.systems.kv_pool import faults, loop
from sims.systems.kv_pool.state import State, grown_store, margin, with_tickets


class PoolPlane(StatePlane[State]):
    """The loop, pools of requests and of cached runs that grow, and the orders of the control plane."""

    def __init__(
        self, *, state: State, chunks: Iterator[Turns], horizon_s: float, most_in_flight: int, most_entries: int
    ) -> None:
        super().__init__(state, chunks=chunks, horizon_s=horizon_s)
        self._most_in_flight = most_in_flight
        self._most_entries = most_entries

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(loop.advance(self.state, until_s, most_events))

    def _feed(self, chunk: Turns | None) -> None:
        super()._feed(chunk)
        if chunk is not None:
            self.state = with_tickets(self.state, chunk)

    def _grow(self, code: int) -> None:  # noqa: ARG002 - what is short shows in the state
        if self.state.totals[0].free == END:
            if len(self.state.requests) >= self._most_in_flight:
                raise MemoryBudgetError
            self.state = self.state._replace(requests=doubled(self.state.requests, book=self.state.totals[0]))
            return
        if len(self.state.store.entries) >= self._most_entries:
            raise MemoryBudgetError
        self.state = grown_store(self.state)

    def partial(self) -> Mapping[str, Any]:
        """Figures so far: of the warm part for latencies, of the whole run for counts."""
        state, totals, whole = self.state, self.state.totals[0], self.state.whole[0]
        return {
            "ttft_p50_s": percentile(pooled(state.ttft), q=0.5),
            "ttft_p99_s": percentile(pooled(state.ttft), q=0.99),
            "hit_share": float(whole.hit_tokens / whole.tokens) if whole.tokens else None,
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_in_flight": int(totals.in_flight),
        }

    def lose(self, node: int, *, now_s: float) -> None:
        """A node is gone."""
        faults.lose(self.state, int(node), float(now_s))
        self._settle(now_s)

    def _settle(self, now_s: float) -> None:
        """Evicting hands blocks down, which may take an entry for each node."""
        while self.state.store.book[0].entries_left <= margin(self.state) + 3 * len(self.state.nodes):
            self.state = self.state._replace(store=with_entries(self.state.store, len(self.state.store.entries)))
        faults.settle_all(self.state, float(now_s))

    def rejoin(self, node: int, *, now_s: float) -> None:
        """It is back, empty."""
        faults.rejoin(self.state, int(node), float(now_s))

    def switch(self, *, new_share: float, by_request: bool, quota: float | None, now_s: float) -> None:
        """Serve this share with the new version from now on."""
        params = self.state.params[0]
        params.new_share, params.by_request = new_share, int(by_request)
        params.new_quota = -1.0 if quota is None else quota
        self._settle(now_s)

    def purge_old(self) -> None:
        """Delete all that the old version has left."""
        faults.purge(self.state, 0)

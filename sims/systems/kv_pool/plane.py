"""This system as the driver sees it: feeds requests, grows its pools, answers how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.lists import END
from sims.engine.run import LIMIT, WANTS_ARRIVALS, WANTS_SLOTS, MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.holdings import with_entries
from sims.parts.sessions import Turns
from sims.systems.kv_pool import faults, loop
from sims.systems.kv_pool.state import State, feed, grown_requests, grown_store, margin


class PoolPlane:
    """The state with its loop; see `sims.engine.run.Plane`."""

    def __init__(
        self, *, state: State, chunks: Iterator[Turns], horizon_s: float, most_in_flight: int, most_entries: int
    ) -> None:
        self.state = state
        self._chunks = chunks
        self._horizon_s = horizon_s
        self._most_in_flight = most_in_flight
        self._most_entries = most_entries

    def advance(self, until_s: float, most_events: int) -> int:
        """Handle events up to ``until_s``, ``most_events`` of them however often requests or slots must be fetched."""
        last = self.events() + most_events
        while (left := last - self.events()) > 0:
            code = int(loop.advance(self.state, float(until_s), int(left)))
            if code == WANTS_ARRIVALS:
                self.state = feed(self.state, next(self._chunks, None))
            elif code == WANTS_SLOTS:
                self._grow()
            else:
                return code
        return LIMIT

    def _grow(self) -> None:
        if self.state.totals[0].free == END:
            if len(self.state.requests) >= self._most_in_flight:
                raise MemoryBudgetError
            self.state = grown_requests(self.state)
            return
        if len(self.state.store.entries) >= self._most_entries:
            raise MemoryBudgetError
        self.state = grown_store(self.state)

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
        """Figures so far: of the warm part for latencies, of the whole run for counts."""
        state, totals, whole = self.state, self.state.totals[0], self.state.whole[0]
        return {
            "ttft_p50_s": percentile(state.ttft.sum(axis=0), q=0.5),
            "ttft_p99_s": percentile(state.ttft.sum(axis=0), q=0.99),
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

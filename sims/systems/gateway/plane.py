"""This system as the driver sees it: feeds arrivals, grows pools, answers how far it is, takes orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.run import LIMIT, WANTS_ARRIVALS, WANTS_SLOTS, MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.conversations import Chunk
from sims.parts.meter import BATCHES
from sims.systems.gateway.loop import WANTS_ENTRIES, advance
from sims.systems.gateway.orders import CANARY, FAIL, JUDGE, REJOIN, obey
from sims.systems.gateway.state import State, feed, with_more_calls, with_more_entries

MOST_ENTRIES = 1 << 25


class GatewayPlane:
    """The state with its loop; see `sims.engine.run.Plane`."""

    def __init__(self, state: State, *, chunks: Iterator[Chunk], horizon_s: float, most_in_flight: int) -> None:
        self.state = state
        self._chunks = chunks
        self._horizon_s = horizon_s
        self._most_in_flight = most_in_flight

    def advance(self, until_s: float, most_events: int) -> int:
        """Handle events up to ``until_s``, ``most_events`` of them however often pools must grow."""
        last = self.events() + most_events
        while (left := last - self.events()) > 0:
            before = self.events()
            code = int(advance(self.state, float(until_s), int(left)))
            if code == WANTS_ARRIVALS:
                feed(self.state, next(self._chunks, None))
            elif code in (WANTS_SLOTS, WANTS_ENTRIES):
                self._grow(code)
            elif code != LIMIT or self.events() == before:
                return code
        return LIMIT

    def _grow(self, code: int) -> None:
        if code == WANTS_SLOTS:
            if len(self.state.calls) >= self._most_in_flight:
                raise MemoryBudgetError
            self.state = with_more_calls(self.state)
        else:
            if len(self.state.entries) >= MOST_ENTRIES:
                raise MemoryBudgetError
            self.state = with_more_entries(self.state)

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

    def fail(self, instance: int, *, hangs: bool, now_s: float) -> None:
        """An instance fails."""
        self._order(FAIL, instance, value=int(hangs), now_s=now_s)

    def rejoin(self, instance: int, *, now_s: float) -> None:
        """It is up again."""
        self._order(REJOIN, instance, now_s=now_s)

    def judge(self, instance: int, *, out: bool, now_s: float) -> bool:
        """Probes have it out, or take it back; whether that was allowed."""
        return self._order(JUDGE, instance, value=int(out), now_s=now_s)

    def set_canary(self, instances: int, *, weight: float, now_s: float) -> None:
        """So many instances run version B and get so much of the traffic."""
        self._order(CANARY, instances, weight=weight, now_s=now_s)

    def _order(self, order: int, i: int, *, now_s: float, value: int = 0, weight: float = 0.0) -> bool:
        return bool(obey(self.state, int(order), int(i), int(value), float(weight), float(now_s)))

    def partial(self) -> Mapping[str, Any]:
        """Figures so far, from the warm part of the run."""
        totals, ttft = self.state.totals[0], self.state.sketches[:BATCHES].sum(axis=0)
        return {
            "ttft_p50_s": percentile(ttft, q=0.5),
            "ttft_p99_s": percentile(ttft, q=0.99),
            "hit_rate": float(totals.hit_tokens / totals.prompt_tokens) if totals.prompt_tokens else None,
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_lost": int(totals.lost + totals.cut),
            "requests_in_flight": int(totals.in_flight),
        }

"""This system as the driver sees it: its loop, its pools that grow, the orders it takes, and what it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sims.engine.batches import pooled
from sims.engine.plane import Chunk, StatePlane
from sims.engine.run import WANTS_SLOTS, MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.meter import BATCHES
from sims.parts.records import doubled
from sims.systems.gateway.loop import advance
from sims.systems.gateway.orders import CANARY, FAIL, JUDGE, REJOIN, obey
from sims.systems.gateway.state import State

MOST_ENTRIES = 1 << 25


class GatewayPlane(StatePlane[State]):
    """The loop, pools of requests and of cached runs that grow, and the orders of the control plane."""

    def __init__(self, state: State, *, chunks: Iterator[Chunk], horizon_s: float, most_in_flight: int) -> None:
        super().__init__(state, chunks=chunks, horizon_s=horizon_s)
        self._most_in_flight = most_in_flight

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(advance(self.state, until_s, most_events))

    def _grow(self, code: int) -> None:
        state, totals = self.state, self.state.totals[0]
        if code == WANTS_SLOTS:
            if len(state.calls) >= self._most_in_flight:
                raise MemoryBudgetError
            self.state = state._replace(calls=doubled(state.calls, book=totals))
        else:
            if len(state.entries) >= MOST_ENTRIES:
                raise MemoryBudgetError
            self.state = state._replace(entries=doubled(state.entries, book=totals, free="free_entry", link="after"))

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
        totals, ttft = self.state.totals[0], pooled(self.state.sketches[:BATCHES])
        return {
            "ttft_p50_s": percentile(ttft, q=0.5),
            "ttft_p99_s": percentile(ttft, q=0.99),
            "hit_rate": float(totals.hit_tokens / totals.prompt_tokens) if totals.prompt_tokens else None,
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_lost": int(totals.lost + totals.cut),
            "requests_in_flight": int(totals.in_flight),
        }

"""This system as the driver sees it: its loop, its one pool that grows, what it tells, and the orders it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from sims.engine.batches import pooled
from sims.engine.plane import Chunk, StatePlane
from sims.engine.run import MemoryBudgetError
from sims.engine.sketch import percentile
from sims.parts.drafts import steps_drawn
from sims.parts.prefix_caches import MOST_ENTRIES, WANTS_ENTRIES
from sims.parts.records import FETCHING, PARKED, PREFILL, RUNNING, WAITING, doubled
from sims.systems.llm_serving import aggregated, disaggregated, faults
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.state import State
from sims.systems.llm_serving.timeline import sample

Order = Callable[[State, int, float], None]
HALT: Mapping[str, Order] = {"decode": faults.halt_unit, "prefill": faults.halt_prefill}
ISOLATE: Mapping[str, Order] = {"decode": faults.isolate_unit, "prefill": faults.isolate_prefill}


class ServingPlane(StatePlane[State]):
    """The loop of the topology, and the orders of the control plane."""

    def __init__(
        self,
        config: Config,
        *,
        state: State,
        chunks: Iterator[Chunk],
        horizon_s: float,
        most_in_flight: int,
        drafts: np.random.Generator,
    ) -> None:
        super().__init__(state, chunks=chunks, horizon_s=horizon_s)
        self._config = config
        self._most_in_flight = most_in_flight
        self._drafts = drafts
        self._advance = aggregated.advance if config.aggregated else disaggregated.advance

    def _loop(self, until_s: float, most_events: int) -> int:
        return int(self._advance(self.state, until_s, most_events))

    def _feed(self, chunk: Chunk | None) -> None:
        super()._feed(chunk)
        if chunk is not None and self._config.tokens_per_step > 1:
            # The first token of an answer is that of its prompt.
            self.state.arrivals.steps[: len(chunk)] = steps_drawn(
                self._drafts, tokens=chunk["output"] - 1, tokens_per_step=self._config.tokens_per_step
            )

    def _grow(self, code: int) -> None:
        if code == WANTS_ENTRIES:
            if len(self.state.entries) >= MOST_ENTRIES:
                raise MemoryBudgetError
            book = self.state.totals[0]
            entries = doubled(self.state.entries, book=book, free="free_entry", link="after")
            self.state = self.state._replace(entries=entries)
            return
        if len(self.state.requests) >= self._most_in_flight:
            raise MemoryBudgetError
        self.state = self.state._replace(requests=doubled(self.state.requests, book=self.state.totals[0]))

    def partial(self) -> Mapping[str, Any]:
        """Percentiles so far, from the warm part of the run, and what there is at this moment."""
        state, totals = self.state, self.state.totals[0]
        seen = sample(state, at_s=float(totals.now_s))
        return {
            "ttft_p50_s": percentile(pooled(state.ttft), q=0.5),
            "ttft_p99_s": percentile(pooled(state.ttft), q=0.99),
            "tpot_p50_s": percentile(pooled(state.tpot), q=0.5),
            "tpot_p99_s": percentile(pooled(state.tpot), q=0.99),
            "requests_arrived": int(totals.arrived),
            "requests_finished": int(totals.finished),
            "requests_in_flight": int(totals.in_flight),
            "queued": seen.queued,
            "waiting": seen.waiting,
            "running": seen.running,
            "kv_share": seen.kv_tokens / self._config.kv_tokens,
            "units_up": seen.units_up,
            **({} if self._config.aggregated else {"prefill_units_up": seen.prefill_units_up}),
        }

    def halt(self, unit: int, *, role: str, now_s: float) -> None:
        """A unit fails."""
        HALT[role](self.state, int(unit), float(now_s))

    def isolate(self, unit: int, *, role: str, now_s: float) -> None:
        """Its failure is known: move its requests."""
        ISOLATE[role](self.state, int(unit), float(now_s))
        self._send_parked(now_s)

    def rejoin(self, unit: int, *, role: str, now_s: float) -> None:
        """Put it back, or let a unit that drains go on; requests that found no unit go to it."""
        self._units(role)[unit].alive = 1
        self._units(role)[unit].stopped = 0
        self._send_parked(now_s)

    def _send_parked(self, now_s: float) -> None:
        send = faults.send_parked_to_replicas if self._config.aggregated else faults.send_parked
        send(self.state, float(now_s))

    def drain(self, unit: int, *, role: str) -> None:
        """Send it nothing more; it finishes what it has."""
        self._units(role)[unit].alive = 0

    def release(self, unit: int, *, role: str) -> None:
        """Give an empty unit away."""
        self._units(role)[unit].alive = 0
        self._units(role)[unit].stopped = 1

    def is_empty(self, unit: int, *, role: str) -> bool:
        """Whether a unit has no request left."""
        pool = self.state.requests
        stages = (PREFILL,) if role == "prefill" else self._decoding
        return not bool(np.any((pool.unit == unit) & np.isin(pool.stage, stages)))

    def load(self, unit: int, *, role: str) -> int:
        """How much a unit has to do, as its router sees it."""
        return int(self._units(role)[unit].load)

    def waiting(self) -> int:
        """Requests that are not decoding: queued, in prefill, handed over, fetched or without a unit."""
        return self._count(PREFILL, WAITING, PARKED, FETCHING)

    def demand(self, role: str, *, load: str) -> float:
        """What a role is asked for: its sequences, the KV pledged to them in units, or its queue."""
        if role == "prefill":
            return float(self._count(PREFILL, PARKED))
        if load == "queue":
            return float(self._count(*(WAITING, PARKED, *self._decoding)) - self._count(RUNNING))
        if load == "kv":
            pool = self.state.requests
            here = np.isin(pool.stage, (PARKED, *self._decoding))
            return float(np.sum((pool.input + pool.output)[here])) * self._config.decode_units / self._config.kv_tokens
        return float(self._count(PARKED, *self._decoding))

    def busy_s(self, role: str, *, now_s: float) -> float:
        """Unit-seconds at work so far."""
        seen = sample(self.state, at_s=now_s)
        return seen.prefill_busy_s if role == "prefill" else seen.unit_busy_s

    def fetches_s(self) -> float | None:
        """When the next KV has come from the pool; None when none is under way."""
        fetching = self.state.fetching[0]
        return float(self.state.requests[fetching.head].ready_s) if fetching.queued else None

    def take_fetched(self, *, upto_s: float, now_s: float) -> None:
        """Send on whose KV has come."""
        faults.take_fetched(self.state, float(upto_s))
        self._send_parked(now_s)

    def _units(self, role: str) -> np.recarray:
        return self.state.prefills if role == "prefill" else self.state.units

    @property
    def _decoding(self) -> tuple[int, ...]:
        return (PREFILL, WAITING, RUNNING) if self._config.aggregated else (WAITING, RUNNING)

    def _count(self, *stages: int) -> int:
        return int(np.count_nonzero(np.isin(self.state.requests.stage, stages)))

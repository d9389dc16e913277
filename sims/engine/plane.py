"""What every system's plane does alike: it runs the loop, feeds arrivals, lets pools grow, says how far it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS

Chunk = NDArray[np.void]


class HasTotals(Protocol):
    """A state: its totals count arrivals, events and requests in flight."""

    @property
    def totals(self) -> np.recarray:
        """One record."""

    @property
    def arrivals(self) -> np.recarray:
        """Room for a chunk."""


StateT = TypeVar("StateT", bound=HasTotals)


class StatePlane(ABC, Generic[StateT]):
    """A state with its loop; see `sims.engine.run.Plane`. ``state`` is replaced when one of its pools grows."""

    def __init__(self, state: StateT, *, chunks: Iterator[Chunk], horizon_s: float) -> None:
        self.state = state
        self._chunks = chunks
        self._horizon_s = horizon_s

    @abstractmethod
    def _loop(self, until_s: float, most_events: int) -> int:
        """The data plane's own loop."""

    @abstractmethod
    def _grow(self, code: int) -> None:
        """Give the loop the records it wants; raises `MemoryBudgetError` when there are no more to be had."""

    def advance(self, until_s: float, most_events: int) -> int:
        """Handle events up to ``until_s``, ``most_events`` of them however often something must be fetched."""
        last = self.events() + most_events
        while (left := last - self.events()) > 0:
            before = self.events()
            code = self._loop(float(until_s), int(left))
            if code == WANTS_ARRIVALS:
                self._feed(next(self._chunks, None))
            elif code == REACHED or (code == LIMIT and self.events() == before):
                return code
            elif code != LIMIT:
                self._grow(code)
        return LIMIT

    def _feed(self, chunk: Chunk | None) -> None:
        """Load the next arrivals; None says that there are no more."""
        totals = self.state.totals[0]
        totals.next_arrival = 0
        totals.arrivals = 0 if chunk is None else len(chunk)
        totals.more = 0 if chunk is None else 1
        if chunk is not None:
            self.state.arrivals[: len(chunk)] = chunk

    def is_done(self) -> bool:
        """Whether all have arrived and left."""
        totals: Any = self.state.totals[0]
        return bool(totals.more == 0 and totals.next_arrival >= totals.arrivals and totals.in_flight == 0)

    def simulated_s(self) -> float:
        """The moment reached."""
        return float(self.state.totals[0].now_s)

    def events(self) -> int:
        """Events so far."""
        return int(self.state.totals[0].events)

    def fraction(self, now_s: float) -> float:
        """By simulated time; a draining system is almost done."""
        return min(1.0, now_s / self._horizon_s) if self._horizon_s > 0 else 1.0

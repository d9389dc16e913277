"""Runs a data plane in slices between the events of a SimPy control plane, and speaks to the hooks.

The data plane handles all of its events up to a moment; then the control plane's event of that moment runs and
may change the state. How the time is sliced cannot change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import simpy

from sims.engine.hooks import Cancelled, Hooks

REACHED, WANTS_ARRIVALS, WANTS_SLOTS, LIMIT = 0, 1, 2, 3
"""Why a loop returned: nothing left up to the moment; no arrivals at hand; no free slot; events enough for one call."""

FIRST_EVENTS = 256
MOST_EVENTS = 1 << 20
SLICE_S = 0.2
CANCEL_EVERY_S = 0.25
PROGRESS_EVERY_S = 0.5

COMPLETE, BUDGET, FULL = "complete", "budget", "full"
"""How a run ended: as asked; out of wall-clock time; more requests in flight than memory is meant for."""


class MemoryBudgetError(Exception):
    """The plane needs more slots than it may have: the run ends with what is known."""


class Plane(Protocol):
    """A data plane as the driver sees it."""

    def advance(self, until_s: float, most_events: int) -> int:
        """Handle events up to ``until_s``; `REACHED` or `LIMIT`; may raise `MemoryBudgetError`."""

    def is_done(self) -> bool:
        """Whether nothing is left to do."""

    def simulated_s(self) -> float:
        """The moment reached inside a slice."""

    def events(self) -> int:
        """Events so far."""

    def fraction(self, now_s: float) -> float:
        """How far the run is, 0 … 1."""

    def partial(self) -> Mapping[str, Any]:
        """Figures so far, for whoever watches."""


@dataclass(slots=True)
class Watch:
    """Keeps the hooks' rhythm and the wall-clock budget."""

    hooks: Hooks
    clock: Callable[[], float]
    budget_s: float
    started_s: float = 0.0
    told_s: float = -1e9
    asked_s: float = -1e9

    def look(self, plane: Plane, now_s: float) -> bool:
        """Tell and ask if it is time; True when the budget is used up. Raises `Cancelled`."""
        wall_s = self.clock()
        if wall_s - self.asked_s >= CANCEL_EVERY_S:
            self.asked_s = wall_s
            if self.hooks.cancelled():
                raise Cancelled
        if wall_s - self.told_s >= PROGRESS_EVERY_S:
            self.told_s = wall_s
            self.tell(plane, now_s)
        return wall_s - self.started_s > self.budget_s

    def tell(self, plane: Plane, now_s: float) -> None:
        """Report progress now."""
        partial = plane.partial()
        self.hooks.progress(plane.fraction(now_s), simulated_s=now_s, events=plane.events(), partial=partial)


def drive(
    plane: Plane, *, env: simpy.Environment, end_s: float, hooks: Hooks, clock: Callable[[], float], budget_s: float
) -> str:
    """Run until ``end_s`` or until nothing is left; how it ended. Raises `Cancelled` within a second of the wish."""
    watch = Watch(hooks=hooks, clock=clock, budget_s=budget_s, started_s=clock())
    most_events = FIRST_EVENTS
    while not plane.is_done() or env.peek() <= end_s:
        until_s = min(env.peek(), end_s)
        code = LIMIT
        while code == LIMIT:
            begun_s = clock()
            try:
                code = plane.advance(float(until_s), most_events)
            except MemoryBudgetError:
                return FULL
            took_s = clock() - begun_s
            # Short enough to hear a cancellation, long enough to cost nothing.
            if code == LIMIT and took_s < SLICE_S / 2:
                most_events = min(MOST_EVENTS, 2 * most_events)
            elif took_s > SLICE_S:
                most_events = max(1, most_events // 2)
            if watch.look(plane, plane.simulated_s()):
                return BUDGET
        if env.peek() > end_s:
            break
        env.step()
    watch.tell(plane, min(end_s, max(env.now, plane.simulated_s())))
    return COMPLETE

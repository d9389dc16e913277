"""Samples of the system over time, read from the state between two slices."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import simpy

from sims.parts.decode import span_s, steps_done
from sims.systems.llm_serving.state import State


@dataclass(frozen=True, slots=True)
class Counters:
    """Sums up to a moment; differences of two give rates and means between them."""

    at_s: float
    arrived: int
    finished: int
    output_tokens: int
    first_tokens: int
    ttft_sum_s: float
    prefill_busy_s: float
    unit_busy_s: float
    sequence_s: float
    moved_tokens: int
    prefill_tokens: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The state at a moment: prompts queued, KV waiting at units, sequences running, KV held."""

    counters: Counters
    queued: int
    waiting: int
    running: int
    kv_tokens: int
    in_flight: int


def counters(state: State, *, at_s: float) -> Counters:
    """Sums with what the steps under way have done by ``at_s``."""
    totals, units = state.totals[0], state.units
    busy = [
        (min(at_s, float(unit.start_s + span_s(unit, unit.planned))) - float(unit.start_s), unit)
        for unit in units
        if unit.planned
    ]
    emitted = sum(int(unit.running) * int(steps_done(unit, at_s)) for unit in units)
    filling = sum(min(at_s - float(one.start_s), float(one.step_s)) for one in state.prefills if one.busy)
    return Counters(
        at_s=at_s,
        arrived=int(totals.arrived),
        finished=int(totals.finished),
        output_tokens=int(totals.output_tokens) + emitted,
        first_tokens=int(totals.first_tokens),
        ttft_sum_s=float(totals.ttft_sum_s),
        prefill_busy_s=float(state.prefills.busy_s.sum()) + filling,
        unit_busy_s=float(units.busy_s.sum()) + sum(spent for spent, _ in busy),
        sequence_s=float(units.sequence_s.sum()) + sum(spent * int(unit.running) for spent, unit in busy),
        moved_tokens=int(totals.moved_tokens),
        prefill_tokens=int(totals.prefill_tokens),
    )


def sample(state: State, *, at_s: float) -> Sample:
    """What there is at ``at_s``."""
    kv = sum(int(unit.kv) + int(unit.running) * int(steps_done(unit, at_s)) for unit in state.units)
    return Sample(
        counters=counters(state, at_s=at_s),
        queued=int(state.queues.queued.sum()),
        waiting=int(state.waiting.queued.sum() + state.parked.queued.sum()),
        running=int(state.units.running.sum()),
        kv_tokens=kv,
        in_flight=int(state.totals[0].in_flight),
    )


@dataclass(slots=True)
class Recorder:
    """A SimPy process that samples at even moments, and marks the ends of the measuring window."""

    samples: list[Sample] = field(default_factory=list)
    opened: Counters | None = None
    closed: Counters | None = None

    def sampling(
        self, env: simpy.Environment, *, plane: HasState, horizon_s: float, count: int
    ) -> Generator[simpy.Event, object, None]:
        """Sample ``count`` times, the last at the horizon."""
        for index in range(1, count + 1):
            yield env.timeout(max(0.0, horizon_s * index / count - env.now))
            self.samples.append(sample(plane.state, at_s=env.now))

    def window(
        self, env: simpy.Environment, *, plane: HasState, from_s: float, horizon_s: float
    ) -> Generator[simpy.Event, object, None]:
        """Mark the window's start and end."""
        yield env.timeout(from_s)
        self.opened = counters(plane.state, at_s=env.now)
        yield env.timeout(horizon_s - env.now)
        self.closed = counters(plane.state, at_s=env.now)


class HasState:
    """Whatever holds the present state (the pool of requests is replaced when it grows)."""

    state: State

"""Samples of the system over time, read from the state between two slices."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, fields

import numpy as np
import simpy

from sims.engine.kernel import loop
from sims.parts.decode import span_s, steps_done
from sims.parts.records import records
from sims.systems.llm_serving.state import State


@dataclass(frozen=True, slots=True)
class Sample:
    """The system at a moment: sums up to it, whose differences give rates and means, and what is in it."""

    at_s: float
    arrived: int
    finished: int
    output_tokens: int
    first_tokens: int
    ttft_sum_s: float
    prefill_tokens: int
    moved_tokens: int
    prefill_busy_s: float
    unit_busy_s: float
    sequence_s: float
    """Sequences decoding, integrated over time."""
    queued: int
    """Prompts in prefill or queued for it."""
    waiting: int
    """Requests that wait for a decode unit or a replica."""
    running: int
    kv_tokens: int
    in_flight: int


SAMPLE = np.dtype([(one.name, "i8" if one.type == "int" else "f8") for one in fields(Sample)])


@loop
def observe(state, at_s, samples):  # type: ignore[no-untyped-def]
    """Fill ``samples[0]``, with what the steps under way have done by ``at_s``."""
    totals, seen = state.totals[0], samples[0]
    seen.at_s = at_s
    seen.arrived = totals.arrived
    seen.finished = totals.finished
    seen.output_tokens = totals.output_tokens
    seen.first_tokens = totals.first_tokens
    seen.ttft_sum_s = totals.ttft_sum_s
    seen.prefill_tokens = totals.prefill_tokens
    seen.moved_tokens = totals.moved_tokens
    seen.prefill_busy_s = 0.0
    for index in range(len(state.prefills)):
        prefill = state.prefills[index]
        seen.prefill_busy_s += prefill.busy_s
        if prefill.busy == 1:
            seen.prefill_busy_s += min(at_s - prefill.start_s, prefill.step_s)
    seen.queued = 0
    for index in range(len(state.queues)):
        seen.queued += state.queues[index].queued
    seen.waiting = state.parked[0].queued
    seen.running = 0
    seen.kv_tokens = 0
    seen.unit_busy_s = 0.0
    seen.sequence_s = 0.0
    for index in range(len(state.units)):
        unit = state.units[index]
        spent_s = min(at_s - unit.start_s, span_s(unit, unit.planned)) if unit.planned > 0 else 0.0
        emitted = unit.running * steps_done(unit, at_s)
        seen.output_tokens += emitted
        seen.kv_tokens += unit.kv + emitted
        seen.running += unit.running
        seen.unit_busy_s += unit.busy_s + spent_s
        seen.sequence_s += unit.sequence_s + spent_s * unit.running
        seen.waiting += state.waiting[index].queued
    seen.in_flight = totals.in_flight


def sample(state: State, *, at_s: float) -> Sample:
    """What there is at ``at_s``."""
    row = records(SAMPLE, count=1)
    observe(state, float(at_s), row)
    return Sample(*row[0].item())


@dataclass(slots=True)
class Recorder:
    """SimPy processes that sample at even moments, and at the ends of the measuring window."""

    samples: list[Sample] = field(default_factory=list)
    opened: Sample | None = None
    closed: Sample | None = None

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
        self.opened = sample(plane.state, at_s=env.now)
        yield env.timeout(horizon_s - env.now)
        self.closed = sample(plane.state, at_s=env.now)


class HasState:
    """Whatever holds the present state (the pool of requests is replaced when it grows)."""

    state: State

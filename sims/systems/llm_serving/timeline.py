"""Samples of the system over time, read from the state between two slices."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from sims.engine.kernel import handler, loop
from sims.parts.decode import clock_at, ramp_s, span_s, steps_done
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
    prompt_tokens: int
    """Of prompts sent to prefill, and those of them that were found in a cache."""
    hit_tokens: int
    prefill_busy_s: float
    unit_busy_s: float
    even_s: float
    """What the mean rank of each decode unit has worked in all steps, beyond what they take without load."""
    lag_s: float
    """What the slowest rank has worked more than the mean."""
    sequence_s: float
    """Sequences decoding, integrated over time."""
    queued: int
    """Prompts in prefill or queued for it."""
    waiting: int
    """Requests that wait for a decode unit or a replica."""
    running: int
    kv_tokens: int
    in_flight: int
    units_up: int
    """Decode units or replicas that work; one that is lost counts until it halts."""
    prefill_units_up: int
    preempted: int
    """Requests that gave up their KV so far, and the tokens they held."""
    preempted_tokens: int
    free_blocks: int
    """Of the engines of replicas, less what the steps under way have still to take."""


SAMPLE = np.dtype([(one.name, "i8" if one.type == "int" else "f8") for one in fields(Sample)])


@handler
def observe_engines(state, seen):  # type: ignore[no-untyped-def]
    """Add what the engines of replicas hold."""
    seen.queued = 0
    for index in range(len(state.units)):
        seen.queued += state.units[index].filling
    for index in range(len(state.engines)):
        seen.waiting += state.engines[index].queued
        seen.free_blocks += state.engines[index].free


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
    seen.prompt_tokens = totals.prompt_tokens
    seen.hit_tokens = totals.hit_tokens
    seen.prefill_busy_s = 0.0
    seen.prefill_units_up = 0
    seen.units_up = 0
    for index in range(len(state.prefills)):
        prefill = state.prefills[index]
        seen.prefill_busy_s += prefill.busy_s
        if prefill.stopped == 0 and state.params[0].aggregated == 0:
            seen.prefill_units_up += 1
        if prefill.busy == 1:
            seen.prefill_busy_s += min(at_s - prefill.start_s, prefill.lasts_s)
    seen.queued = 0
    for index in range(len(state.queues)):
        seen.queued += state.queues[index].queued
    seen.waiting = state.parked[0].queued
    seen.running = 0
    seen.kv_tokens = 0
    seen.unit_busy_s = 0.0
    seen.sequence_s = 0.0
    seen.even_s = 0.0
    seen.lag_s = 0.0
    for index in range(len(state.units)):
        unit = state.units[index]
        spent_s = min(at_s - unit.start_s, span_s(unit, unit.planned)) if unit.planned > 0 else 0.0
        steps = steps_done(unit, at_s)
        emitted = unit.running * (clock_at(unit, unit.step + steps) - unit.clock)
        seen.output_tokens += emitted
        seen.kv_tokens += unit.kv + emitted
        seen.running += unit.running
        seen.units_up += 1 - unit.stopped
        seen.unit_busy_s += unit.busy_s + spent_s
        seen.sequence_s += unit.sequence_s + spent_s * unit.running
        seen.even_s += unit.even_sum_s + ramp_s(unit.even_s, unit.even_growth_s, steps)
        seen.lag_s += unit.lag_sum_s + ramp_s(unit.lag_s, unit.lag_growth_s, steps)
        seen.waiting += state.waiting[index].queued + unit.blocked
    if state.params[0].aggregated == 1:
        observe_engines(state, seen)
    seen.preempted = totals.preempted
    seen.preempted_tokens = totals.preempted_tokens
    seen.in_flight = totals.in_flight


def sample(state: State, *, at_s: float) -> Sample:
    """What there is at ``at_s``."""
    row = records(SAMPLE, count=1)
    observe(state, float(at_s), row)
    return Sample(*row[0].item())

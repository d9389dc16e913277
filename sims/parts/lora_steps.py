"""Steps of a replica whose batch uses adapters, advanced by macro-steps as in `sims.parts.decode`.

A step lasts as long as the base needs for its sequences, KV and prompt tokens, plus what LoRA adds: its kernels'
launches, and reading each distinct adapter once or one for every sequence. The time is split over those it served by
weighted tokens, LoRA's part over those that use an adapter.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.ring import steps_to_next
from sims.engine.sketch import record, record_ramp
from sims.parts.decode import span_s
from sims.parts.meter import BATCHES, batch_at

ITL = 5 * BATCHES
"""Row of the histograms where gaps between tokens begin."""
PIPELINED, PROMPTS_FIRST = 2, 1


@handler
def fill_prompts(state, u, budget):  # type: ignore[no-untyped-def]
    """Choose the prompt tokens of the next step, first come first served, the last prompt maybe in part: how many."""
    unit, queue, bare = state.units[u], state.filling[u], state.params[0].adapters
    tokens = 0
    slot = queue.head
    queue.finishing = 0
    unit.lora_tokens = 0
    unit.copied_s = 0.0
    for _ in range(queue.queued):
        if tokens >= budget:
            break
        request = state.requests[slot]
        request.taken = min(request.todo, budget - tokens)
        request.todo -= request.taken
        tokens += request.taken
        if request.todo == 0:
            queue.finishing += 1
        if request.adapter != bare:
            unit.lora_tokens += request.taken
            unit.copied_s = max(unit.copied_s, state.cells[u, request.adapter].copied_s)
        slot = request.next
    return tokens


@handler
def lora_time_s(unit, params):  # type: ignore[no-untyped-def]
    """What LoRA adds to a step of the batch as it is."""
    if unit.distinct == 0:
        return params.lora_step_s if params.lora_always == 1 else 0.0
    reading_s = max(unit.distinct * params.lora_s_per_adapter, unit.lora_running * params.lora_s_per_sequence)
    return params.lora_step_s + reading_s


@handler
def set_times(unit, params, now_s):  # type: ignore[no-untyped-def]
    """How long the next step lasts, and how much longer each one after it."""
    base_s = 0.0
    unit.growth_s = 0.0
    if unit.emits == 1:
        base_s = params.step_s + params.step_s_per_sequence * unit.running + params.step_s_per_kv_token * unit.kv
        unit.growth_s = params.step_s_per_kv_token * unit.running
    if unit.tokens > 0:
        base_s += params.prefill_step_s + unit.tokens * params.prefill_s_per_token
    unit.lora_s = lora_time_s(unit, params)
    if params.swap == PIPELINED and unit.lora_tokens > 0 and unit.copied_s > now_s:
        unit.lora_s = max(unit.lora_s, unit.copied_s + params.swap_layer_s - now_s - base_s)
    unit.first_s = base_s + unit.lora_s + unit.stall_s


@handler
def set_weights(unit, params):  # type: ignore[no-untyped-def]
    """Weighted tokens of a step: all, and those that use an adapter."""
    unit.weight = params.input_weight * unit.tokens
    unit.lora_weight = params.input_weight * unit.lora_tokens
    if unit.emits == 1:
        unit.weight += params.output_weight * unit.running
        unit.lora_weight += params.output_weight * unit.lora_running


@handler
def plan_next(state, u, now_s):  # type: ignore[no-untyped-def]
    """Begin the next step: with prompt tokens or a stall it is one, else a macro-step to the next finish."""
    unit, params = state.units[u], state.params[0]
    prompts_first = params.prefill == PROMPTS_FIRST
    unit.tokens = 0
    unit.lora_tokens = 0
    unit.planned = 0
    if unit.filling > 0:
        # A sequence that decodes takes one token of the budget; prompts always get on by at least one.
        used = 0 if prompts_first else unit.running
        unit.tokens = fill_prompts(state, u, max(1, params.prefill_budget_tokens - used))
    ends_s = NEVER
    if unit.tokens > 0 or unit.running > 0:
        unit.emits = 0 if prompts_first and unit.tokens > 0 else 1
        unit.stall_s = unit.stall_due_s
        unit.stall_due_s = 0.0
        set_times(unit, params, now_s)
        set_weights(unit, params)
        single = unit.tokens > 0 or unit.stall_s > 0.0
        unit.planned = 1 if single else min(params.most_steps, steps_to_next(state.ring, u, unit.step))
        unit.start_s = now_s
        ends_s = now_s + span_s(unit, unit.planned)
    schedule(state.times, state.tree, 1 + u, ends_s)


@handler
def record_gaps(state, u, steps, batch):  # type: ignore[no-untyped-def]
    """Gaps between tokens; those that were running before a step of prompts alone have waited for it as well."""
    unit, row = state.units[u], ITL + batch
    record(state.sketches[row], unit.first_s + unit.pause_s, unit.running - unit.joined)
    record(state.sketches[row], unit.first_s, unit.joined)
    if steps > 1:
        record_ramp(state.sketches[row], unit.first_s + unit.growth_s, unit.growth_s, steps - 1, unit.running)


@handler
def split_time(unit, steps, whole_s):  # type: ignore[no-untyped-def]
    """Move the clocks by which time is split over tokens."""
    lora_s = unit.lora_s * steps if unit.lora_weight > 0.0 else 0.0
    base_s = whole_s - unit.stall_s - lora_s
    unit.base_tick = base_s / unit.weight
    unit.lora_tick = lora_s / unit.lora_weight if unit.lora_weight > 0.0 else 0.0
    # Sequences that decode have no part in a step of prompts alone.
    unit.base_clock += unit.base_tick * unit.emits
    unit.lora_clock += unit.lora_tick * unit.emits


@handler
def kv_integral(unit, steps, whole_s):  # type: ignore[no-untyped-def]
    """KV over the time of ``steps`` steps: it grows by the batch with each step, and the steps with it."""
    first, second = steps * (steps - 1) / 2, steps * (steps - 1) * (2 * steps - 1) / 6
    grown = unit.running if unit.emits == 1 else 0
    return unit.kv * whole_s + grown * (unit.first_s * first + unit.growth_s * second)


@handler
def add_integrals(unit, steps, whole_s):  # type: ignore[no-untyped-def]
    """Batch, adapters and KV over time."""
    unit.busy_s += whole_s
    unit.sequence_s += unit.running * whole_s
    unit.distinct_s += unit.distinct * whole_s
    unit.reserved_s += unit.reserved * whole_s
    unit.kv_s += kv_integral(unit, steps, whole_s)
    unit.distinct_steps += unit.distinct * steps


@handler
def commit(state, u, steps, now_s):  # type: ignore[no-untyped-def]
    """Count what ``steps`` steps of the present macro-step have produced and cost."""
    unit, totals = state.units[u], state.totals[0]
    if steps == 0:
        unit.planned = 0
        return
    batch, whole_s = batch_at(state.window[0], now_s), span_s(unit, steps)
    split_time(unit, steps, whole_s)
    add_integrals(unit, steps, whole_s)
    if batch >= 0:
        state.distinct_s[u, min(unit.distinct, state.distinct_s.shape[1] - 1)] += whole_s
    if unit.emits == 1:
        made = steps * unit.running
        if batch >= 0:
            record_gaps(state, u, steps, batch)
            state.batches[batch].output_tokens += made
        totals.output_tokens += made
        unit.step += steps
        unit.shown_step = unit.step
        unit.kv += made
        unit.pause_s = 0.0
        unit.joined = 0
    else:
        unit.pause_s += whole_s
    unit.planned = 0

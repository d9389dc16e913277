"""An instance as a fast serving model: one prompt at a time in prefill, then a decode slot at a steady pace.

A prompt waits, first come first served (or the important first), until no other is in prefill and a slot is free; it
takes a fixed time plus a time per token that is not cached, and its end is the first token. The slot is held from
the start of prefill to the last token, so TTFT shows both a prefill that cannot keep up and slots that are all held.
The time per token is set as decoding starts, from how many are running. Ends of decoding fall on ticks of about a
millisecond, so that a handful share an event.
"""

from __future__ import annotations

import math

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push
from sims.engine.ring import put, steps_to_next, take_all
from sims.engine.sketch import record
from sims.parts.attempts import FIRST_INSTANCE, TICKS, verdict_row
from sims.parts.calls import DECODING, PREFILLING, QUEUED
from sims.parts.health import HALF_OPEN, on_good, set_doors
from sims.parts.segments import cached_blocks, insert
from sims.parts.tally import GAPS, count_finish, count_first_token, count_prompt, count_rejected

TICK_S = 2.0**-10


@handler
def wake(instances, totals, i):  # type: ignore[no-untyped-def]
    """Look at the instance again before the next event: it may start a prompt."""
    if instances[i].waking == 0:
        instances[i].waking = 1
        instances[totals.waking].waker = i
        totals.waking += 1


@handler
def enqueue(state, slot, i):  # type: ignore[no-untyped-def]
    """Put a request into its queue at the instance."""
    call = state.calls[slot]
    call.stage = QUEUED
    state.queue_s[0, i] += call.pledged_s
    low = 1 if state.params[0].priority_queues == 1 and call.priority == 0 else 0
    push(state.queues[2 * i + low], state.calls, slot)
    wake(state.instances, state.totals[0], i)


@handler
def next_queued(state, i):  # type: ignore[no-untyped-def]
    """Take the next request in line; −1 when none waits."""
    for low in range(2):
        if state.queues[2 * i + low].queued > 0:
            slot = pop(state.queues[2 * i + low], state.calls)
            left_s = state.queue_s[0, i] - state.calls[slot].pledged_s
            # Sums of many pledges leave a rest of rounding; an empty queue is no work.
            state.queue_s[0, i] = left_s if state.queues[2 * i].queued + state.queues[2 * i + 1].queued > 0 else 0.0
            return slot
    return END


@handler
def expire(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """Turn away a request that can no longer be in time; a trial that was not made is given back."""
    row = verdict_row(state.params[0], state.calls[slot].router)
    if state.breakers[row, i].state == HALF_OPEN:
        state.breakers[row, i].trials += 1
        set_doors(state, row, i)
    state.totals[0].expired += 1
    state.loads[0, i] -= 1
    count_rejected(state, slot, now_s)


@handler
def speed(params, instance):  # type: ignore[no-untyped-def]
    """How much longer the version of the instance takes for everything."""
    return params.canary_factor if instance.version == 1 else 1.0


@handler
def compute_prompt(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """Begin prefill of what the cache does not have, and cache the path."""
    params, call, instance = state.params[0], state.calls[slot], state.instances[i]
    session = call.session
    if session >= 0 and state.sessions[session].generation != call.generation:
        session = END
    hit_blocks = min(call.blocks, cached_blocks(state, i, call.stem, session))
    hit_tokens = min(call.tokens, hit_blocks * params.block_tokens)
    # The last token of a prompt is always computed: the answer starts from it.
    todo = max(1, call.tokens + call.generated - hit_tokens) if call.tokens + call.generated > 0 else 0
    log_path(state, call, i, session, hit_blocks)
    insert(state, i, call.stem, session, call.kept)
    if call.first_s < 0.0:
        count_prompt(state, call, hit_tokens, now_s)
    else:
        state.totals[0].resumed_tokens += todo
    took_s = (params.prefill_fixed_s + todo * params.prefill_s_per_token) * speed(state.params[0], state.instances[i])
    if now_s < params.eased_until_s:
        took_s *= params.easing
    state.totals[0].computed_tokens += todo
    instance.uncached_tokens += todo
    instance.prompt_tokens += call.tokens + call.generated
    instance.prefilling = slot
    instance.running += 1
    instance.busy_s += took_s
    call.stage = PREFILLING
    call.start_s = now_s
    state.until_s[0, i] = now_s + took_s
    schedule(state.times, state.tree, FIRST_INSTANCE + i, now_s + took_s)


@handler
def log_path(state, call, i, session, hit_blocks):  # type: ignore[no-untyped-def]
    """Write the look-up down while there is room (tests replay it block by block)."""
    totals = state.totals[0]
    if totals.logged < len(state.log):
        row = state.log[totals.logged]
        row.instance = i
        row.stem = call.stem
        row.session = session
        row.generation = call.generation
        row.blocks = call.blocks
        row.kept = call.kept
        row.hit_blocks = hit_blocks
        totals.logged += 1


@handler
def start_next(state, i, now_s):  # type: ignore[no-untyped-def]
    """Begin the next prompt if none is in prefill and a slot is free."""
    instance, params = state.instances[i], state.params[0]
    if instance.up == 0 or instance.prefilling != END or instance.running >= params.slots:
        return
    for _ in range(len(state.calls)):
        slot = next_queued(state, i)
        if slot == END:
            return
        late = now_s - state.calls[slot].arrival_s > state.params[0].ttft_slo_s
        if params.drop_expired == 1 and late and state.calls[slot].first_s < 0.0:
            expire(state, slot, i, now_s)
        else:
            compute_prompt(state, slot, i, now_s)
            return


@handler
def end_prefill(state, i, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: its next token is out, and it decodes unless that was all."""
    instance = state.instances[i]
    slot = instance.prefilling
    call = state.calls[slot]
    instance.prefilling = END
    schedule(state.times, state.tree, FIRST_INSTANCE + i, NEVER)
    on_good(state, verdict_row(state.params[0], call.router), i, now_s)
    if call.first_s < 0.0:
        count_first_token(state, call, now_s)
    else:
        count_gap(state, call, now_s)
    call.generated += 1
    if call.output <= call.generated:
        leave(state, slot, i, now_s)
    else:
        start_decoding(state, slot, i, now_s)
    wake(state.instances, state.totals[0], i)


@handler
def count_gap(state, call, now_s):  # type: ignore[no-untyped-def]
    """A resumed stream goes on after a pause."""
    if now_s >= state.params[0].from_s:
        record(state.sketches[GAPS], now_s - call.last_s, 1)


@handler
def leave(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """A request is done with its instance."""
    instance = state.instances[i]
    instance.running -= 1
    instance.served += 1
    instance.slot_s += now_s - state.calls[slot].start_s
    state.loads[0, i] -= 1
    state.totals[0].decode_sum_s += now_s - state.calls[slot].start_s
    state.totals[0].decodes += 1
    count_finish(state, slot, now_s)


@handler
def start_decoding(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """Hold a slot until the last token."""
    params, call = state.params[0], state.calls[slot]
    call.stage = DECODING
    call.token_s = (params.token_s + params.token_s_per_running * state.instances[i].running) * speed(
        state.params[0], state.instances[i]
    )
    steps = call.output - call.generated
    tick = int(now_s / TICK_S)
    call.finish_step = max(tick + 1, math.ceil((now_s + steps * call.token_s) / TICK_S))
    state.instances[i].slot_s += now_s - call.start_s
    call.start_s = now_s
    put(state.ring, 0, state.calls, slot, tick)
    at_s = min(call.finish_step, tick + state.ring.shape[1] - 1) * TICK_S
    if at_s < state.times[TICKS]:
        schedule(state.times, state.tree, TICKS, at_s)


@handler
def end_tick(state, now_s):  # type: ignore[no-untyped-def]
    """Let go those whose last token falls on this tick."""
    tick = int(now_s / TICK_S)
    slot = take_all(state.ring, 0, tick)
    for _ in range(len(state.calls)):
        if slot == END:
            break
        after = state.calls[slot].next
        if state.calls[slot].finish_step > tick:
            put(state.ring, 0, state.calls, slot, tick)
        else:
            i = state.calls[slot].instance
            leave(state, slot, i, now_s)
            wake(state.instances, state.totals[0], i)
        slot = after
    plan_tick(state, tick)


@handler
def plan_tick(state, tick):  # type: ignore[no-untyped-def]
    """Put the next tick with anything in it on the clock."""
    ahead = steps_to_next(state.ring, 0, tick)
    empty = state.ring[0, (tick + ahead) & (state.ring.shape[1] - 1)] == END
    schedule(state.times, state.tree, TICKS, NEVER if empty else (tick + ahead) * TICK_S)

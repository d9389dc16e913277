"""The data plane of separate prefill and decode units: arrival → prefill → hand-over → decode.

The decode unit gives every output token; the first one at the end of the first step after the KV has arrived.
Sources of the clock: 0 the next arrival, then the prefill units, then the decode units.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import inner, loop
from sims.engine.lists import END, has_slot, insert_by_ready, pop, push
from sims.engine.ring import put, steps_to_next
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.decode import commit_steps, plan_steps, span_s, steps_to_reach
from sims.parts.intake import ARRIVALS, begin_event, load_arrival
from sims.parts.link import hand_over
from sims.parts.meter import on_finish, on_first_token, on_gap
from sims.parts.prefill import fill_step, least_rank
from sims.parts.records import PARKED, PREFILL, RUNNING, WAITING
from sims.parts.routing.dispatch import choose
from sims.parts.step_times import step_time_s
from sims.systems.llm_serving.intake import release_finished, take_arrival


@inner
def start_prefill(state, p, now_s):  # type: ignore[no-untyped-def]
    """Begin the next prefill step of unit ``p``, or let it rest."""
    unit = state.prefills[p]
    unit.lasts_s = fill_step(unit, state.queues, state.requests, unit.prefill_budget_tokens)
    unit.start_s = now_s
    unit.busy = 1 if unit.tokens > 0 else 0
    schedule(state.times, state.tree, 1 + p, now_s + unit.lasts_s if unit.tokens > 0 else NEVER)


@inner
def send_to_prefill(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Queue a request at the least loaded rank of the prefill unit that the router names."""
    totals, request = state.totals[0], state.requests[slot]
    p = choose(state.params[0].router, state.prefills, totals.turn_prefill)
    if p < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_prefill = (p + 1) % len(state.prefills)
    request.stage = PREFILL
    request.unit = p
    request.rank = least_rank(state.queues, state.prefills[p])
    queue = state.queues[request.rank]
    queue.load += request.todo
    state.prefills[p].load += request.todo
    push(queue, state.requests, slot)
    if state.prefills[p].busy == 0 and state.prefills[p].stopped == 0:
        start_prefill(state, p, now_s)


@inner
def send_to_unit(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Hand the KV of a filled request over to a decode unit, and re-plan that unit if it must look up earlier."""
    totals, params, request = state.totals[0], state.params[0], state.requests[slot]
    u = choose(params.router, state.units, totals.turn_unit)
    if u < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_unit = (u + 1) % len(state.units)
    unit = state.units[u]
    request.stage = WAITING
    request.unit = u
    unit.load += request.input + request.output
    tokens = request.input + request.generated
    totals.moved_tokens += tokens
    request.ready_s = hand_over(
        state.queues[request.rank],
        unit,
        tokens,
        params.egress_s_per_token,
        params.ingress_s_per_token,
        params.hand_over_s,
        now_s,
    )
    insert_by_ready(state.waiting[u], state.requests, slot)
    if state.waiting[u].head == slot and unit.stopped == 0:
        look_up_s = request.ready_s
        if unit.running > 0:
            unit.planned = min(unit.planned, steps_to_reach(unit, request.ready_s))
            look_up_s = unit.start_s + span_s(unit, unit.planned)
        schedule(state.times, state.tree, 1 + len(state.prefills) + u, look_up_s)


@inner
def end_prompt(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: it moves on, or is done when no token was asked for."""
    totals, window, request = state.totals[0], state.window[0], state.requests[slot]
    if request.output > request.generated:
        send_to_unit(state, slot, now_s)
        return
    on_first_token(totals, window, state.batches, state.ttft, request, now_s, 1)
    on_finish(totals, window, state.batches, state.tpot, state.e2e, state.requests, slot, now_s)


@inner
def on_prefill_end(state, p, now_s):  # type: ignore[no-untyped-def]
    """A prefill step ends: its finished prompts move on, the next step begins."""
    unit = state.prefills[p]
    state.totals[0].prefill_tokens += unit.tokens
    unit.done_tokens += unit.tokens
    unit.load -= unit.tokens
    unit.busy_s += unit.lasts_s
    for index in range(unit.first_rank, unit.first_rank + unit.ranks):
        for _ in range(state.queues[index].finishing):
            end_prompt(state, pop(state.queues[index], state.requests), now_s)
        state.queues[index].finishing = 0
    start_prefill(state, p, now_s)


@inner
def admit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let those join whose KV is there and fits, first come first served; a later one never overtakes."""
    unit, waiting = state.units[u], state.waiting[u]
    joining = 0
    slot = waiting.head
    for _ in range(waiting.queued):
        request = state.requests[slot]
        need = request.input + request.output
        if request.ready_s > now_s or unit.reserved + need > unit.kv_capacity_tokens:
            break
        if unit.running >= unit.max_running:
            break
        unit.reserved += need
        unit.kv += request.input + request.generated
        unit.running += 1
        joining += 1
        slot = request.next
    unit.joined = joining
    ends_s = now_s + step_time_s(unit, state.tables, unit.running, unit.running, unit.kv)
    for _ in range(joining):
        slot = pop(waiting, state.requests)
        request = state.requests[slot]
        request.stage = RUNNING
        request.finish_step = unit.step + request.output - request.generated
        put(state.ring, u, state.requests, slot, unit.step)
        if request.generated > 0:
            on_gap(state.window[0], state.itl, request, ends_s)
        else:
            on_first_token(state.totals[0], state.window[0], state.batches, state.ttft, request, ends_s, 1)


@inner
def plan_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Plan the next macro-step: to the next finish, or to the first step boundary after the next KV arrives."""
    unit, params, waiting = state.units[u], state.params[0], state.waiting[u]
    next_s = state.requests[waiting.head].ready_s if waiting.head != END else NEVER
    ends_s = next_s
    if unit.running > 0:
        steps = min(params.most_steps, steps_to_next(state.ring, u, unit.step))
        ends_s = plan_steps(unit, state.tables, steps, now_s)
        if now_s < next_s < ends_s:
            unit.planned = min(steps, steps_to_reach(unit, next_s))
            ends_s = now_s + span_s(unit, unit.planned)
    schedule(state.times, state.tree, 1 + len(state.prefills) + u, ends_s)


@inner
def on_decode_end(state, u, now_s):  # type: ignore[no-untyped-def]
    """A macro-step ends: count it, release the finished, admit, plan the next."""
    unit, totals = state.units[u], state.totals[0]
    commit_steps(unit, totals, state.window[0], state.batches, state.itl, unit.planned, now_s)
    release_finished(state, u, now_s)
    admit(state, u, now_s)
    plan_unit(state, u, now_s)


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
    prefills = len(state.prefills)
    load_arrival(state)
    for _ in range(most_events):
        if totals.next_arrival >= totals.arrivals and totals.more == 1:
            return WANTS_ARRIVALS
        source = next_source(state.tree)
        now_s = state.times[source]
        if now_s > until_s:
            return REACHED
        if source == ARRIVALS and not has_slot(totals):
            return WANTS_SLOTS
        begin_event(totals, now_s)
        if source == ARRIVALS:
            slot = take_arrival(state, now_s)
            if slot != END:
                send_to_prefill(state, slot, now_s)
        elif source <= prefills:
            on_prefill_end(state, source - 1, now_s)
        else:
            on_decode_end(state, source - 1 - prefills, now_s)
    return LIMIT

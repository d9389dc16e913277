"""The data plane of replicas that do both: prompts are filled in chunks that ride on the decode steps.

Sources of the clock: 0 the next arrival, then the replicas. A step with prompt tokens is a step of its own;
steps without are taken together as macro-steps.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import inner, loop
from sims.engine.lists import END, has_slot, pop, push
from sims.engine.ring import put, steps_to_next
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.decode import commit_steps, plan_steps, span_s, steps_to_reach
from sims.parts.intake import ARRIVALS, begin_event, load_arrival
from sims.parts.meter import on_finish, on_first_token, on_gap, on_tokens
from sims.parts.prefill import fill_step, least_rank
from sims.parts.records import PARKED, PREFILL, RUNNING, WAITING
from sims.parts.routing.dispatch import choose
from sims.systems.llm_serving.intake import release_finished, take_arrival


@inner
def admit(state, u):  # type: ignore[no-untyped-def]
    """Let waiting prompts in, first come first served, while sequences and KV allow."""
    unit, waiting = state.units[u], state.waiting[u]
    for _ in range(waiting.queued):
        request = state.requests[waiting.head]
        need = request.input + request.output
        if unit.running + unit.filling >= unit.max_running or unit.reserved + need > unit.kv_capacity_tokens:
            break
        slot = pop(waiting, state.requests)
        unit.reserved += need
        unit.filling += 1
        request.stage = PREFILL
        request.rank = least_rank(state.queues, unit)
        state.queues[request.rank].load += request.todo
        push(state.queues[request.rank], state.requests, slot)


@inner
def plan_replica(state, u, now_s):  # type: ignore[no-untyped-def]
    """Plan the next step: with chunks of prompts if there are any, else a macro-step to the next finish."""
    unit = state.units[u]
    ends_s = NEVER
    longest_s = 0.0
    if unit.filling > 0:
        # A sequence that decodes takes one token of its rank's budget; prompts always get on by at least one.
        budget = max(1, unit.prefill_budget_tokens - unit.running // unit.ranks)
        longest_s = fill_step(unit, state.queues, state.requests, budget)
    if longest_s > 0.0:
        plan_steps(unit, state.tables, 1, now_s)
        unit.first_s += longest_s
        ends_s = now_s + unit.first_s
    elif unit.running > 0:
        steps = min(state.params[0].most_steps, steps_to_next(state.ring, u, unit.step))
        ends_s = plan_steps(unit, state.tables, steps, now_s)
    schedule(state.times, state.tree, 1 + u, ends_s)


@inner
def send_to_replica(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Queue a request at the replica that the router names; an idle one starts, a macro-step ends at its boundary."""
    totals, request = state.totals[0], state.requests[slot]
    u = choose(state.params[0].router, state.units, totals.turn_unit)
    if u < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_unit = (u + 1) % len(state.units)
    unit = state.units[u]
    request.stage = WAITING
    request.unit = u
    unit.load += request.input + request.output
    push(state.waiting[u], state.requests, slot)
    if unit.stopped == 1:
        return
    if unit.planned == 0:
        admit(state, u)
        plan_replica(state, u, now_s)
    elif unit.tokens == 0 and unit.planned > 1 and state.waiting[u].head == slot:
        unit.planned = min(unit.planned, steps_to_reach(unit, now_s))
        schedule(state.times, state.tree, 1 + u, unit.start_s + span_s(unit, unit.planned))


@inner
def end_prompt(state, u, slot, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: its next token is out, and it decodes from the next step on unless that was all."""
    unit, totals, window, request = state.units[u], state.totals[0], state.window[0], state.requests[slot]
    if request.generated > 0:
        on_gap(window, state.itl, request, now_s)
    else:
        on_first_token(totals, window, state.batches, state.ttft, request, now_s, 1)
    if request.generated < request.output:
        request.generated += 1
        on_tokens(totals, window, state.batches, 1, now_s)
    if request.generated >= request.output:
        unit.reserved -= request.input + request.output
        unit.load -= request.input + request.output
        on_finish(totals, window, state.batches, state.tpot, state.e2e, state.requests, slot, now_s)
    else:
        request.stage = RUNNING
        request.finish_step = unit.step + request.output - request.generated
        unit.running += 1
        unit.kv += request.input + request.generated
        put(state.ring, u, state.requests, slot, unit.step)


@inner
def end_filling(state, u, now_s):  # type: ignore[no-untyped-def]
    """Take the prompts out that were completed in this step."""
    unit = state.units[u]
    if unit.tokens == 0:
        return
    state.totals[0].prefill_tokens += unit.tokens
    for index in range(unit.first_rank, unit.first_rank + unit.ranks):
        for _ in range(state.queues[index].finishing):
            unit.filling -= 1
            end_prompt(state, u, pop(state.queues[index], state.requests), now_s)
        state.queues[index].finishing = 0
    unit.tokens = 0


@inner
def on_step_end(state, u, now_s):  # type: ignore[no-untyped-def]
    """A step or macro-step ends: count it, release the finished, let prompts in, plan the next."""
    unit, totals = state.units[u], state.totals[0]
    commit_steps(unit, totals, state.window[0], state.batches, state.itl, unit.planned, now_s)
    release_finished(state, u, now_s)
    end_filling(state, u, now_s)
    admit(state, u)
    plan_replica(state, u, now_s)


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
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
                send_to_replica(state, slot, now_s)
        else:
            on_step_end(state, source - 1, now_s)
    return LIMIT

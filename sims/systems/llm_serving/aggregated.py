"""The data plane of replicas that do both: prompts are filled in chunks that ride on the decode steps.

Sources of the clock: 0 the next arrival, then the replicas. A replica has one or more engines in lockstep (ranks of
attention data parallelism), and a step lasts as long as the slowest of them needs. A step with prompt tokens is a step
of its own; steps without are taken together as macro-steps, up to the first that ends an answer, lacks a block, or
lets an arrival in.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, has_slot, pop, push
from sims.engine.ring import put, take_all
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.admitted import leave
from sims.parts.blocks import blocks_of, blocks_taken, place_of
from sims.parts.decode import clock_at, commit_steps, span_s, steps_for, steps_to_reach
from sims.parts.intake import ARRIVALS, begin_event
from sims.parts.meter import on_first_token, on_gap, on_tokens
from sims.parts.prefill import clear_queue
from sims.parts.prefix_caches import (
    WANTS_ENTRIES,
    fit_cache,
    has_entries,
    keep_prompt,
    keep_shared,
    lose_cache,
    spared_tokens,
)
from sims.parts.records import PARKED, RUNNING, WAITING
from sims.parts.routing.dispatch import CODES, choose
from sims.systems.llm_serving.intake import end_answer, load_arrival, take_arrival
from sims.systems.llm_serving.lockstep import find_slowest, macro_steps
from sims.systems.llm_serving.scheduler import schedule_engine, settle, stop_decoding

LEAST_LOADED, CACHE_AWARE = CODES["least_loaded"], CODES["cache_aware"]


@handler
def schedule_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let every engine of a replica decide on its next step; how many requests had to give up their blocks."""
    unit = state.units[u]
    gone = 0
    unit.tokens = 0
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        gone += schedule_engine(state, u, e, now_s)
        unit.tokens += state.engines[e].tokens
    return gone


@handler
def plan_replica(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let the engines schedule the next step, and plan it: alone with prompts or after a preemption, else with more."""
    unit = state.units[u]
    gone = 0
    for _ in range(2):
        gone = schedule_unit(state, u, now_s)
        # Of an empty batch no step can be awaited: those that had to go are let in at once.
        if gone == 0 or unit.running + unit.tokens > 0:
            break
    ends_s = NEVER
    if unit.running + unit.tokens > 0:
        slowest = find_slowest(state, u)
        unit.start_s = now_s
        unit.planned = 1 if unit.tokens > 0 or gone > 0 else macro_steps(state, u, slowest)
        ends_s = now_s + span_s(unit, unit.planned)
    schedule(state.times, state.tree, 1 + u, ends_s)


@handler
def add_load(state, u, tokens):  # type: ignore[no-untyped-def]
    """Tokens more (or fewer) are pledged to a replica, and the tree of loads knows."""
    unit = state.units[u]
    unit.load += tokens
    schedule(state.loads, state.load_tree, u, unit.load * unit.weight)


@handler
def choose_engine(state, u, request):  # type: ignore[no-untyped-def]
    """The engine of a replica with the fewest tokens pledged, less what a router that knows caches finds in it."""
    unit, knows = state.units[u], state.params[0].router == CACHE_AWARE
    best, least = unit.first_rank, 0
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        weighs = state.engines[e].load
        if knows:
            weighs -= spared_tokens(state, e, request)
        if e == unit.first_rank or weighs < least:
            best, least = e, weighs
    return best


@handler
def choose_replica(state, request):  # type: ignore[no-untyped-def]
    """The replica that the router names; the least loaded of all needs no search, unless it takes no requests."""
    router = state.params[0].router
    lightest = next_source(state.load_tree)
    if router == LEAST_LOADED and state.units[lightest].alive == 1:
        return lightest
    if router == CACHE_AWARE:
        for u in range(len(state.units)):
            e = choose_engine(state, u, request)
            state.units[u].asks = request.input + request.output - spared_tokens(state, e, request)
    return choose(router, state.units, state.totals[0].turn_unit)


@handler
def send_to_replica(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Queue a request at the replica that the router names; an idle one wakes, a macro-step ends at its boundary."""
    totals, request = state.totals[0], state.requests[slot]
    u = choose_replica(state, request)
    if u < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_unit = (u + 1) % len(state.units)
    unit = state.units[u]
    request.rank = choose_engine(state, u, request)
    engine = state.engines[request.rank]
    request.stage = WAITING
    request.unit = u
    add_load(state, u, request.input + request.output)
    engine.load += request.input + request.output
    push(engine, state.requests, slot)
    if unit.stopped == 1:
        return
    if unit.planned == 0:
        schedule(state.times, state.tree, 1 + u, now_s)
    elif unit.tokens == 0 and unit.planned > 1 and engine.head == slot and engine.admitted < engine.most_running:
        unit.planned = min(unit.planned, steps_to_reach(unit, now_s))
        schedule(state.times, state.tree, 1 + u, unit.start_s + span_s(unit, unit.planned))


@handler
def end_prompt(state, u, e, slot, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: its next token is out, and it decodes from the next step on unless that was all."""
    unit, engine, request = state.units[u], state.engines[e], state.requests[slot]
    if request.generated > 0:
        on_gap(state.window[0], state.itl, request, now_s)
    else:
        on_first_token(state.totals[0], state.window[0], state.batches, state.ttft, request, now_s, 1)
    on_tokens(state.totals[0], state.window[0], state.batches, 1, now_s)
    request.generated += 1
    request.stage = RUNNING
    request.origin = request.input + request.generated - unit.clock
    request.finish_step = unit.step
    if request.generated < request.output:
        request.finish_step += steps_for(unit, request)
    unit.running += 1
    unit.kv += request.input + request.generated
    engine.running += 1
    engine.origin += request.origin
    state.places[e, place_of(request.origin, unit.block_tokens)] += 1
    request.bucket = put(state.ring, u, state.requests, slot, unit.step)


@handler
def end_filling(state, u, now_s):  # type: ignore[no-untyped-def]
    """Take the prompts out that were completed in this step."""
    unit = state.units[u]
    state.totals[0].prefill_tokens += unit.tokens
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        for _ in range(state.queues[e].queued):
            unit.filling -= 1
            slot = pop(state.queues[e], state.requests)
            keep_shared(state, e, state.requests[slot])
            fit_cache(state, u, e)
            end_prompt(state, u, e, slot, now_s)
    unit.tokens = 0


@handler
def depart(state, u, slot, now_s):  # type: ignore[no-untyped-def]
    """A request is done: it gives back its blocks and its place."""
    unit, request = state.units[u], state.requests[slot]
    engine = state.engines[request.rank]
    stop_decoding(state, u, request.rank, slot)
    settle(state, unit, request, request.output, now_s)
    leave(engine, state.requests, slot)
    engine.free += blocks_of(request.origin + unit.clock - 1, unit.block_tokens)
    # Its blocks are now the youngest of those that no request holds.
    keep_prompt(state, request.rank, request)
    fit_cache(state, u, request.rank)
    engine.load -= request.input + request.output
    add_load(state, u, -request.input - request.output)
    end_answer(state, slot, now_s)


@handler
def end_answers(state, u, now_s):  # type: ignore[no-untyped-def]
    """Finish the sequences whose last step this was."""
    unit = state.units[u]
    slot = take_all(state.ring, u, unit.step)
    for _ in range(len(state.requests)):
        if slot == END:
            break
        request = state.requests[slot]
        after = request.next
        if request.finish_step > unit.step:
            request.bucket = put(state.ring, u, state.requests, slot, unit.step)
        else:
            depart(state, u, slot, now_s)
        slot = after


@handler
def count_steps(state, u, steps, now_s):  # type: ignore[no-untyped-def]
    """Count what ``steps`` steps have produced and the blocks they took; the first one's are taken already."""
    unit = state.units[u]
    begin, end = clock_at(unit, unit.step + 1), clock_at(unit, unit.step + steps)
    if steps > 1:
        for e in range(unit.first_rank, unit.first_rank + unit.ranks):
            engine = state.engines[e]
            engine.free -= blocks_taken(state.places[e], unit.block_tokens, engine.running, begin, end)
    commit_steps(unit, state.totals[0], state.window[0], state.batches, state.itl, steps, now_s)


@handler
def on_step_end(state, u, now_s):  # type: ignore[no-untyped-def]
    """A step or macro-step ends, or an idle replica wakes: count it, release the finished, plan the next."""
    unit = state.units[u]
    if unit.planned > 0:
        count_steps(state, u, unit.planned, now_s)
        if unit.tokens > 0:
            end_filling(state, u, now_s)
        end_answers(state, u, now_s)
    plan_replica(state, u, now_s)


@handler
def clear_engines(state, u):  # type: ignore[no-untyped-def]
    """Forget what the engines of a halted replica held; the caller has taken care of the requests."""
    unit = state.units[u]
    add_load(state, u, -unit.load)
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        engine = state.engines[e]
        clear_queue(state.queues[e])
        engine.head = engine.tail = engine.newest = engine.filling = END
        engine.queued = engine.admitted = engine.running = engine.origin = engine.tokens = engine.load = 0
        engine.free = engine.blocks
        state.places[e, :] = 0
        lose_cache(state, e)


@handler
def prompts_ending(state, u):  # type: ignore[no-untyped-def]
    """Prompts that may be kept at the end of the step under way: those it completes, and those whose answers end."""
    unit = state.units[u]
    return unit.running + unit.filling if state.params[0].cache_blocks > 0 else 0


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
        if source != ARRIVALS and not has_entries(state, prompts_ending(state, source - 1)):
            return WANTS_ENTRIES
        begin_event(totals, now_s)
        if source == ARRIVALS:
            slot = take_arrival(state, now_s)
            if slot != END:
                send_to_replica(state, slot, now_s)
        else:
            on_step_end(state, source - 1, now_s)
    return LIMIT

"""The data plane of separate prefill and decode units: arrival → prefill → hand-over → decode.

The decode unit gives every output token; the first one at the end of the first step after the KV has arrived.
Sources of the clock: 0 the next arrival, then the prefill units, then the decode units.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, has_slot, insert_by_ready, pop, push
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.intake import ARRIVALS, begin_event
from sims.parts.link import hand_over
from sims.parts.meter import on_first_token
from sims.parts.prefill import fill_step, least_rank
from sims.parts.prefix_caches import WANTS_ENTRIES, has_entries, keep_prompt, spared_tokens
from sims.parts.ranks import add_work, idlest_rank
from sims.parts.records import PARKED, PREFILL, WAITING
from sims.parts.routing.dispatch import CODES, choose
from sims.systems.llm_serving.decoding import begin_steps, end_steps, look_up_at
from sims.systems.llm_serving.intake import end_answer, load_arrival, take_arrival
from sims.systems.llm_serving.retraction import overflows, retract

CACHE_AWARE = CODES["cache_aware"]


@handler
def start_prefill(state, p, now_s):  # type: ignore[no-untyped-def]
    """Begin the next prefill step of unit ``p``, or let it rest."""
    unit = state.prefills[p]
    unit.lasts_s = fill_step(unit, state.queues, state.requests, unit.prefill_budget_tokens)
    unit.start_s = now_s
    unit.busy = 1 if unit.tokens > 0 else 0
    schedule(state.times, state.tree, 1 + p, now_s + unit.lasts_s if unit.tokens > 0 else NEVER)


@handler
def send_to_prefill(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Queue a request at the least loaded rank of the prefill unit that the router names."""
    totals, request = state.totals[0], state.requests[slot]
    if state.params[0].router == CACHE_AWARE:
        for index in range(len(state.prefills)):
            state.prefills[index].asks = request.todo - spared_tokens(state, index, request)
    p = choose(state.params[0].router, state.prefills, totals.turn_prefill)
    if p < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_prefill = (p + 1) % len(state.prefills)
    found = spared_tokens(state, p, request)
    totals.prompt_tokens += request.input
    totals.hit_tokens += found + request.cached
    request.todo -= found
    request.cached += found
    request.stage = PREFILL
    request.unit = p
    request.rank = least_rank(state.queues, state.prefills[p])
    queue = state.queues[request.rank]
    queue.load += request.todo
    state.prefills[p].load += request.todo
    push(queue, state.requests, slot)
    if state.prefills[p].busy == 0 and state.prefills[p].stopped == 0:
        start_prefill(state, p, now_s)


@handler
def send_to_unit(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Hand the KV of a request over that was computed some time ago."""
    hand_to_unit(state, slot, 0.0, now_s)


@handler
def hand_to_unit(state, slot, computed_s, now_s):  # type: ignore[no-untyped-def]
    """Hand KV over to a rank of a decode unit, which may have to look up earlier; it took ``computed_s`` until now."""
    totals, params, request = state.totals[0], state.params[0], state.requests[slot]
    u = choose(params.router, state.units, totals.turn_unit)
    if u < 0:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return
    totals.turn_unit = (u + 1) % len(state.units)
    unit, sender, tokens = state.units[u], state.queues[request.rank], request.input + request.generated
    request.stage = WAITING
    request.unit = u
    request.rank = idlest_rank(state, u, now_s)
    add_work(state, u, request.rank, tokens, 1)
    unit.load += request.input + request.output
    totals.moved_tokens += tokens
    request.ready_s = hand_over(
        sender,
        state.ranks[u, request.rank],
        tokens,
        params.egress_s_per_token,
        params.ingress_s_per_token,
        params.hand_over_s,
        min(computed_s, params.overlap_share * tokens * max(params.egress_s_per_token, params.ingress_s_per_token)),
        now_s,
    )
    insert_by_ready(state.waiting[u], state.requests, slot)
    if state.waiting[u].head == slot and unit.stopped == 0:
        look_up_at(state, u, request.ready_s)


@handler
def end_prompt(state, slot, computed_s, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: it moves on, or is done when no token was asked for."""
    totals, window, request = state.totals[0], state.window[0], state.requests[slot]
    if request.output > request.generated:
        hand_to_unit(state, slot, computed_s, now_s)
        return
    on_first_token(totals, window, state.batches, state.ttft, request, now_s, 1)
    end_answer(state, slot, now_s)


@handler
def prompts_ending(state, p):  # type: ignore[no-untyped-def]
    """Prompts that the step under way completes, if they are to be kept."""
    unit, ending = state.prefills[p], 0
    if state.params[0].cache_blocks > 0:
        for index in range(unit.first_rank, unit.first_rank + unit.ranks):
            ending += state.queues[index].finishing
    return ending


@handler
def on_prefill_end(state, p, now_s):  # type: ignore[no-untyped-def]
    """A prefill step ends: its finished prompts move on, the next step begins."""
    unit = state.prefills[p]
    state.totals[0].prefill_tokens += unit.tokens
    unit.done_tokens += unit.tokens
    unit.load -= unit.tokens
    unit.busy_s += unit.lasts_s
    for index in range(unit.first_rank, unit.first_rank + unit.ranks):
        for _ in range(state.queues[index].finishing):
            slot = pop(state.queues[index], state.requests)
            keep_prompt(state, p, state.requests[slot])
            end_prompt(state, slot, unit.lasts_s, now_s)
        state.queues[index].finishing = 0
    start_prefill(state, p, now_s)


@handler
def make_room(state, u, now_s):  # type: ignore[no-untyped-def]
    """Send the last admitted back to prefill, as long as a rank lacks room for its next step."""
    for r in range(state.units[u].ranks):
        for _ in range(state.rank_running[u, r]):
            if not overflows(state, u, r):
                break
            send_to_prefill(state, retract(state, u, r, now_s), now_s)


@handler
def on_decode_end(state, u, now_s):  # type: ignore[no-untyped-def]
    """A macro-step ends: release the finished, admit, plan the next."""
    end_steps(state, u, now_s)
    if state.params[0].retracts == 1:
        make_room(state, u, now_s)
    begin_steps(state, u, now_s)


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
        if 1 <= source <= prefills and not has_entries(state, prompts_ending(state, source - 1)):
            return WANTS_ENTRIES
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

"""The data plane: requests arrive at a router, are sent by its policy, wait, are computed, decode and leave."""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, has_slot, pop, push
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.asking import held_blocks
from sims.parts.attempts import (
    BREAKERS,
    FIRST_INSTANCE,
    INDEX,
    TICKS,
    TIMEOUTS,
    VIEWS,
    break_call,
    hang,
    verdict_row,
)
from sims.parts.balancing.dispatch import choose
from sims.parts.calls import BROKEN, OUTBOX, SILENT
from sims.parts.health import half_open_due, next_half_open_s, on_sent
from sims.parts.index import refresh_index, speculate
from sims.parts.instances import end_prefill, end_tick, enqueue, speed, start_next
from sims.parts.intake import ARRIVALS, begin_event, load_arrival
from sims.parts.meter import batch_at
from sims.parts.segments import cached_blocks
from sims.parts.tally import count_cut, count_rejected
from sims.systems.gateway.intake import fill_ask, on_arrival

WANTS_ENTRIES = 4
LOOK_EVERY = 16
"""Every so many requests, what the fleet holds of the prompt is looked up in all instances."""


@handler
def look_closely(state, ask, i, now_s):  # type: ignore[no-untyped-def]
    """For some requests: what any instance holds of the prompt, and what the chosen one does."""
    batch = batch_at(state.params[0], now_s)
    if batch >= 0 and state.totals[0].arrived % LOOK_EVERY == 0:
        tally, block = state.batches[batch], state.params[0].block_tokens
        tally.asked_tokens += ask.tokens
        tally.held_tokens += min(ask.tokens, held_blocks(state, ask) * block)
        captured = min(ask.blocks, cached_blocks(state, i, ask.stem, ask.session))
        tally.captured_tokens += min(ask.tokens, captured * block)


@handler
def is_refused(state, call, i, now_s):  # type: ignore[no-untyped-def]
    """Whether the queue is too long for the request, or the wait would be."""
    params = state.params[0]
    waiting = state.queues[2 * i].queued + state.queues[2 * i + 1].queued
    waiting += 1 if state.instances[i].prefilling != END else 0
    if waiting >= params.queue_limit or (call.priority == 0 and waiting >= params.low_priority_limit):
        return True
    wait_s = state.queue_s[0, i] + max(0.0, state.until_s[0, i] - now_s)
    return wait_s + call.pledged_s > params.admit_within_s


@handler
def turn_away(state, slot, now_s):  # type: ignore[no-untyped-def]
    """No instance takes the request: an error, or the end of a stream that was to be resumed."""
    if state.calls[slot].first_s >= 0.0:
        count_cut(state, slot, now_s)
    else:
        count_rejected(state, slot, now_s)


@handler
def count_sent(totals, now_s):  # type: ignore[no-untyped-def]
    """The rate at which requests are sent, by whole seconds."""
    window = int(now_s)
    if window > totals.window:
        totals.sent_per_s = totals.sent_in_window / (window - totals.window)
        totals.window = window
        totals.sent_in_window = 0
    totals.sent_in_window += 1


@handler
def send(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Ask the policy and deliver the request to the instance it names, up or not."""
    ask, call, params = state.ask[0], state.calls[slot], state.params[0]
    count_sent(state.totals[0], now_s)
    fill_ask(state, ask, call, now_s)
    i = choose(params.policy_code, state, ask)
    if i < 0:
        state.totals[0].unroutable += 1
        turn_away(state, slot, now_s)
        return
    todo = ask.tokens - max(0, ask.matched) * params.block_tokens
    call.pledged_s = (params.prefill_fixed_s + max(1, todo) * params.prefill_s_per_token) * speed(
        state.params[0], state.instances[i]
    )
    if state.instances[i].up == 1 and is_refused(state, call, i, now_s):
        turn_away(state, slot, now_s)
        return
    call.instance = i
    call.attempts += 1
    on_sent(state, verdict_row(state.params[0], call.router), i)
    if ask.known > 0 and params.count_own == 1:
        state.loads[ask.known, i] += 1
        state.queue_s[ask.known, i] += call.pledged_s
    if params.index_period_s > 0.0 and params.index_own == 1:
        speculate(state, i, ask.stem, ask.session, ask.blocks)
    deliver(state, slot, i, now_s)


@handler
def deliver(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """Into the instance's queue; one that is down refuses at once, or never answers."""
    instance = state.instances[i]
    if instance.up == 1:
        state.loads[0, i] += 1
        if state.calls[slot].first_s < 0.0:
            look_closely(state, state.ask[0], i, now_s)
        enqueue(state, slot, i)
    elif instance.hangs == 1:
        state.loads[0, i] += 1
        hang(state, slot, now_s)
    else:
        state.totals[0].refused += 1
        push(state.lines[BROKEN], state.calls, slot)


@handler
def on_timeouts(state, now_s):  # type: ignore[no-untyped-def]
    """Give up on the requests whose time is up."""
    for _ in range(len(state.calls)):
        if state.lines[SILENT].queued == 0 or state.calls[state.lines[SILENT].head].deadline_s > now_s:
            break
        slot = pop(state.lines[SILENT], state.calls)
        state.loads[0, state.calls[slot].instance] -= 1
        # A stream that was cut waited for its end, not for an answer: it is counted as broken.
        if state.calls[slot].first_s < 0.0:
            state.totals[0].timed_out += 1
        push(state.lines[BROKEN], state.calls, slot)
    after_s = state.calls[state.lines[SILENT].head].deadline_s if state.lines[SILENT].queued > 0 else NEVER
    schedule(state.times, state.tree, TIMEOUTS, after_s)


@handler
def on_view(state):  # type: ignore[no-untyped-def]
    """The next router learns the loads; the others follow, evenly spread over the period."""
    totals, params = state.totals[0], state.params[0]
    row = 1 + totals.next_view % params.routers
    for i in range(len(state.instances)):
        state.loads[row, i] = state.loads[0, i]
        state.queue_s[row, i] = state.queue_s[0, i]
        state.until_s[row, i] = state.until_s[0, i]
    totals.next_view += 1
    schedule(state.times, state.tree, VIEWS, totals.next_view * params.view_period_s / params.routers)


@handler
def on_index(state, now_s):  # type: ignore[no-untyped-def]
    """The index learns what the caches hold."""
    refresh_index(state)
    schedule(state.times, state.tree, INDEX, now_s + state.params[0].index_period_s)


@handler
def on_breakers(state, now_s):  # type: ignore[no-untyped-def]
    """Breakers whose time is up are half open."""
    half_open_due(state, now_s)
    schedule(state.times, state.tree, BREAKERS, next_half_open_s(state.breakers))


@handler
def settle(state, now_s):  # type: ignore[no-untyped-def]
    """One thing that the last event has left to do: a request failed, to be sent, or an instance to look at."""
    totals = state.totals[0]
    if state.lines[BROKEN].queued > 0:
        break_call(state, pop(state.lines[BROKEN], state.calls), now_s)
    elif state.lines[OUTBOX].queued > 0:
        send(state, pop(state.lines[OUTBOX], state.calls), now_s)
    else:
        totals.waking -= 1
        i = state.instances[totals.waking].waker
        state.instances[i].waking = 0
        start_next(state, i, now_s)


@handler
def begin(state):  # type: ignore[no-untyped-def]
    """Put what recurs on the clock, once, and the next arrival."""
    params = state.params[0]
    load_arrival(state)
    if params.view_period_s > 0.0 and state.times[VIEWS] == NEVER:
        schedule(state.times, state.tree, VIEWS, params.view_period_s / params.routers)
    if params.index_period_s > 0.0 and state.times[INDEX] == NEVER:
        schedule(state.times, state.tree, INDEX, params.index_period_s)


@handler
def handle(state, source, now_s):  # type: ignore[no-untyped-def]
    """One event."""
    if source == ARRIVALS:
        on_arrival(state, now_s)
    elif source >= FIRST_INSTANCE:
        end_prefill(state, source - FIRST_INSTANCE, now_s)
    elif source == TICKS:
        end_tick(state, now_s)
    elif source == VIEWS:
        on_view(state)
    elif source == INDEX:
        on_index(state, now_s)
    elif source == TIMEOUTS:
        on_timeouts(state, now_s)
    else:
        on_breakers(state, now_s)


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
    begin(state)
    for _ in range(most_events):
        if len(state.entries) - totals.entries < state.params[0].margin:
            return WANTS_ENTRIES
        if state.lines[BROKEN].queued + state.lines[OUTBOX].queued + totals.waking > 0:
            settle(state, totals.now_s)
            continue
        if totals.next_arrival >= totals.arrivals:
            if totals.more == 1:
                return WANTS_ARRIVALS
            if totals.in_flight == 0:
                return REACHED
        source = next_source(state.tree)
        now_s = state.times[source]
        if now_s > until_s:
            return REACHED
        if source == ARRIVALS and not has_slot(totals):
            return WANTS_SLOTS
        begin_event(totals, now_s)
        handle(state, source, now_s)
    return LIMIT

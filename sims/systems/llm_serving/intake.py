"""How requests enter and leave, whatever the topology."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, take_slot
from sims.parts.clients import give_turn, moment_of, take_turn
from sims.parts.intake import ARRIVALS
from sims.parts.meter import batch_at, on_finish


@handler
def load_arrival(state):  # type: ignore[no-untyped-def]
    """Put the next arrival on the clock."""
    totals = state.totals[0]
    at_s = NEVER
    if totals.next_arrival < totals.arrivals:
        at_s = moment_of(state.clients[0], state.turns, state.arrivals[totals.next_arrival].at_s)
    schedule(state.times, state.tree, ARRIVALS, at_s)


@handler
def free_client(state, now_s):  # type: ignore[no-untyped-def]
    """In a closed loop: a request is answered, refused or lost, and its client pauses before the next."""
    if state.clients[0].count > 0:
        give_turn(state.clients[0], state.turns, now_s)
        load_arrival(state)


@handler
def take_arrival(state, now_s):  # type: ignore[no-untyped-def]
    """Take the next arrival into a slot; −1 when it could never fit and is refused, once."""
    totals = state.totals[0]
    arrival = state.arrivals[totals.next_arrival]
    totals.next_arrival += 1
    take_turn(state.clients[0])
    totals.arrived += 1
    if arrival.input + arrival.output > state.params[0].most_tokens:
        totals.rejected += 1
        batch = batch_at(state.window[0], now_s)
        if batch >= 0:
            state.batches[batch].rejected += 1
        load_arrival(state)
        free_client(state, now_s)
        return END
    load_arrival(state)
    slot = take_slot(totals, state.requests)
    request = state.requests[slot]
    request.arrival_s = now_s - state.params[0].gateway_s
    request.first_token_s = now_s
    request.last_token_s = now_s
    request.ready_s = now_s
    request.input = arrival.input
    # The last token of a prompt is always computed: the answer starts from it.
    request.todo = max(1, arrival.input - arrival.cached)
    request.output = arrival.output
    request.generated = 0
    request.cached = request.input - request.todo
    request.steps = arrival.steps
    request.stem = arrival.stem
    request.blocks = arrival.blocks
    request.phase = state.window[0].phase
    return slot


@handler
def end_answer(state, slot, now_s):  # type: ignore[no-untyped-def]
    """The last token of a request is out."""
    on_finish(state.totals[0], state.window[0], state.batches, state.tpot, state.e2e, state.requests, slot, now_s)
    free_client(state, now_s)

"""How requests enter the gateway, and what a policy is told about them."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import push, take_slot
from sims.parts.asking import draw
from sims.parts.attempts import grant_retries, verdict_row
from sims.parts.calls import OUTBOX, SENDING
from sims.parts.intake import load_arrival
from sims.parts.meter import batch_at
from sims.parts.segments import NOBODY, renew_session


@handler
def version_for(state, call):  # type: ignore[no-untyped-def]
    """Which version the request goes to: by session, or by its own luck."""
    weight = state.params[0].canary_weight
    if weight <= 0.0:
        return 0
    key = call.luck * 8191.0
    if state.params[0].canary_by_session == 1 and call.session >= 0:
        key = (call.session + 1) * 0.6180339887498949 + call.generation * 0.7548776662466927
    return 1 if key - int(key) < weight else 0


@handler
def on_arrival(state, now_s):  # type: ignore[no-untyped-def]
    """Take the next arrival into a slot and hand it to a router."""
    totals = state.totals[0]
    arrival = state.arrivals[totals.next_arrival]
    totals.next_arrival += 1
    load_arrival(state)
    totals.arrived += 1
    grant_retries(state.totals[0], state.params[0])
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        state.batches[batch].arrived += 1
    if arrival.fresh == 1:
        renew_session(state, arrival.session)
    slot = take_slot(totals, state.calls)
    call = state.calls[slot]
    call.arrival_s = now_s
    call.first_s = -1.0
    call.luck = arrival.luck
    call.stem = arrival.stem
    call.session = arrival.session
    call.generation = state.sessions[arrival.session].generation if arrival.session >= 0 else 0
    call.tokens = arrival.tokens
    call.blocks = arrival.blocks
    call.kept = arrival.kept
    call.output = arrival.output
    call.priority = arrival.priority
    call.generated = 0
    call.attempts = 0
    call.instance = NOBODY
    call.version = version_for(state, call)
    call.stage = SENDING
    push(state.lines[OUTBOX], state.calls, slot)


@handler
def luck_of(call):  # type: ignore[no-untyped-def]
    """The luck of this attempt: where one fails says nothing about the next (Park and Miller's generator)."""
    if call.attempts == 0:
        return call.luck
    seed = 1 + int(call.luck * 2147483645)
    for _ in range(call.attempts):
        seed = seed * 48271 % 2147483647
    return seed / 2147483647.0


@handler
def fill_ask(state, ask, call, now_s):  # type: ignore[no-untyped-def]
    """What the policy is told; which router asks is chosen by the balancer in front: by chance, or in turn."""
    params = state.params[0]
    ask.luck = luck_of(call)
    call.router = draw(ask, params.routers)
    if params.routers_in_turn == 1:
        call.router = (state.totals[0].arrived + call.attempts) % params.routers
    ask.now_s = now_s
    ask.router = call.router
    ask.known = 1 + call.router if params.view_period_s > 0.0 else 0
    ask.doors = call.version * len(state.breakers) + verdict_row(state.params[0], call.router)
    ask.avoid = call.instance
    ask.stem = call.stem
    ask.session = call.session
    if call.session >= 0 and state.sessions[call.session].generation != call.generation:
        ask.session = NOBODY
    ask.blocks = call.blocks
    ask.tokens = call.tokens + call.generated
    ask.matched = -1

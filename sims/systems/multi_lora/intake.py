"""How requests enter, are sent to a replica, and begin to wait there."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END, push, take_slot
from sims.parts import homes
from sims.parts.adapter_meter import count_heat
from sims.parts.adapter_routing.dispatch import CODES, choose
from sims.parts.adapter_slots import IN_MEMORY, shortage_s, wait_in_line
from sims.parts.adapters import BARE, COLD, HOT, IN_HOST, NOT_HELD, PARKED, RESIDENT, WAITING, WARM
from sims.parts.fair_share import begin_waiting
from sims.parts.host_memory import ask_for, begin_downloads
from sims.parts.intake import load_arrival
from sims.parts.lru_lists import take_out
from sims.parts.meter import batch_at

LEAST_LOADED = CODES["least_loaded"]


@handler
def take_arrival(state, now_s):  # type: ignore[no-untyped-def]
    """Take the next arrival into a slot; −1 when it could never fit and is refused, once."""
    totals, params = state.totals[0], state.params[0]
    arrival = state.arrivals[totals.next_arrival]
    totals.next_arrival += 1
    load_arrival(state)
    totals.arrived += 1
    needed = arrival.input + arrival.output + (params.adapter_tokens if arrival.adapter >= 0 else 0)
    refused = 1 if needed > params.kv_capacity_tokens else 0
    totals.rejected += refused
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        state.batches[batch].arrived += 1
        state.batches[batch].rejected += refused
    if refused == 1:
        return END
    slot = take_slot(totals, state.requests)
    request = state.requests[slot]
    request.arrival_s = now_s - params.gateway_s
    request.luck = arrival.luck
    request.seq = totals.arrived
    request.adapter = arrival.adapter if arrival.adapter >= 0 else params.adapters
    request.tenant = state.tenant_of[request.adapter]
    request.input = arrival.input
    # The last token of a prompt is always computed: the answer starts from it.
    request.todo = max(1, arrival.input - arrival.cached)
    request.output = arrival.output
    request.generated = 0
    request.billed = 0
    request.unit = END
    totals.prompt_tokens += arrival.input
    state.came[request.adapter] += 1
    return slot


@handler
def chosen(state, request, now_s):  # type: ignore[no-untyped-def]
    """The replica that the policy names, or one kept for cold starts when it lacks the adapter; −1: none is up."""
    params, ask, k = state.params[0], state.ask[0], request.adapter
    normal, count = state.homes.shape[1], len(state.units)
    bare = k == params.adapters
    ask.adapter = k
    ask.luck = request.luck
    u = choose(LEAST_LOADED if bare and params.homed == 1 else params.policy, state, state.ask[0])
    if normal == count or bare or (u != END and state.cells[u, k].host == IN_HOST):
        return u
    cold = homes.least_loaded(state, normal, count, 0)
    if cold == END:
        return u
    state.totals[0].diverted += 1
    if u != END and params.warm_up == 1 and state.cells[u, k].host == NOT_HELD and state.units[u].stopped == 0:
        state.totals[0].warm_ups += 1
        ask_for(state, u, k)
        begin_downloads(state, u, now_s)
    return cold


@handler
def found(cell, bare):  # type: ignore[no-untyped-def]
    """Where the adapter of a request is that comes to a replica."""
    if bare:
        return BARE
    if cell.slot == RESIDENT:
        return HOT
    return WARM if cell.host == IN_HOST else COLD


@handler
def route(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Send a request to a replica, where it waits; the replica, or −1 when none is up."""
    request = state.requests[slot]
    u = chosen(state, request, now_s)
    if u == END:
        request.stage = PARKED
        push(state.parked[0], state.requests, slot)
        return END
    k = request.adapter
    cell = state.cells[u, k]
    request.unit = u
    request.sent_s = now_s
    request.short_mark = shortage_s(state.units[u], now_s)
    request.stage = WAITING
    request.heat = found(cell, k == state.params[0].adapters)
    count_heat(state.totals[0], request.heat)
    state.units[u].load += 1
    if cell.queued == 0:
        cell.first_seq = request.seq
    push(cell, state.requests, slot)
    begin_waiting(state, u, request.tenant, now_s)
    if cell.host == IN_HOST:
        take_out(state, u, IN_MEMORY, k)
        wait_in_line(state, u, k)
    else:
        ask_for(state, u, k)
    return u

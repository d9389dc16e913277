"""What the control plane does to the state between two slices: a replica halts, is isolated, comes back.

A lost replica loses its slots and its host memory. Each of its requests is computed again elsewhere (prompt and answer
so far) and goes on with its next token; nothing is emitted twice.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, pop, push
from sims.parts.adapter_slots import link_source
from sims.parts.adapters import (
    FILLING,
    IN_HOST,
    NO_LINE,
    NO_SLOT,
    NOT_HELD,
    RESIDENT,
    RUNNING,
    SENDING,
    WAITING,
)
from sims.parts.decode import span_s, steps_done
from sims.parts.fair_share import settle_lane
from sims.parts.host_memory import plan_downloads
from sims.parts.lora_steps import commit
from sims.parts.lru_lists import OUT
from sims.parts.prefill import clear_queue
from sims.systems.multi_lora.loop import leave_batch

HALT, ISOLATE, REJOIN = 0, 1, 2


@handler
def halt(state, u, now_s):  # type: ignore[no-untyped-def]
    """A replica fails in the midst of its step; nobody knows yet, and requests are still sent to it."""
    unit = state.units[u]
    if unit.planned > 0:
        steps = steps_done(unit, now_s)
        last_s = unit.start_s + span_s(unit, steps)
        # Stalls were billed when the copies began.
        unit.busy_s += unit.stall_s if steps == 0 else 0.0
        commit(state, u, steps, now_s)
        unit.start_s = last_s
    unit.stopped = 1
    for index in range(state.downloads.shape[1]):
        state.downloads[u, index].adapter = END
    schedule(state.times, state.tree, 1 + u, NEVER)
    schedule(state.times, state.tree, link_source(state, u), NEVER)
    plan_downloads(state, u)


@handler
def restart(state, u, slot):  # type: ignore[no-untyped-def]
    """What a request must compute again after the loss of its KV, and its way back to the router."""
    request = state.requests[slot]
    if request.stage == RUNNING:
        request.generated = request.output - (request.finish_step - state.units[u].step)
        leave_batch(state, u, slot)
    if request.stage != WAITING or request.generated > 0:
        request.todo = max(1, request.input + request.generated)
    state.totals[0].restarted += 1
    request.taken = 0
    request.stage = SENDING
    request.unit = END
    push(state.outbox[0], state.requests, slot)


@handler
def forget_adapters(state, u, now_s):  # type: ignore[no-untyped-def]
    """Empty a replica's slots and its host memory."""
    for k in range(state.cells.shape[1] - 1):
        cell = state.cells[u, k]
        if cell.slot != NO_SLOT:
            state.lanes[u, state.tenant_of[k]].slot_s += now_s - cell.granted_s
        cell.slot = NO_SLOT
        cell.host = NOT_HELD
        for which in range(2):
            state.older[u, which, k] = OUT
            state.newer[u, which, k] = OUT
    for k in range(state.cells.shape[1]):
        cell = state.cells[u, k]
        cell.head = END
        cell.tail = END
        cell.queued = 0
        cell.claimed = 0
        cell.users = 0
        cell.line = NO_LINE
    for which in range(2):
        state.lined[u, which] = 0
        state.ends[u, which, 0] = END
        state.ends[u, which, 1] = END


@handler
def clear_unit(state, u):  # type: ignore[no-untyped-def]
    """Forget what a replica was doing."""
    unit = state.units[u]
    unit.alive = 0
    unit.load = 0
    unit.filling = 0
    unit.joined = 0
    unit.distinct = 0
    unit.kv = 0
    unit.reserved = 0
    unit.tokens = 0
    unit.stall_due_s = 0.0
    unit.pause_s = 0.0
    unit.empty_slots = 0
    unit.idle = 0
    unit.claimed = 0
    unit.waiting = 0
    unit.waiting_tenants = 0
    unit.left_tenant = END
    unit.host_used = 0
    unit.fetching = 0
    unit.link_free_s = 0.0
    unit.short = 0


@handler
def isolate(state, u, now_s):  # type: ignore[no-untyped-def]
    """A replica's failure is known: its requests go to others."""
    for slot in range(len(state.requests)):
        stage = state.requests[slot].stage
        if stage in (WAITING, FILLING, RUNNING) and state.requests[slot].unit == u:
            restart(state, u, slot)
    for t in range(state.lanes.shape[1]):
        settle_lane(state, u, t)
        state.lanes[u, t].waiting = 0
        state.lanes[u, t].slots = 0
    for at in range(state.ring.shape[1]):
        state.ring[u, at] = END
    clear_queue(state.filling[u])
    clear_queue(state.copying[u])
    clear_queue(state.asked[u])
    clear_unit(state, u)
    forget_adapters(state, u, now_s)


@handler
def rejoin(state, u, now_s):  # type: ignore[no-untyped-def]
    """A replica is back with nothing but what is pinned; requests that found none up go on."""
    unit, params = state.units[u], state.params[0]
    unit.alive = 1
    unit.stopped = 0
    unit.empty_slots = params.slots
    for k in range(params.adapters):
        cell = state.cells[u, k]
        if cell.pinned == 1:
            cell.slot = RESIDENT
            cell.host = IN_HOST
            cell.granted_s = now_s
            unit.empty_slots -= 1
            unit.host_used += 1
    for _ in range(state.parked[0].queued):
        slot = pop(state.parked[0], state.requests)
        state.requests[slot].stage = SENDING
        push(state.outbox[0], state.requests, slot)


@loop
def obey(state, order, u, now_s):  # type: ignore[no-untyped-def]
    """The one entry: compiling a large state's way in from Python takes longer than what is behind it."""
    state.totals[0].now_s = now_s
    if order == HALT:
        halt(state, u, now_s)
    elif order == ISOLATE:
        isolate(state, u, now_s)
    else:
        rejoin(state, u, now_s)

"""Slots of GPU memory that adapters are copied into.

An adapter keeps its slot while any of its requests runs; of those at rest the one used longest ago gives way. So who
wants a slot that is not there waits for another adapter to drain, not for a copy.
"""

from __future__ import annotations

from sims.engine.clock import schedule
from sims.engine.kernel import handler
from sims.engine.lists import push
from sims.parts.adapter_lines import enter_line, leave_line
from sims.parts.adapters import IN_HOST, LOADING, NO_LINE, NO_SLOT, READY, RESIDENT, WANTING
from sims.parts.lru_lists import oldest, put_newest, take_out

BESIDE, STALLS, PIPELINED = 0, 1, 2
IN_SLOTS, IN_MEMORY = 0, 1
"""Orders of use: of adapters at rest in slots, and of those in host memory that nobody asks for."""


@handler
def link_source(state, u):  # type: ignore[no-untyped-def]
    """The replica's source on the clock for the end of the next copy."""
    return 1 + len(state.units) + u


@handler
def shortage_s(unit, now_s):  # type: ignore[no-untyped-def]
    """For how long, up to now, there has been no slot to be given."""
    return unit.short_clock + (now_s - unit.short_since_s if unit.short == 1 else 0.0)


@handler
def note_shortage(unit, now_s):  # type: ignore[no-untyped-def]
    """After something has happened at a replica: whether it has a slot to give."""
    unit.short_clock = shortage_s(unit, now_s)
    unit.short_since_s = now_s
    unit.short = 1 if unit.empty_slots + unit.idle == 0 else 0


@handler
def evict(state, u, k, now_s):  # type: ignore[no-untyped-def]
    """Take the slot of an adapter at rest; should requests wait for it, it wants one again."""
    unit, cell = state.units[u], state.cells[u, k]
    unit.idle -= take_out(state, u, IN_SLOTS, k)
    unit.empty_slots += 1
    cell.slot = NO_SLOT
    state.lanes[u, state.tenant_of[k]].slot_s += now_s - cell.granted_s
    if cell.line == READY:
        leave_line(state, u, k)
        enter_line(state, u, k, WANTING)


@handler
def copy_in(state, u, k, now_s):  # type: ignore[no-untyped-def]
    """Copy an adapter into the slot it was given."""
    unit, cell, params, totals = state.units[u], state.cells[u, k], state.params[0], state.totals[0]
    lane, size = state.lanes[u, state.tenant_of[k]], state.sizes[k]
    copy_s = params.swap_fixed_s + size * params.swap_s_per_byte
    totals.copies += 1
    totals.copy_bytes += size
    lane.copies += 1
    lane.copy_bytes += size
    if params.swap == STALLS:
        unit.stall_due_s += copy_s
        lane.stall_s += copy_s
        cell.copied_s = now_s
    else:
        unit.link_free_s = max(now_s, unit.link_free_s) + copy_s
        cell.copied_s = unit.link_free_s
    if params.swap == BESIDE:
        cell.slot = LOADING
        push(state.copying[u], state.cells[u], k)
        if state.copying[u].queued == 1:
            schedule(state.times, state.tree, link_source(state, u), cell.copied_s)
    else:
        cell.slot = RESIDENT
        enter_line(state, u, k, READY)


@handler
def grant(state, u, k, now_s):  # type: ignore[no-untyped-def]
    """Give a slot to an adapter that wants one; there is one, empty or with an adapter at rest."""
    unit, cell = state.units[u], state.cells[u, k]
    leave_line(state, u, k)
    if unit.empty_slots == 0:
        evict(state, u, oldest(state, u, IN_SLOTS), now_s)
    unit.empty_slots -= 1
    unit.claimed += 1
    cell.claimed = 1
    state.lanes[u, state.tenant_of[k]].slots += 1
    cell.granted_s = now_s
    cell.granted_mark = shortage_s(unit, now_s)
    copy_in(state, u, k, now_s)


@handler
def use(state, u, k):  # type: ignore[no-untyped-def]
    """One more request of the adapter is in the batch."""
    unit, cell = state.units[u], state.cells[u, k]
    cell.users += 1
    if cell.users == 1 and k != state.params[0].adapters:
        state.lanes[u, state.tenant_of[k]].slots += 1 - cell.claimed
        unit.distinct += 1
        unit.idle -= take_out(state, u, IN_SLOTS, k)
    unit.claimed -= cell.claimed
    cell.claimed = 0


@handler
def rest(state, u, k, now_s):  # type: ignore[no-untyped-def]
    """A request of the adapter has left the batch; after the last one others may have its slot, or its pages."""
    unit, cell = state.units[u], state.cells[u, k]
    cell.users -= 1
    if cell.users > 0 or k == state.params[0].adapters:
        return
    unit.distinct -= 1
    state.lanes[u, state.tenant_of[k]].slots -= 1
    if cell.pinned == 0:
        put_newest(state, u, IN_SLOTS, k)
        unit.idle += 1
        if cell.queued == 0 and cell.host == IN_HOST:
            put_newest(state, u, IN_MEMORY, k)
        if state.params[0].adapter_tokens > 0:
            evict(state, u, k, now_s)


@handler
def wait_in_line(state, u, k):  # type: ignore[no-untyped-def]
    """The adapter has waiting requests and lies in host memory: it enters the line that its slot says."""
    cell = state.cells[u, k]
    if cell.line == NO_LINE and cell.slot != LOADING:
        enter_line(state, u, k, READY if cell.slot == RESIDENT else WANTING)

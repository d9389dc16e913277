"""Host memory of a replica, which holds adapters beyond those in its slots, and downloads from the object store.

It is inclusive: what is in a slot is here too. A download takes a place when it begins; of the adapters that nobody
asks for the one used longest ago gives way, and its slot with it. While all are asked for, downloads wait.
"""

from __future__ import annotations

import numpy as np

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push
from sims.parts.adapter_slots import IN_MEMORY, evict, shortage_s, wait_in_line
from sims.parts.adapters import ASKED, FETCHING, IN_HOST, NOT_HELD, RESIDENT
from sims.parts.lru_lists import oldest, put_newest, take_out

DOWNLOAD = np.dtype([("adapter", "i8"), ("ends_s", "f8")])


@handler
def make_place(state, u, now_s):  # type: ignore[no-untyped-def]
    """Take a place in host memory; False when all that is there is asked for."""
    unit = state.units[u]
    if unit.host_used < state.params[0].host_adapters:
        unit.host_used += 1
        return True
    victim = oldest(state, u, IN_MEMORY)
    if victim == END:
        return False
    take_out(state, u, IN_MEMORY, victim)
    state.cells[u, victim].host = NOT_HELD
    if state.cells[u, victim].slot == RESIDENT:
        evict(state, u, victim, now_s)
    return True


@handler
def plan_downloads(state, u):  # type: ignore[no-untyped-def]
    """Put the end of the replica's next download on the clock."""
    first_s = NEVER
    for line in range(state.downloads.shape[1]):
        if state.downloads[u, line].adapter != END:
            first_s = min(first_s, state.downloads[u, line].ends_s)
    schedule(state.times, state.tree, 1 + 2 * len(state.units) + u, first_s)


@handler
def begin_download(state, u, line, now_s):  # type: ignore[no-untyped-def]
    """Fetch what was asked for first."""
    params, totals, download = state.params[0], state.totals[0], state.downloads[u, line]
    k = pop(state.asked[u], state.cells[u])
    lane, size = state.lanes[u, state.tenant_of[k]], state.sizes[k]
    state.cells[u, k].host = FETCHING
    state.units[u].fetching += 1
    download.adapter = k
    download.ends_s = now_s + params.store_first_byte_s + size * params.store_s_per_byte
    totals.downloads += 1
    totals.download_bytes += size
    lane.downloads += 1
    lane.download_bytes += size


@handler
def begin_downloads(state, u, now_s):  # type: ignore[no-untyped-def]
    """Use the downloads that are free for what was asked for, as far as there are places."""
    lines = state.downloads.shape[1]
    if state.asked[u].queued == 0 or state.units[u].fetching == lines:
        return
    for line in range(lines):
        if state.downloads[u, line].adapter == END:
            if state.asked[u].queued == 0 or not make_place(state, u, now_s):
                break
            begin_download(state, u, line, now_s)
    plan_downloads(state, u)


@handler
def ask_for(state, u, k):  # type: ignore[no-untyped-def]
    """Ask for an adapter that is not in host memory nor on its way; downloads begin when the replica is looked at."""
    if state.cells[u, k].host == NOT_HELD:
        state.cells[u, k].host = ASKED
        push(state.asked[u], state.cells[u], k)


@handler
def on_downloaded(state, u, now_s):  # type: ignore[no-untyped-def]
    """A download has ended: who waits for the adapter wants a slot now."""
    for line in range(state.downloads.shape[1]):
        download = state.downloads[u, line]
        if download.adapter == END or download.ends_s > now_s:
            continue
        k = download.adapter
        cell = state.cells[u, k]
        download.adapter = END
        state.units[u].fetching -= 1
        cell.host = IN_HOST
        cell.host_s = now_s
        cell.host_mark = shortage_s(state.units[u], now_s)
        if cell.queued > 0:
            wait_in_line(state, u, k)
        else:
            put_newest(state, u, IN_MEMORY, k)
    plan_downloads(state, u)

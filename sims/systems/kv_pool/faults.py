"""A node is lost and comes back; the LLM's version changes: control-plane events between two slices.

A lost node takes along its HBM, its share of the pools (sessions are placed whole on a node), and what it was
computing. Its prompts are computed anew on other nodes, from their first token.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, give_slot, pop
from sims.parts.holdings import drop
from sims.parts.routing import least_loaded
from sims.systems.kv_pool.keeping import settle
from sims.systems.kv_pool.serving import enqueue, work_on, work_s


@handler
def begin_anew(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Compute a prompt from its first token on another node; without one it is lost."""
    totals, params, request = state.totals[0], state.params[0], state.requests[slot]
    u = least_loaded.choose(state.nodes, 0)
    if u < 0:
        totals.rejected += 1
        give_slot(totals, state.requests, slot)
        return
    totals.restarted += 1
    request.ready_s = now_s
    request.kv_s = now_s
    request.todo = request.tokens
    request.compute_s = params.prefill_s + work_s(params, 0, request.tokens)
    enqueue(state, slot, u, now_s)


@handler
def resize_caches(state, node, sign):  # type: ignore[no-untyped-def]
    """Take a node's share of each tier out of the caches, or put it back."""
    for tier in range(3):
        one = state.tiers[tier]
        state.store.caches[one.first if one.pooled == 1 else one.first + node].capacity += sign * one.node_blocks


@loop
def lose(state, node, now_s):  # type: ignore[no-untyped-def]
    """A node is gone with all it holds, unless it was already."""
    store, one = state.store, state.nodes[node]
    if one.alive == 0:
        return
    one.alive = 0
    schedule(state.times, state.tree, 1 + node, NEVER)
    for e in range(len(store.entries)):
        if store.entries[e].owner != END and store.entries[e].home == node:
            drop(store, e)
    resize_caches(state, node, -1)
    for kind in range(6):
        # What was booked and has not been moved never will be.
        link = state.links[6 * node + kind]
        link.busy_s -= max(0.0, link.free_s - now_s)
        link.free_s = now_s
    serving = one.serving
    if serving != END:
        one.busy_s += now_s - one.began_s
    one.serving = END
    one.load = 0
    for turn in range(len(state.requests)):
        slot = serving
        if turn > 0 or serving == END:
            for side in range(2):
                slot = END
                if state.queues[2 * node + side].head != END:
                    slot = pop(state.queues[2 * node + side], state.requests)
                    break
        if slot == END:
            break
        begin_anew(state, slot, now_s)


@loop
def rejoin(state, node, now_s):  # type: ignore[no-untyped-def]
    """The node is back, empty, unless it was already."""
    if state.nodes[node].alive == 1:
        return
    state.nodes[node].alive = 1
    state.nodes[node].alone_free_s = max(state.nodes[node].alone_free_s, now_s)
    resize_caches(state, node, 1)
    work_on(state, node, now_s)


@loop
def purge(state, version):  # type: ignore[no-untyped-def]
    """Forget all entries of a version at once."""
    for e in range(len(state.store.entries)):
        if state.store.entries[e].owner != END and state.store.entries[e].version == version:
            drop(state.store, e)


@loop
def settle_all(state, now_s):  # type: ignore[no-untyped-def]
    """Evict what a smaller pool or a new quota no longer allows."""
    for u in range(len(state.nodes)):
        settle(state, u, now_s)

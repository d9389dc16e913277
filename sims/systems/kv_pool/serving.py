"""Nodes as prefill servers: what a prompt takes, when its KV is there, and who is next."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, give_slot, pop, push, take_slot
from sims.engine.sketch import record
from sims.parts.meter import batch_at
from sims.parts.node_links import read_route, transfer, wait_s
from sims.parts.routing import least_loaded, round_robin

PLACED, AT_WORK = 1, 2
"""Stages of a request: queued at a node, or being computed."""


@handler
def node_for(state, turn):  # type: ignore[no-untyped-def]
    """The node that computes a turn; −1 when none is alive."""
    params, nodes = state.params[0], state.nodes
    if params.place == 2:
        u = round_robin.choose(nodes, params.turn_node)
        params.turn_node = (u + 1) % len(nodes)
        return u
    if params.place == 3:
        return least_loaded.choose(nodes, 0)
    draw = turn.home_u if params.place == 0 else turn.place_u
    return round_robin.choose(nodes, min(len(nodes) - 1, int(draw * len(nodes))))


@handler
def work_s(params, first, last):  # type: ignore[no-untyped-def]
    """Computing the tokens of a prompt from ``first`` to ``last``, without the fixed part."""
    return params.linear_s * (last - first) + params.square_s * (float(last) * last - float(first) * first)


@handler
def fetched_sooner(state, route, size, latency_s, piece, now_s):  # type: ignore[no-untyped-def]
    """Whether reading a piece now, with the waiting of the moment, is done before computing it would be."""
    params, speeds = state.params[0], state.speeds
    waits_s = 0.0
    span_s = 0.0
    for step in range(3):
        if route[step] >= 0:
            waits_s = max(waits_s, wait_s(state.links, route[step], now_s))
            span_s = max(span_s, size / speeds[route[step] % 6])
    first = piece.depth * params.block_tokens
    return waits_s + latency_s + span_s < work_s(params, first, first + piece.blocks * params.block_tokens)


@handler
def fetch(state, piece, request, u, now_s):  # type: ignore[no-untyped-def]
    """Read a piece of a lower tier for a request, or decline it; whether it was read."""
    params, tier = state.params[0], state.tiers[piece.tier]
    size = piece.blocks * params.block_bytes
    route = read_route(u, piece.home, piece.tier == 2)
    wanted = params.fetch == 0
    if params.fetch == 1:
        wanted = fetched_sooner(state, route, size, tier.latency_s, piece, now_s)
    if not wanted:
        tier.declined += piece.blocks
        return False
    if now_s < params.serves_from_s:
        return True
    start_s, span_s = transfer(state.links, state.speeds, route, size, now_s)
    end_s = start_s + tier.latency_s + span_s
    tier.reads += 1
    tier.read += piece.blocks
    tier.waited_s += start_s - now_s
    tier.took_s += end_s - now_s
    if batch_at(state.window[0], now_s) >= 0:
        record(state.waits[piece.tier - 1], start_s - now_s, 1)
    request.kv_s = max(request.kv_s, end_s)
    # Layers come one after the other: the first is enough to begin.
    request.ready_s = max(request.ready_s, end_s - span_s * (params.layers - 1) / params.layers)
    return True


@handler
def file_by_ready(queue, pool, slot):  # type: ignore[no-untyped-def]
    """Queue a prompt behind all whose KV is there no later, looking from the end."""
    ready_s = pool[slot].ready_s
    ahead = queue.tail
    for _ in range(queue.queued):
        if pool[ahead].ready_s <= ready_s:
            break
        ahead = pool[ahead].before
    pool[slot].before = ahead
    if ahead == END:
        pool[slot].next = queue.head
        queue.head = slot
    else:
        pool[slot].next = pool[ahead].next
        pool[ahead].next = slot
    after = pool[slot].next
    if after == END:
        queue.tail = slot
    else:
        pool[after].before = slot
    queue.queued += 1


@handler
def next_prompt(state, u, now_s):  # type: ignore[no-untyped-def]
    """Take the prompt that was ready first from a node's queues; −1 when none is ready."""
    plain, coming, pool = state.queues[2 * u], state.queues[2 * u + 1], state.requests
    ready = coming.head != END and pool[coming.head].ready_s <= now_s
    if ready and (plain.head == END or pool[coming.head].ready_s < pool[plain.head].ready_s):
        slot = pop(coming, pool)
        if coming.head != END:
            pool[coming.head].before = END
        return slot
    if plain.head != END:
        return pop(plain, pool)
    return END


@handler
def work_on(state, u, now_s):  # type: ignore[no-untyped-def]
    """Begin the next prompt on an idle node, or wake it when the first KV on its way arrives."""
    node, pool = state.nodes[u], state.requests
    slot = next_prompt(state, u, now_s)
    node.serving = slot
    coming = state.queues[2 * u + 1].head
    until_s = NEVER
    if slot != END:
        request = pool[slot]
        request.stage = AT_WORK
        # The last layer's share of the work cannot begin before the last layer's KV is there.
        last_s = request.kv_s + request.compute_s / state.params[0].layers
        until_s = max(now_s + request.compute_s, last_s)
        node.began_s = now_s
    elif coming != END:
        until_s = pool[coming].ready_s
    node.until_s = until_s
    schedule(state.times, state.tree, 1 + u, until_s)


@handler
def enqueue(state, slot, u, now_s):  # type: ignore[no-untyped-def]
    """Queue a prompt at a node, and let the node begin if it is idle."""
    request = state.requests[slot]
    request.node = u
    request.stage = PLACED
    state.nodes[u].load += request.todo
    if request.ready_s > now_s:
        file_by_ready(state.queues[2 * u + 1], state.requests, slot)
    else:
        push(state.queues[2 * u], state.requests, slot)
    if state.nodes[u].serving == END:
        work_on(state, u, now_s)


@handler
def on_node(state, u, now_s):  # type: ignore[no-untyped-def]
    """A node has finished its prompt, or wakes to begin one."""
    node, slot = state.nodes[u], state.nodes[u].serving
    if slot != END:
        request, totals = state.requests[slot], state.totals[0]
        node.busy_s += now_s - node.began_s
        node.load -= request.todo
        totals.finished += 1
        state.whole[0].finished += 1
        state.whole[0].ttft_sum_s += now_s - request.arrival_s
        batch = batch_at(state.window[0], request.arrival_s)
        if batch >= 0:
            record(state.ttft[batch], now_s - request.arrival_s, 1)
            state.batches[batch].finished += 1
            state.batches[batch].ttft_sum_s += now_s - request.arrival_s
        give_slot(totals, state.requests, slot)
    work_on(state, u, now_s)


@handler
def pass_by(state, slot):  # type: ignore[no-untyped-def]
    """A request that only touches the caches is done as it comes."""
    state.totals[0].finished += 1
    give_slot(state.totals[0], state.requests, slot)


@handler
def serve_alone(state, u, compute_s, batch, now_s):  # type: ignore[no-untyped-def]
    """The same turn on a fleet with HBM only: first come first served, no fetch, so that no event is needed."""
    node = state.nodes[u]
    node.alone_free_s = max(node.alone_free_s, now_s) + compute_s
    waited_s = node.alone_free_s - now_s
    state.whole[0].alone_n += 1
    state.whole[0].alone_ttft_sum_s += waited_s
    if batch >= 0:
        record(state.alone[batch], waited_s, 1)
        state.batches[batch].alone_n += 1
        state.batches[batch].alone_ttft_sum_s += waited_s


@handler
def take_request(state, turn, now_s):  # type: ignore[no-untyped-def]
    """A slot for a turn whose KV is all there."""
    slot = take_slot(state.totals[0], state.requests)
    request = state.requests[slot]
    request.arrival_s = now_s
    request.ready_s = now_s
    request.kv_s = now_s
    request.tokens = turn.tokens
    return slot

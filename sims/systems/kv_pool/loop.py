"""The data plane: a request looks its prefix up, reads what is worth reading, is computed, and leaves its KV.

Caches change at arrival, in the order of requests; so what is hit does not depend on queues, and every design sees
the same stream. Sources of the clock: 0 the next request, then the nodes.
"""

from __future__ import annotations

from sims.engine.clock import next_source
from sims.engine.kernel import handler, loop
from sims.engine.lists import has_slot
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.intake import ARRIVALS, begin_event, load_arrival
from sims.parts.meter import batch_at
from sims.systems.kv_pool.keeping import end_session, keep_path, settle
from sims.systems.kv_pool.lookup import cut_pieces, find_entries, lay_path, note_use, seen_before
from sims.systems.kv_pool.serving import enqueue, fetch, node_for, on_node, pass_by, serve_alone, take_request, work_s


@handler
def version_of(state, turn):  # type: ignore[no-untyped-def]
    """The LLM version that serves a turn: 1 with the share that the new one has at the moment."""
    params = state.params[0]
    draw = turn.request_u if params.by_request == 1 else turn.session_u
    return 1 if draw < params.new_share else 0


@handler
def use_pieces(state, sums, request, found, tokens, u, now_s):  # type: ignore[no-untyped-def]
    """Read or decline each piece; seconds of computing that remain, and tokens that need not be computed."""
    params = state.params[0]
    block = params.block_tokens
    rest_s = params.prefill_s + work_s(params, min(tokens, found * block), tokens)
    saved = 0
    for index in range(state.totals[0].pieces):
        piece = state.pieces[index]
        first, last = piece.depth * block, min(tokens, (piece.depth + piece.blocks) * block)
        if piece.tier > 0 and not fetch(state, piece, request, u, now_s):
            sums.declined += piece.blocks
            rest_s += work_s(params, first, last)
            continue
        saved += last - first
        if piece.tier == 0:
            sums.hbm += piece.blocks
        elif piece.tier == 1:
            sums.dram += piece.blocks
        else:
            sums.ssd += piece.blocks
    return rest_s, saved


@handler
def count_turn(state, sums, turn, lookups, found, saved, now_s):  # type: ignore[no-untyped-def]
    """Add a request to the sums; ``sums`` held its hits by tier so far and is cleared."""
    sums.requests = 1
    sums.tokens = turn.tokens
    sums.lookups = lookups
    sums.missed = lookups - found
    sums.hit_tokens = saved
    sums.hbm_requests = 1 if sums.hbm > 0 else 0
    sums.dram_requests = 1 if sums.dram > 0 else 0
    sums.ssd_requests = 1 if sums.ssd > 0 else 0
    sums.miss_requests = 1 if saved == 0 else 0
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        add(state.batches[batch], sums)
        row = min(len(state.by_turn) - 1, turn.turn)
        state.by_turn[row, 0] += turn.tokens
        state.by_turn[row, 1] += saved
        state.by_turn[row, 2] += 1
        mine = state.by_kind[turn.kind]
        mine[0] += 1
        mine[1] += turn.tokens
        mine[2] += saved
        mine[3] += sums.reusable
        mine[4] += sums.hbm + sums.dram + sums.ssd
    add(state.whole[0], sums)


@handler
def add(total, sums):  # type: ignore[no-untyped-def]
    """Add what one request counts."""
    total.requests += sums.requests
    total.tokens += sums.tokens
    total.lookups += sums.lookups
    total.reusable += sums.reusable
    total.hbm += sums.hbm
    total.dram += sums.dram
    total.ssd += sums.ssd
    total.declined += sums.declined
    total.missed += sums.missed
    total.hit_tokens += sums.hit_tokens
    total.hbm_requests += sums.hbm_requests
    total.dram_requests += sums.dram_requests
    total.ssd_requests += sums.ssd_requests
    total.miss_requests += sums.miss_requests
    total.compute_s += sums.compute_s
    total.alone_compute_s += sums.alone_compute_s
    total.bare_compute_s += sums.bare_compute_s


@handler
def blocks_asked(state):  # type: ignore[no-untyped-def]
    """Blocks of the prompt in hand."""
    blocks = 0
    for i in range(state.totals[0].path):
        blocks += state.path[i].limit
    return blocks


@handler
def on_arrival(state, now_s):  # type: ignore[no-untyped-def]
    """A request comes: look up, decide, queue, touch, evict."""
    totals, params, sums = state.totals[0], state.params[0], state.one[0]
    turn = state.arrivals[totals.next_arrival]
    totals.next_arrival += 1
    totals.arrived += 1
    load_arrival(state)
    lay_path(state, turn, now_s)
    u = node_for(state, turn)
    if u < 0:
        totals.rejected += 1
        end_session(state, turn)
        return
    version = version_of(state, turn)
    find_entries(state, version, u, now_s)
    found, alone = cut_pieces(state)
    sums.hbm = 0
    sums.dram = 0
    sums.ssd = 0
    sums.declined = 0
    slot = take_request(state, turn, now_s)
    request = state.requests[slot]
    sums.reusable = seen_before(state)
    rest_s, saved = use_pieces(state, sums, request, found, turn.tokens, u, now_s)
    request.compute_s = rest_s
    request.todo = turn.tokens - saved
    sums.compute_s = rest_s
    sums.bare_compute_s = params.prefill_s + work_s(params, 0, turn.tokens)
    alone_tokens = min(turn.tokens, alone * params.block_tokens)
    sums.alone_compute_s = params.prefill_s + work_s(params, alone_tokens, turn.tokens)
    count_turn(state, sums, turn, blocks_asked(state), found, saved, now_s)
    if now_s < params.serves_from_s:
        pass_by(state, slot)
    else:
        serve_alone(state, u, sums.alone_compute_s, batch_at(state.window[0], now_s), now_s)
        enqueue(state, slot, u, now_s)
    for i in range(totals.path):
        note_use(state, state.path[i], now_s)
    keep_path(state, version, u, now_s)
    end_session(state, turn)
    settle(state, u, now_s)


@handler
def is_short(state):  # type: ignore[no-untyped-def]
    """Whether a request might not find the records it needs."""
    book = state.store.book[0]
    return not has_slot(state.totals[0]) or book.entries_left <= 3 * len(state.path) + 8 or book.owners_left <= 1


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
    load_arrival(state)
    for _ in range(most_events):
        if totals.next_arrival >= totals.arrivals and totals.more == 1:
            return WANTS_ARRIVALS
        source = next_source(state.tree)
        now_s = state.times[source]
        if now_s > until_s:
            return REACHED
        if source == ARRIVALS and is_short(state):
            return WANTS_SLOTS
        begin_event(totals, now_s)
        if source == ARRIVALS:
            on_arrival(state, now_s)
        else:
            on_node(state, source - 1, now_s)
    return LIMIT

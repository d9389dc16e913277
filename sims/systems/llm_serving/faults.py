"""A unit halts, is isolated and rejoins: control-plane events that change the state between two slices.

All its requests lose their KV. Each is computed again elsewhere (prompt and answer so far), or what a pool holds of
it is fetched, and goes on with its next token; nothing is emitted twice. Or they fail, if that is the policy.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, give_slot, pop, push
from sims.parts.clients import give_turn
from sims.parts.decode import commit_steps, span_s, steps_done, written
from sims.parts.link import fetch
from sims.parts.meter import batch_at, on_first_token
from sims.parts.prefill import clear_queue
from sims.parts.prefix_caches import lose_cache
from sims.parts.ranks import clear_ranks, grow_ranks
from sims.parts.records import FETCHING, PARKED, PREFILL, RUNNING, WAITING
from sims.systems.llm_serving.aggregated import clear_engines, send_to_replica
from sims.systems.llm_serving.disaggregated import send_to_prefill, send_to_unit
from sims.systems.llm_serving.intake import free_client
from sims.systems.llm_serving.recovery import ANSWERS, NOTHING


@handler
def shut(state, u):  # type: ignore[no-untyped-def]
    """Take a halted unit out of the routers' sight and forget its lists; the moment of its last token."""
    unit = state.units[u]
    for at in range(state.ring.shape[1]):
        state.ring[u, at] = END
    clear_queue(state.waiting[u])
    unit.running = 0
    unit.kv = 0
    unit.load = 0
    unit.tokens = 0
    unit.filling = 0
    unit.alive = 0
    return unit.start_s


@handler
def take_back(state, slot, last_s):  # type: ignore[no-untyped-def]
    """What a sequence has written when its unit is lost."""
    request = state.requests[slot]
    generated = written(state.units[request.unit], request)
    if generated == 0:
        # It had just joined, and the step that would have given its first token is lost.
        window = state.window[0]
        on_first_token(state.totals[0], window, state.batches, state.ttft, request, request.first_token_s, -1)
    elif generated > request.generated:
        request.last_token_s = last_s
    request.generated = generated


@handler
def restart(state, slot):  # type: ignore[no-untyped-def]
    """What a request must compute again after the loss of its KV; how many of its tokens a pool gives back."""
    request, recovery = state.requests[slot], state.recovery[0]
    whole = request.input + request.generated
    state.totals[0].restarted += 1
    if request.generated == 0 and request.todo > 0:
        # Its prompt was not complete: a pool still has the prefix it was found with, a lost unit's cache has not.
        in_units = request.blocks > 0 and state.params[0].cache_blocks > 0
        if in_units or (recovery.pool_holds == NOTHING and request.todo < whole - request.cached):
            request.cached = 0
        request.todo = max(1, whole - request.cached)
        return 0
    held = 0
    if recovery.pool_holds != NOTHING:
        kept = whole if recovery.pool_holds == ANSWERS else request.input
        block = recovery.pool_block_tokens
        # The last token is always computed: the answer goes on from it.
        held = max(0, min(kept, whole - 1)) // block * block
    request.todo = max(1, whole - held)
    request.cached = whole - request.todo
    return held


@handler
def fail(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A request is lost with its unit."""
    totals = state.totals[0]
    totals.lost += 1
    totals.lost_output_tokens += state.requests[slot].generated
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        state.batches[batch].lost += 1
    if state.clients[0].count > 0:
        give_turn(state.clients[0], state.turns, now_s)
    give_slot(totals, state.requests, slot)
    free_client(state, now_s)


@handler
def park(state, slot):  # type: ignore[no-untyped-def]
    """Put a request among those to be sent on."""
    state.requests[slot].stage = PARKED
    push(state.parked[0], state.requests, slot)


@handler
def begin_again(state, slot, last_s, now_s):  # type: ignore[no-untyped-def]
    """Take a request from its lost unit: it fails, waits for its KV from the pool, or is to be sent on."""
    request, recovery = state.requests[slot], state.recovery[0]
    if request.stage == RUNNING:
        take_back(state, slot, last_s)
    if recovery.fails == 1:
        fail(state, slot, now_s)
        return
    request.unit = END
    held = restart(state, slot)
    if held == 0:
        park(state, slot)
        return
    state.totals[0].fetched_tokens += held
    request.ready_s = fetch(recovery, held, now_s)
    request.stage = FETCHING
    push(state.fetching[0], state.requests, slot)


@loop
def halt_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """A decode unit or replica fails; nobody knows yet, and requests are still sent to it."""
    unit = state.units[u]
    steps = steps_done(unit, now_s)
    last_s = unit.start_s + span_s(unit, steps)
    # What it has done of the step under way counts.
    grow_ranks(state, u, steps)
    commit_steps(unit, state.totals[0], state.window[0], state.batches, state.itl, steps, now_s)
    unit.start_s = last_s
    unit.stopped = 1
    before = 0 if state.params[0].aggregated == 1 else len(state.prefills)
    schedule(state.times, state.tree, 1 + before + u, NEVER)


@loop
def halt_prefill(state, p, now_s):  # type: ignore[no-untyped-def]
    """A prefill unit fails; nobody knows yet, and prompts are still sent to it."""
    unit = state.prefills[p]
    if unit.busy == 1:
        unit.busy_s += now_s - unit.start_s
    unit.busy = 0
    unit.stopped = 1
    schedule(state.times, state.tree, 1 + p, NEVER)


@loop
def isolate_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """The failure of a decode unit or replica is known; its requests go back to prefill, or to other replicas."""
    aggregated = state.params[0].aggregated == 1
    last_s = shut(state, u)
    if aggregated:
        clear_engines(state, u)
    else:
        clear_ranks(state, u)
    for slot in range(len(state.requests)):
        stage = state.requests[slot].stage
        here = stage in (RUNNING, WAITING) or (aggregated and stage == PREFILL)
        if here and state.requests[slot].unit == u:
            begin_again(state, slot, last_s, now_s)


@loop
def isolate_prefill(state, p, now_s):  # type: ignore[no-untyped-def]
    """The failure of a prefill unit is known; its prompts go to the others, and so do those whose KV waited in it."""
    unit = state.prefills[p]
    first, after = unit.first_rank, unit.first_rank + unit.ranks
    for index in range(first, after):
        clear_queue(state.queues[index])
    unit.load = 0
    unit.tokens = 0
    unit.alive = 0
    lose_cache(state, p)
    for slot in range(len(state.requests)):
        request = state.requests[slot]
        if request.stage == PARKED and request.todo == 0 and first <= request.rank < after:
            restart(state, slot)
        elif request.stage == PREFILL and request.unit == p:
            begin_again(state, slot, now_s, now_s)


@loop
def take_fetched(state, upto_s):  # type: ignore[no-untyped-def]
    """KV has come from the pool: its requests are to be sent on."""
    for _ in range(state.fetching[0].queued):
        if state.requests[state.fetching[0].head].ready_s > upto_s:
            break
        park(state, pop(state.fetching[0], state.requests))


@loop
def send_parked(state, now_s):  # type: ignore[no-untyped-def]
    """Send on who waits for a prefill or decode unit; without one for it a request goes on waiting."""
    for _ in range(state.parked[0].queued):
        slot = pop(state.parked[0], state.requests)
        if state.requests[slot].todo > 0:
            send_to_prefill(state, slot, now_s)
        else:
            send_to_unit(state, slot, now_s)


@loop
def send_parked_to_replicas(state, now_s):  # type: ignore[no-untyped-def]
    """Send on who waits for a replica."""
    for _ in range(state.parked[0].queued):
        send_to_replica(state, pop(state.parked[0], state.requests), now_s)

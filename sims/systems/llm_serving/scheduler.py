"""What an engine computes in its next step: a rank of a replica with its own queue, blocks, cap and budget.

Those that run go first, in the order of admission: a sequence that decodes takes a token, a prompt what it still needs
or what the budget leaves. Where blocks are missing the last admitted gives up its own, waits at the head of the queue
and computes prompt and answer so far again. Only when nobody had to are others let in, first come first served; the
first that does not fit holds up the rest.

As all that run are served before anyone is let in, at most the last admitted has a prompt that is not through. And
whoever is pushed out is the last of the order: so the batch is cut from its end until what is left fits.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push, push_first
from sims.engine.ring import take_out
from sims.parts.admitted import enter, leave
from sims.parts.blocks import blocks_of, blocks_taken, place_of
from sims.parts.decode import clock_at, written
from sims.parts.meter import on_tokens
from sims.parts.prefix_caches import fit_cache, spared_tokens
from sims.parts.records import PREFILL, RUNNING, WAITING


@handler
def push_out(state, u, e, now_s):  # type: ignore[no-untyped-def]
    """The last admitted gives up its blocks and waits at the head of the queue."""
    unit, engine, totals = state.units[u], state.engines[e], state.totals[0]
    slot = engine.newest
    request = state.requests[slot]
    leave(engine, state.requests, slot)
    if request.stage == RUNNING:
        held = request.origin + unit.clock - 1
        take_out(state.ring, u, state.requests, slot, request.bucket)
        stop_decoding(state, u, e, slot)
        settle(state, unit, request, written(unit, request), now_s)
        request.last_token_s = now_s
    else:
        held = request.input + request.generated - request.todo
        engine.filling = END
        unit.filling -= 1
    engine.free += blocks_of(held, unit.block_tokens)
    totals.preempted += 1
    totals.preempted_tokens += held
    request.stage = WAITING
    request.cached = 0
    request.todo = request.input + request.generated
    push_first(engine, state.requests, slot)


@handler
def settle(state, unit, request, made, now_s):  # type: ignore[no-untyped-def]
    """A sequence has written ``made`` tokens, which the clock of its unit has counted as more or fewer."""
    off = made - (request.origin + unit.clock - request.input)
    if off != 0:
        on_tokens(state.totals[0], state.window[0], state.batches, off, now_s)
    request.generated = made


@handler
def stop_decoding(state, u, e, slot):  # type: ignore[no-untyped-def]
    """A sequence is no longer part of the batch."""
    unit, engine, request = state.units[u], state.engines[e], state.requests[slot]
    unit.running -= 1
    unit.kv -= request.origin + unit.clock
    engine.running -= 1
    engine.origin -= request.origin
    state.places[e, place_of(request.origin, unit.block_tokens)] -= 1


@handler
def fill(state, e, slot, take):  # type: ignore[no-untyped-def]
    """Compute ``take`` tokens of a prompt in the next step; the caller has seen that there are blocks for them."""
    engine, request = state.engines[e], state.requests[slot]
    before = request.input + request.generated - request.todo
    engine.pairs += take * (before + take / 2)
    engine.tokens += take
    request.todo -= take
    if request.todo == 0:
        engine.filling = END
        push(state.queues[e], state.requests, slot)
    else:
        engine.filling = slot


@handler
def blocks_to_go_on(state, u, e):  # type: ignore[no-untyped-def]
    """Blocks that those which run take in the next step."""
    unit, engine = state.units[u], state.engines[e]
    need = blocks_taken(state.places[e], unit.block_tokens, engine.running, unit.clock, clock_at(unit, unit.step + 1))
    if engine.filling == END:
        return need
    request = state.requests[engine.filling]
    before = request.input + request.generated - request.todo
    take = min(request.todo, unit.prefill_budget_tokens - engine.running)
    return need + blocks_of(before + take, unit.block_tokens) - blocks_of(before, unit.block_tokens)


@handler
def go_on(state, u, e, now_s):  # type: ignore[no-untyped-def]
    """Take the blocks of those that run, pushing out the last admitted while they are too few; how many went."""
    unit, engine = state.units[u], state.engines[e]
    gone = 0
    for _ in range(engine.admitted):
        need = blocks_to_go_on(state, u, e)
        if need <= engine.free:
            engine.free -= need
            break
        push_out(state, u, e, now_s)
        gone += 1
    slot = engine.filling
    if slot != END:
        fill(state, e, slot, min(state.requests[slot].todo, unit.prefill_budget_tokens - engine.running))
    return gone


@handler
def admit(state, u, e):  # type: ignore[no-untyped-def]
    """Let prompts in while sequences, budget and blocks allow."""
    unit, engine = state.units[u], state.engines[e]
    for _ in range(engine.queued):
        left = unit.prefill_budget_tokens - engine.running - engine.tokens
        if engine.admitted >= engine.most_running or left <= 0:
            break
        request = state.requests[engine.head]
        whole = request.input + request.generated
        found = spared_tokens(state, e, request)
        take = min(request.todo - found, left)
        first = blocks_of(whole - request.todo + found + take, unit.block_tokens)
        need = blocks_of(whole, unit.block_tokens) if unit.reserve_full_prompt == 1 else first
        if need > engine.free:
            break
        slot = pop(engine, state.requests)
        engine.free -= first
        enter(engine, state.requests, slot)
        find_prompt(state, request, found)
        request.stage = PREFILL
        unit.filling += 1
        fill(state, e, slot, take)
        fit_cache(state, u, e)


@handler
def find_prompt(state, request, found):  # type: ignore[no-untyped-def]
    """So much of a prompt need not be computed; count what was asked for and found when it comes for the first time."""
    request.todo -= found
    request.cached += found
    if request.generated == 0:
        state.totals[0].prompt_tokens += request.input
        state.totals[0].hit_tokens += request.cached


@handler
def schedule_engine(state, u, e, now_s):  # type: ignore[no-untyped-def]
    """Decide what an engine computes in the next step; how many had to give up their blocks."""
    engine = state.engines[e]
    engine.tokens = 0
    engine.pairs = 0.0
    gone = go_on(state, u, e, now_s)
    fit_cache(state, u, e)
    if gone == 0:
        admit(state, u, e)
    return gone

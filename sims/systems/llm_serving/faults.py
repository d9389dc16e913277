"""A unit halts, is isolated and rejoins: control-plane events that change the state between two slices.

All its requests lose their KV. Each is computed again elsewhere (prompt and answer so far) and goes on with its
next token; nothing is emitted twice.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import inner, loop
from sims.engine.lists import END, pop
from sims.parts.decode import commit_steps, span_s, steps_done
from sims.parts.meter import on_first_token
from sims.parts.prefill import clear_queue
from sims.parts.ranks import clear_ranks, grow_ranks
from sims.parts.records import PREFILL, RUNNING, WAITING
from sims.systems.llm_serving.aggregated import send_to_replica
from sims.systems.llm_serving.disaggregated import send_to_prefill, send_to_unit


@inner
def halt(state, u, first_source, now_s):  # type: ignore[no-untyped-def]
    """Stop a unit in the midst of its step; what it has done until then counts."""
    unit = state.units[u]
    steps = steps_done(unit, now_s)
    last_s = unit.start_s + span_s(unit, steps)
    grow_ranks(state, u, steps)
    commit_steps(unit, state.totals[0], state.window[0], state.batches, state.itl, steps, now_s)
    unit.start_s = last_s
    unit.stopped = 1
    schedule(state.times, state.tree, first_source + u, NEVER)


@inner
def shut(state, u):  # type: ignore[no-untyped-def]
    """Take a halted unit out of the routers' sight and forget its lists; the moment of its last token."""
    unit = state.units[u]
    for at in range(state.ring.shape[1]):
        state.ring[u, at] = END
    clear_queue(state.waiting[u])
    unit.running = 0
    unit.kv = 0
    unit.reserved = 0
    unit.load = 0
    unit.tokens = 0
    unit.filling = 0
    unit.alive = 0
    return unit.start_s


@inner
def restart(state, slot, last_s):  # type: ignore[no-untyped-def]
    """What a request must compute again after the loss of its KV."""
    request = state.requests[slot]
    if request.stage == RUNNING:
        generated = request.output - (request.finish_step - state.units[request.unit].step)
        if generated == 0:
            # It had just joined, and the step that would have given its first token is lost.
            window = state.window[0]
            on_first_token(state.totals[0], window, state.batches, state.ttft, request, request.first_token_s, -1)
        elif generated > request.generated:
            request.last_token_s = last_s
        request.generated = generated
    if request.stage != WAITING or request.todo == 0:
        # All but those that had not begun: what was computed is gone, and so is the cache that held its prefix.
        request.todo = request.input + request.generated
    state.totals[0].restarted += 1


@loop
def halt_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """A decode unit fails; nobody knows yet, and requests are still sent to it."""
    halt(state, u, 1 + len(state.prefills), now_s)


@loop
def isolate_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """The failure of a decode unit is known; its requests go back to prefill."""
    last_s = shut(state, u)
    clear_ranks(state, u)
    for slot in range(len(state.requests)):
        stage = state.requests[slot].stage
        if stage in (RUNNING, WAITING) and state.requests[slot].unit == u:
            restart(state, slot, last_s)
            send_to_prefill(state, slot, now_s)


@loop
def rejoin_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """A decode unit is back, empty; requests that found no unit go to it."""
    state.units[u].alive = 1
    state.units[u].stopped = 0
    for _ in range(state.parked[0].queued):
        slot = pop(state.parked[0], state.requests)
        send_to_unit(state, slot, now_s)


@loop
def halt_replica(state, u, now_s):  # type: ignore[no-untyped-def]
    """An aggregated replica fails; nobody knows yet, and requests are still sent to it."""
    halt(state, u, 1, now_s)


@loop
def isolate_replica(state, u, now_s):  # type: ignore[no-untyped-def]
    """The failure of a replica is known; its requests start again on the others."""
    last_s = shut(state, u)
    first = state.units[u].first_rank
    for index in range(first, first + state.units[u].ranks):
        clear_queue(state.queues[index])
    for slot in range(len(state.requests)):
        stage = state.requests[slot].stage
        if stage in (RUNNING, WAITING, PREFILL) and state.requests[slot].unit == u:
            restart(state, slot, last_s)
            send_to_replica(state, slot, now_s)


@loop
def rejoin_replica(state, u, now_s):  # type: ignore[no-untyped-def]
    """An aggregated replica is back, empty; requests that found none go to it."""
    state.units[u].alive = 1
    state.units[u].stopped = 0
    for _ in range(state.parked[0].queued):
        send_to_replica(state, pop(state.parked[0], state.requests), now_s)

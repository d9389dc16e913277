"""The data plane: arrivals are limited and routed, replicas step, adapters are downloaded and copied.

Sources of the clock: 0 the next arrival; then each replica's step, each one's copies, each one's downloads; last the
tenants' limits. Every event leaves at most one replica to be looked at.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, has_slot, pop, push
from sims.engine.ring import put, take_all
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS, WANTS_SLOTS
from sims.parts.adapter_lines import first_in_line, goes_before, leave_line
from sims.parts.adapter_meter import on_done, on_first
from sims.parts.adapter_slots import grant, link_source, note_shortage, rest, use, wait_in_line
from sims.parts.adapters import FILLING, READY, RESIDENT, RUNNING, SENDING, WANTING
from sims.parts.decode import span_s, steps_to_reach
from sims.parts.fair_share import end_waiting, settle_lane
from sims.parts.host_memory import begin_downloads, on_downloaded
from sims.parts.intake import ARRIVALS, begin_event, load_arrival
from sims.parts.lora_steps import commit, plan_next
from sims.parts.token_buckets import passes_limit, release_held
from sims.systems.multi_lora.intake import route, take_arrival


@handler
def start(state, u, k, now_s):  # type: ignore[no-untyped-def]
    """Let the adapter's first waiting request into the batch."""
    unit, cell = state.units[u], state.cells[u, k]
    slot = pop(cell, state.requests)
    request = state.requests[slot]
    if cell.queued > 0:
        cell.first_seq = state.requests[cell.head].seq
    else:
        leave_line(state, u, k)
    use(state, u, k)
    end_waiting(state, u, request.tenant)
    if request.billed == 0:
        request.billed = 1
        state.lanes[u, request.tenant].requests += 1
        state.lanes[u, request.tenant].in_tokens += request.input
    unit.reserved += request.input + request.output
    unit.filling += 1
    request.admitted_s = now_s
    request.stage = FILLING
    request.taken = 0
    push(state.filling[u], state.requests, slot)


@handler
def fits(state, u, k, more):  # type: ignore[no-untyped-def]
    """Whether the adapter's first waiting request has room: its KV beside that of others and, where adapters have no
    slots of their own, beside the pages of those on the GPU and of ``more``."""
    unit, params, head = state.units[u], state.params[0], state.requests[state.cells[u, k].head]
    pages = (params.slots - unit.empty_slots + more) * params.adapter_tokens
    return unit.reserved + head.input + head.output + pages <= params.kv_capacity_tokens


@handler
def wants_before(state, u, k):  # type: ignore[no-untyped-def]
    """The adapter that is to get a slot before adapter ``k`` runs; −1 when none is."""
    unit = state.units[u]
    if state.lined[u, WANTING] == 0 or unit.empty_slots + unit.idle == 0:
        return END
    wanting = first_in_line(state, u, WANTING, True)
    if wanting == END or k == END:  # noqa: PLR1714 - compiled code tests numbers, not sets
        return wanting
    return wanting if goes_before(state, u, wanting, k) else END


@handler
def admit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let requests in and give slots, in the scheduler's order, while batch and KV have room."""
    unit, params = state.units[u], state.params[0]
    for _ in range(len(state.requests) + state.cells.shape[1]):
        busy = unit.running + unit.filling
        if unit.waiting == 0 or busy >= params.max_running:
            break
        room = busy + unit.claimed < params.max_running
        k = first_in_line(state, u, READY, room)
        wanting = wants_before(state, u, k) if room else END
        if wanting != END:
            # Alone it fits, or it would have been refused.
            if params.adapter_tokens > 0 and busy + unit.claimed > 0 and not fits(state, u, wanting, 1):
                break
            grant(state, u, wanting, now_s)
            continue
        if k == END:
            break
        if busy > 0 and not fits(state, u, k, 0):
            break
        start(state, u, k, now_s)


@handler
def may_admit(state, u):  # type: ignore[no-untyped-def]
    """Whether the end of the present step, rather than of the macro-step, may let somebody in."""
    unit, most = state.units[u], state.params[0].max_running
    busy = unit.running + unit.filling
    if busy + unit.claimed < most:
        return state.lined[u, READY] > 0 or (state.lined[u, WANTING] > 0 and unit.empty_slots + unit.idle > 0)
    return busy < most and state.lined[u, READY] > 0


@handler
def look_at(state, u, now_s):  # type: ignore[no-untyped-def]
    """After something has happened at a replica: downloads begin, one at rest starts, a macro-step is cut short."""
    unit = state.units[u]
    if unit.stopped == 1:
        return
    begin_downloads(state, u, now_s)
    if unit.planned == 0:
        admit(state, u, now_s)
        note_shortage(unit, now_s)
        plan_next(state, u, now_s)
    elif unit.planned > 1 and may_admit(state, u):
        unit.planned = min(unit.planned, steps_to_reach(unit, now_s))
        schedule(state.times, state.tree, 1 + u, unit.start_s + span_s(unit, unit.planned))


@handler
def depart(state, u, slot, now_s):  # type: ignore[no-untyped-def]
    """A request is done: its KV, its place and its hold on the adapter's slot are free."""
    unit, request = state.units[u], state.requests[slot]
    unit.reserved -= request.input + request.output
    unit.load -= 1
    rest(state, u, request.adapter, now_s)
    on_done(state, slot, now_s)


@handler
def join(state, u, slot):  # type: ignore[no-untyped-def]
    """A request whose prompt is computed decodes from the next step on."""
    unit, request = state.units[u], state.requests[slot]
    lane = state.lanes[u, request.tenant]
    lane.running += 1
    request.stage = RUNNING
    request.finish_step = unit.step + request.output - request.generated
    request.base_mark = unit.base_clock
    request.lora_mark = unit.lora_clock
    unit.running += 1
    unit.joined += 1
    unit.lora_running += 1 if request.adapter != state.params[0].adapters else 0
    unit.kv += request.input + request.generated
    put(state.ring, u, state.requests, slot, unit.step)


@handler
def end_prompt(state, u, slot, now_s):  # type: ignore[no-untyped-def]
    """A prompt is computed: its next token is out."""
    unit, totals, request = state.units[u], state.totals[0], state.requests[slot]
    unit.filling -= 1
    if request.generated == 0:
        on_first(state, request, now_s)
    settle_lane(state, u, request.tenant)
    if request.generated < request.output:
        request.generated += 1
        totals.output_tokens += 1
        state.lanes[u, request.tenant].out_tokens += 1
    if request.generated >= request.output:
        depart(state, u, slot, now_s)
    else:
        join(state, u, slot)


@handler
def bill_prompt(state, u, slot):  # type: ignore[no-untyped-def]
    """The share of the step that a prompt's tokens have had."""
    unit, params, request = state.units[u], state.params[0], state.requests[slot]
    lane = state.lanes[u, request.tenant]
    weighted = params.input_weight * request.taken
    lane.base_s += weighted * unit.base_tick
    if request.adapter != params.adapters:
        lane.lora_s += weighted * unit.lora_tick
    lane.computed_tokens += request.taken
    state.totals[0].computed_tokens += request.taken
    request.taken = 0


@handler
def end_prompts(state, u, now_s):  # type: ignore[no-untyped-def]
    """Bill the prompt tokens of the step, and take out the prompts that it completed."""
    unit, queue = state.units[u], state.filling[u]
    if unit.tokens == 0:
        return
    for _ in range(queue.finishing):
        slot = pop(queue, state.requests)
        bill_prompt(state, u, slot)
        end_prompt(state, u, slot, now_s)
    if queue.head != END and state.requests[queue.head].taken > 0:
        bill_prompt(state, u, queue.head)
    queue.finishing = 0
    unit.tokens = 0


@handler
def leave_batch(state, u, slot):  # type: ignore[no-untyped-def]
    """A sequence stops decoding: what it has had of the GPU is billed."""
    unit, params, request = state.units[u], state.params[0], state.requests[slot]
    settle_lane(state, u, request.tenant)
    lane = state.lanes[u, request.tenant]
    lane.running -= 1
    lane.base_s += params.output_weight * (unit.base_clock - request.base_mark)
    if request.adapter != params.adapters:
        lane.lora_s += params.output_weight * (unit.lora_clock - request.lora_mark)
        unit.lora_running -= 1
    unit.running -= 1


@handler
def release_finished(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let the sequences go whose last step this was."""
    unit = state.units[u]
    slot = take_all(state.ring, u, unit.step)
    for _ in range(len(state.requests)):
        if slot == END:
            break
        after = state.requests[slot].next
        if state.requests[slot].finish_step > unit.step:
            put(state.ring, u, state.requests, slot, unit.step)
        else:
            unit.kv -= state.requests[slot].input + state.requests[slot].output
            leave_batch(state, u, slot)
            depart(state, u, slot, now_s)
        slot = after


@handler
def on_step_end(state, u, now_s):  # type: ignore[no-untyped-def]
    """A step or macro-step ends: count it, release the finished, take out the prompts that are computed."""
    emits = state.units[u].emits
    commit(state, u, state.units[u].planned, now_s)
    if emits == 1:
        release_finished(state, u, now_s)
    end_prompts(state, u, now_s)


@handler
def on_copied(state, u):  # type: ignore[no-untyped-def]
    """A copy has ended: the adapter's requests may run."""
    k = pop(state.copying[u], state.cells[u])
    state.cells[u, k].slot = RESIDENT
    wait_in_line(state, u, k)
    after, at_s = state.copying[u].head, NEVER
    if after != END:
        at_s = state.cells[u, after].copied_s
    schedule(state.times, state.tree, link_source(state, u), at_s)


@handler
def handle(state, source, now_s):  # type: ignore[no-untyped-def]
    """Handle the event of a source; the replica to be looked at, or −1."""
    count = len(state.units)
    if source == ARRIVALS or source == 1 + 3 * count:
        slot = take_arrival(state, now_s) if source == ARRIVALS else release_held(state, now_s)
        if slot != END and (source != ARRIVALS or passes_limit(state, slot, now_s)):
            state.requests[slot].stage = SENDING
            push(state.outbox[0], state.requests, slot)
        return END
    u = (source - 1) % count
    if source <= count:
        on_step_end(state, u, now_s)
    elif source <= 2 * count:
        on_copied(state, u)
    else:
        on_downloaded(state, u, now_s)
    return u


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
    load_arrival(state)
    for _ in range(most_events):
        u = END
        if state.outbox[0].queued > 0:
            totals.events += 1
            u = route(state, pop(state.outbox[0], state.requests), totals.now_s)
        else:
            if totals.next_arrival >= totals.arrivals and totals.more == 1:
                return WANTS_ARRIVALS
            source = next_source(state.tree)
            now_s = state.times[source]
            if now_s > until_s:
                return REACHED
            if source == ARRIVALS and not has_slot(totals):
                return WANTS_SLOTS
            begin_event(totals, now_s)
            u = handle(state, source, now_s)
        if u != END:
            look_at(state, u, totals.now_s)
    return LIMIT

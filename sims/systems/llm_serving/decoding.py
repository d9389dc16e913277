"""Decode units of ranks in lockstep: sequences join at a step's end and leave with their last token."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push
from sims.engine.ring import put, steps_to_next, take_all
from sims.parts.admitted import enter
from sims.parts.decode import clock_ahead, commit_steps, span_s, steps_for, steps_to_reach
from sims.parts.meter import on_first_token, on_gap
from sims.parts.ranks import find_slowest, grow_ranks, steps_in_lead
from sims.parts.records import RUNNING
from sims.parts.step_times import step_time_s
from sims.systems.llm_serving.intake import end_answer
from sims.systems.llm_serving.retraction import steps_to_overflow, strip
from sims.systems.llm_serving.scheduler import settle


@handler
def has_room(state, u, request):  # type: ignore[no-untyped-def]
    """Whether a sequence fits on its rank: with all the tokens that it will have, or with what it has and some air."""
    rank, running = state.ranks[u, request.rank], state.rank_running[u, request.rank]
    if running >= rank.max_running:
        return False
    if state.params[0].retracts == 0:
        return rank.reserved + request.input + request.output <= rank.kv_capacity
    tokens = state.rank_kv[u, request.rank] + request.input + request.generated
    return running == 0 or tokens + (running + 1) * state.params[0].kv_headroom_tokens <= rank.kv_capacity


@handler
def join(state, u, slot):  # type: ignore[no-untyped-def]
    """Let a sequence decode from the next step on; it goes to those that are joining."""
    unit, request = state.units[u], state.requests[slot]
    tokens = request.input + request.generated
    state.ranks[u, request.rank].reserved += request.input + request.output
    state.rank_running[u, request.rank] += 1
    state.rank_kv[u, request.rank] += tokens
    unit.kv += tokens
    unit.running += 1
    request.origin = tokens - unit.clock
    if state.params[0].retracts == 1:
        enter(state.ranks[u, request.rank], state.requests, slot)
    push(state.joining[0], state.requests, slot)


@handler
def admit_waiting(state, u):  # type: ignore[no-untyped-def]
    """Let those join that wait on their ranks for room, on each first come first served."""
    unit = state.units[u]
    for r in range(unit.ranks):
        rank = state.ranks[u, r]
        for _ in range(rank.queued):
            if not has_room(state, u, state.requests[rank.head]):
                break
            unit.blocked -= 1
            join(state, u, pop(rank, state.requests))


@handler
def admit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let those join whose KV is there and fits; on a rank a later one never overtakes."""
    unit, waiting = state.units[u], state.waiting[u]
    if unit.blocked > 0:
        admit_waiting(state, u)
    for _ in range(waiting.queued):
        request = state.requests[waiting.head]
        if request.ready_s > now_s:
            break
        slot = pop(waiting, state.requests)
        rank = state.ranks[u, request.rank]
        if rank.queued == 0 and has_room(state, u, request):
            join(state, u, slot)
        else:
            push(rank, state.requests, slot)
            unit.blocked += 1


@handler
def measure_step(state, u):  # type: ignore[no-untyped-def]
    """How long the next step lasts and by how much each one after it is longer: the slowest rank's, and the mean."""
    unit = state.units[u]
    kv = unit.kv + unit.running * clock_ahead(unit)
    token_s = unit.step_s_per_kv_token * unit.tokens_per_step
    unit.even_s = unit.step_s_per_sequence * unit.running + unit.step_s_per_kv_token * kv
    unit.even_growth_s = token_s * unit.running
    if unit.ranks > 1:
        unit.lag_s = max(0.0, find_slowest(state, u) - unit.even_s)
        unit.lag_growth_s = token_s * (unit.ranks * state.rank_running[u, unit.slowest] - unit.running)
    unit.first_s = step_time_s(unit, state.tables, unit.running, unit.running, kv) + unit.lag_s
    unit.growth_s = unit.even_growth_s + unit.lag_growth_s


@handler
def begin_joining(state, u, now_s):  # type: ignore[no-untyped-def]
    """The next step gives those that join a token; their last step is known."""
    unit, joining = state.units[u], state.joining[0]
    unit.joined = joining.queued
    ends_s = now_s + unit.first_s
    for _ in range(joining.queued):
        slot = pop(joining, state.requests)
        request = state.requests[slot]
        request.stage = RUNNING
        request.finish_step = unit.step + steps_for(unit, request)
        if request.generated == 0 and unit.tokens_per_step > 1.0:
            # Steps are drawn for what follows the first token.
            request.finish_step += 1
        request.bucket = put(state.ring, u, state.requests, slot, unit.step)
        if request.generated > 0:
            on_gap(state.window[0], state.itl, request, ends_s)
        else:
            on_first_token(state.totals[0], state.window[0], state.batches, state.ttft, request, ends_s, 1)


@handler
def plan_unit(state, u, now_s):  # type: ignore[no-untyped-def]
    """Plan the next macro-step: to the next finish, to the first step boundary after the next KV arrives, until
    another rank becomes the slowest, or until one is full."""
    unit, waiting = state.units[u], state.waiting[u]
    next_s = state.requests[waiting.head].ready_s if waiting.head != END else NEVER
    ends_s = next_s
    if unit.running > 0:
        unit.start_s = now_s
        unit.planned = min(state.params[0].most_steps, steps_to_next(state.ring, u, unit.step))
        if next_s < now_s + span_s(unit, unit.planned):
            unit.planned = min(unit.planned, steps_to_reach(unit, next_s))
        if unit.planned > 1 and state.params[0].retracts == 1:
            unit.planned = steps_to_overflow(state, u, unit.planned)
        if unit.planned > 1 and unit.ranks > 1:
            unit.planned = steps_in_lead(state, u, unit.planned)
        ends_s = now_s + span_s(unit, unit.planned)
    schedule(state.times, state.tree, 1 + len(state.prefills) + u, ends_s)


@handler
def look_up_at(state, u, at_s):  # type: ignore[no-untyped-def]
    """Let a unit look up at the first step boundary from ``at_s`` on."""
    unit, look_up_s = state.units[u], at_s
    if unit.running > 0:
        unit.planned = min(unit.planned, steps_to_reach(unit, at_s))
        look_up_s = unit.start_s + span_s(unit, unit.planned)
    schedule(state.times, state.tree, 1 + len(state.prefills) + u, look_up_s)


@handler
def finish(state, u, slot, now_s):  # type: ignore[no-untyped-def]
    """A sequence has all its tokens: its place and its KV are free."""
    settle(state, state.units[u], state.requests[slot], state.requests[slot].output, now_s)
    strip(state, u, slot)
    end_answer(state, slot, now_s)


@handler
def release(state, u, now_s):  # type: ignore[no-untyped-def]
    """Finish the sequences whose last step this was."""
    unit = state.units[u]
    slot = take_all(state.ring, u, unit.step)
    for _ in range(len(state.requests)):
        if slot == END:
            break
        after = state.requests[slot].next
        if state.requests[slot].finish_step > unit.step:
            state.requests[slot].bucket = put(state.ring, u, state.requests, slot, unit.step)
        else:
            finish(state, u, slot, now_s)
        slot = after


@handler
def end_steps(state, u, now_s):  # type: ignore[no-untyped-def]
    """A macro-step ends: count it and release the finished."""
    unit = state.units[u]
    grow_ranks(state, u, unit.planned)
    commit_steps(unit, state.totals[0], state.window[0], state.batches, state.itl, unit.planned, now_s)
    release(state, u, now_s)


@handler
def begin_steps(state, u, now_s):  # type: ignore[no-untyped-def]
    """Let those join that can, and plan the next macro-step."""
    admit(state, u, now_s)
    measure_step(state, u)
    begin_joining(state, u, now_s)
    plan_unit(state, u, now_s)

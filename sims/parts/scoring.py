"""The scoring pool: ended answers wait in one line for a server; service is cut at the timeout."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.heap import heap_push, heap_remove
from sims.engine.kernel import inner
from sims.engine.lists import END, pop, push
from sims.parts.groups import DELAYS, WAITS, note_delay, score_answer
from sims.parts.rollouts import GENERATED, SCORING

POOL = 1
"""The source of the clock whose events are ends of service."""


@inner
def submit(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Hand an answer to the pool."""
    params, totals = state.params[0], state.totals[0]
    if params.score_mean_s <= 0.0:
        note_delay(state, WAITS, 0.0)
        note_delay(state, DELAYS, 0.0)
        score_answer(state, slot, False)
        return
    state.answers[slot].stage = SCORING
    if totals.scoring < params.servers:
        serve(state, slot, now_s)
    else:
        push(state.buffer[1], state.answers, slot)


@inner
def serve(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Begin to score."""
    totals, answer = state.totals[0], state.answers[slot]
    totals.scoring_wait_s += now_s - answer.ended_s
    note_delay(state, WAITS, now_s - answer.ended_s)
    end_s = now_s + min(answer.score_s, state.params[0].timeout_s)
    heap_push(state.score_at, state.score_who, 0, totals.scoring, end_s, slot)
    totals.scoring += 1
    schedule(state.times, state.tree, POOL, state.score_at[0, 0])


@inner
def on_scored(state, now_s):  # type: ignore[no-untyped-def]
    """A server has an answer's score: it takes the next in line."""
    totals = state.totals[0]
    slot = heap_remove(state.score_at, state.score_who, 0, totals.scoring, 0)
    totals.scoring -= 1
    schedule(state.times, state.tree, POOL, state.score_at[0, 0] if totals.scoring > 0 else NEVER)
    note_delay(state, DELAYS, now_s - state.answers[slot].ended_s)
    score_answer(state, slot, state.answers[slot].score_s > state.params[0].timeout_s)
    if state.buffer[1].queued > 0:
        serve(state, pop(state.buffer[1], state.answers), now_s)


@inner
def hand_in(state, slot, now_s):  # type: ignore[no-untyped-def]
    """An answer has ended: score it, or hold it back for its group or batch."""
    answer, params = state.answers[slot], state.params[0]
    group = state.groups[answer.group]
    group.generated += 1
    answer.ended_s = now_s
    if params.score_each == 1:
        submit(state, slot, now_s)
        return
    answer.stage = GENERATED
    if params.score_batch == 1:
        push(state.buffer[2], state.answers, slot)
    elif group.generated == params.answers:
        first = answer.group * params.answers
        for member in range(first, first + params.answers):
            submit(state, member, now_s)


@inner
def release(state, now_s):  # type: ignore[no-untyped-def]
    """The whole batch has ended: score it."""
    for _ in range(state.buffer[2].queued):
        submit(state, pop(state.buffer[2], state.answers), now_s)


@inner
def empty_pool(state):  # type: ignore[no-untyped-def]
    """Kill all that is being scored, or waits for it."""
    state.totals[0].scoring = 0
    schedule(state.times, state.tree, POOL, NEVER)
    for line in range(1, 3):
        state.buffer[line].head = END
        state.buffer[line].tail = END
        state.buffer[line].queued = 0

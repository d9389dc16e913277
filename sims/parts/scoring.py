"""The scoring pool: ended answers wait in one line for a server; service is cut at the timeout."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.heap import heap_push, heap_remove
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push
from sims.parts.groups import DELAYS, WAITS, note_delay, score_answer
from sims.parts.rollouts import ENDED

POOL = 1
"""The source of the clock whose events are ends of service."""
LINE, HELD = 1, 2
"""Answers in line for a server; those held back until their batch has ended."""


@handler
def hand_in(state, slot, now_s):  # type: ignore[no-untyped-def]
    """An answer has ended: put it in line, with its group or its batch if scoring waits for those."""
    answer, params = state.answers[slot], state.params[0]
    group = state.groups[answer.group]
    group.generated += 1
    answer.ended_s = now_s
    answer.stage = ENDED
    first, last = slot, slot + 1
    if params.score_group == 1:
        first = answer.group * params.answers
        last = first + params.answers if group.generated == params.answers else first
    line = HELD if params.score_batch == 1 else LINE
    for member in range(first, last):
        push(state.buffer[line], state.answers, member)


@handler
def can_serve(state):  # type: ignore[no-untyped-def]
    """Whether an answer is in line and a server free."""
    return state.buffer[LINE].queued > 0 and state.totals[0].scoring < state.params[0].servers


@handler
def serve(state, now_s):  # type: ignore[no-untyped-def]
    """Begin to score the first in line."""
    totals = state.totals[0]
    slot = pop(state.buffer[LINE], state.answers)
    answer = state.answers[slot]
    totals.scoring_wait_s += now_s - answer.ended_s
    note_delay(state, WAITS, now_s - answer.ended_s)
    end_s = now_s + min(answer.score_s, state.params[0].timeout_s)
    heap_push(state.score_at, state.score_who, 0, totals.scoring, end_s, slot)
    totals.scoring += 1
    schedule(state.times, state.tree, POOL, state.score_at[0, 0])


@handler
def on_scored(state, now_s):  # type: ignore[no-untyped-def]
    """A server has an answer's score."""
    totals = state.totals[0]
    slot = heap_remove(state.score_at, state.score_who, 0, totals.scoring, 0)
    totals.scoring -= 1
    schedule(state.times, state.tree, POOL, state.score_at[0, 0] if totals.scoring > 0 else NEVER)
    note_delay(state, DELAYS, now_s - state.answers[slot].ended_s)
    score_answer(state, slot, state.answers[slot].score_s > state.params[0].timeout_s)


@handler
def release(state):  # type: ignore[no-untyped-def]
    """The whole batch has ended: all its answers are in line now."""
    line, held = state.buffer[LINE], state.buffer[HELD]
    if line.head == END:
        line.head = held.head
    else:
        state.answers[line.tail].next = held.head
    line.tail = held.tail
    line.queued += held.queued
    held.head = END
    held.tail = END
    held.queued = 0


@handler
def empty_pool(state):  # type: ignore[no-untyped-def]
    """Kill all that is being scored, or waits for it."""
    state.totals[0].scoring = 0
    schedule(state.times, state.tree, POOL, NEVER)
    for line in range(LINE, HELD + 1):
        state.buffer[line].head = END
        state.buffer[line].tail = END
        state.buffer[line].queued = 0

"""Groups from their opening to their end: complete when all their answers have a score, then kept for a batch.

Whatever becomes of a group, its answers and their tokens are booked under one fate.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END, give_slot, pop, push, take_slot
from sims.engine.sketch import record
from sims.parts.rollouts import (
    ABORTED,
    COMPLETE,
    CONSUMED,
    DISCARDED,
    DROPPED,
    FILTERED,
    OPEN,
    SCORED,
    TIMED_OUT,
    WAITING,
)

BUCKETS = 8
"""Classes of length: eighths of the longest."""
AGES = 64
WAITS, DELAYS = 0, 1


@handler
def open_group(state):  # type: ignore[no-untyped-def]
    """Take the next problem of the stream; its answers are now to be placed."""
    totals, count = state.totals[0], state.params[0].answers
    q = take_slot(totals, state.groups)
    group = state.groups[q]
    group.stage = OPEN
    group.generated = 0
    group.scored = 0
    group.dropped = 0
    group.right = 0
    group.home = END
    for member in range(count):
        draft, answer = state.arrivals[totals.next_arrival + member], state.answers[q * count + member]
        answer.length = draft.length
        answer.prompt = draft.prompt
        answer.score_s = draft.score_s
        answer.right = 1 if draft.luck < draft.chance else 0
        answer.generated = 0
        answer.marked = 0
        answer.version_tokens = 0
        answer.turn = END
        answer.instance = END
        answer.group = q
        if state.params[0].carries == 1:
            state.made[q * count + member, :, 0] = 0
        answer.stage = WAITING
    totals.next_arrival += count
    totals.opened += count
    totals.net += 1
    totals.open_group = q
    totals.next_member = 0


@handler
def book(state, slot, fate):  # type: ignore[no-untyped-def]
    """Put an answer and its tokens down under a fate."""
    state.fates[0, fate] += 1
    state.fates[1, fate] += state.answers[slot].generated


@handler
def close_group(state, q, fate):  # type: ignore[no-untyped-def]
    """A group is not to be trained on: its place in the gate is free again."""
    totals, count = state.totals[0], state.params[0].answers
    for slot in range(q * count, (q + 1) * count):
        book(state, slot, fate)
        state.answers[slot].stage = 0
    give_slot(totals, state.groups, q)
    totals.net -= 1
    totals.look_work = 1


@handler
def score_answer(state, slot, timed_out):  # type: ignore[no-untyped-def]
    """An answer has its score, or none."""
    answer, params, totals = state.answers[slot], state.params[0], state.totals[0]
    group = state.groups[answer.group]
    group.scored += 1
    answer.stage = SCORED
    if timed_out:
        totals.timeouts += 1
        answer.right = 0
        if params.drops == 1:
            answer.stage = DROPPED
            group.dropped += 1
    group.right += answer.right
    if group.scored == params.answers:
        complete(state, answer.group)


@handler
def complete(state, q):  # type: ignore[no-untyped-def]
    """All scores of a group are there: keep it for a batch, unless there is nothing to learn from it."""
    group, totals = state.groups[q], state.totals[0]
    useful = state.params[0].answers - group.dropped
    if useful == 0:
        totals.groups_empty += 1
        close_group(state, q, TIMED_OUT)
    elif state.params[0].filtering == 1 and group.right in (0, useful):
        totals.groups_filtered += 1
        close_group(state, q, FILTERED)
    else:
        group.stage = COMPLETE
        push(state.buffer[0], state.groups, q)
        totals.look_batch = 1


@handler
def age_of(state, q):  # type: ignore[no-untyped-def]
    """Versions since the oldest answer of a group began, among those that would be trained on."""
    oldest, count = 0, state.params[0].answers
    for slot in range(q * count, (q + 1) * count):
        if state.answers[slot].stage == SCORED:
            oldest = max(oldest, state.totals[0].version - state.answers[slot].version)
    return oldest


@handler
def discard_old(state):  # type: ignore[no-untyped-def]
    """Throw away the complete groups that are older than the bound."""
    totals = state.totals[0]
    for _ in range(state.buffer[0].queued):
        q = pop(state.buffer[0], state.groups)
        if age_of(state, q) > state.params[0].bound:
            totals.groups_discarded += 1
            close_group(state, q, DISCARDED)
        else:
            push(state.buffer[0], state.groups, q)


@handler
def masked_tokens(state, slot):  # type: ignore[no-untyped-def]
    """Tokens of a partial rollout made by weights older than the bound: they stay out of the loss."""
    params, version, masked = state.params[0], state.totals[0].version, state.answers[slot].length
    if params.carries == 0:
        return 0
    for age in range(params.bound + 1):
        place = (version - age) % state.made.shape[1]
        if version >= age and state.made[slot, place, 1] == version - age:
            masked -= state.made[slot, place, 0]
    return masked


@handler
def consume_answer(state, slot):  # type: ignore[no-untyped-def]
    """An answer goes into training: its age by version of its start, and by those of its tokens. What of it is older
    than the bound may be masked; an answer that is masked in full is thrown away."""
    answer, params, totals = state.answers[slot], state.params[0], state.totals[0]
    age = totals.version - answer.version
    masked = masked_tokens(state, slot)
    if masked == answer.length:
        totals.masked_answers += 1
        book(state, slot, DISCARDED)
        return
    book(state, slot, CONSUMED)
    if params.carries == 1:
        age = min(age, params.bound)
    totals.masked_tokens += masked
    totals.age_sum += age
    totals.token_age_sum += totals.version - answer.version_tokens / answer.length
    totals.late += 1 if age > params.bound else 0
    if totals.version >= params.measured_from:
        bucket = min(BUCKETS - 1, (answer.length - 1) * BUCKETS // params.longest)
        state.ages[bucket, min(age, AGES - 1)] += 1


@handler
def consume(state):  # type: ignore[no-untyped-def]
    """The oldest complete groups become a training batch."""
    params, totals = state.params[0], state.totals[0]
    for _ in range(params.problems):
        q = pop(state.buffer[0], state.groups)
        if totals.version >= params.measured_from:
            state.ages[BUCKETS, min(age_of(state, q), AGES - 1)] += 1
        for slot in range(q * params.answers, (q + 1) * params.answers):
            if state.answers[slot].stage == SCORED:
                consume_answer(state, slot)
            else:
                book(state, slot, TIMED_OUT)
            state.answers[slot].stage = 0
        give_slot(totals, state.groups, q)
        totals.groups_consumed += 1


@handler
def note_delay(state, sketch, seconds):  # type: ignore[no-untyped-def]
    """Record how long scoring took, or was waited for."""
    if state.totals[0].version >= state.params[0].measured_from:
        record(state.sketches[sketch], seconds, 1)


@handler
def abort_open(state):  # type: ignore[no-untyped-def]
    """End all groups that are not complete; the caller has emptied instances and the scoring pool."""
    for q in range(len(state.groups)):
        if state.groups[q].stage == OPEN:
            state.totals[0].groups_aborted += 1
            close_group(state, q, ABORTED)
    state.totals[0].open_group = END

"""The data plane: answers are placed, decode, end, are scored and trained on; instances take new weights."""

from __future__ import annotations

from sims.engine.clock import NEVER, next_source, schedule
from sims.engine.heap import heap_remove
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, has_slot, pop
from sims.engine.run import LIMIT, REACHED, WANTS_ARRIVALS
from sims.parts.decaying_batch import (
    FIRST_INSTANCE,
    LOST_LINE,
    admit,
    bind,
    commit,
    computed,
    leave,
    owes,
    plan,
    put_back,
    shorten,
    turn_to,
    wake,
)
from sims.parts.groups import open_group
from sims.parts.intake import begin_event
from sims.parts.placing.dispatch import choose
from sims.parts.rollouts import DECODE, IDLE, PREFILL, RECOMPUTE, SYNC
from sims.parts.scoring import POOL, can_serve, hand_in, on_scored, release, serve
from sims.parts.versions import end_swap, may_swap
from sims.systems.rl_rollout.rows import pass_time
from sims.systems.rl_rollout.training import TRAINER, begin_run, on_trainer, settle_training, weights_arrive

HOPELESS = 200
"""Batches started for each that is trained on, beyond which a run is given up."""


@handler
def is_hopeless(state):  # type: ignore[no-untyped-def]
    """Whether so much was started for one training step that nearly all of it must have been thrown away."""
    totals, params = state.totals[0], state.params[0]
    most = HOPELESS * (totals.version + params.bound + 2) * params.problems * params.answers
    return totals.opened >= most


@handler
def next_answer(state):  # type: ignore[no-untyped-def]
    """The answer to be placed next; −1 when the gate is closed, −2 when the stream must bring more."""
    totals = state.totals[0]
    if state.buffer[LOST_LINE].queued > 0:
        return state.buffer[LOST_LINE].head
    if totals.open_group == END:
        if totals.net >= totals.quota or not has_slot(totals) or is_hopeless(state):
            return END
        if totals.next_arrival >= totals.arrivals:
            return -2
        open_group(state)
    return totals.open_group * state.params[0].answers + totals.next_member


@handler
def was_placed(state):  # type: ignore[no-untyped-def]
    """An answer has its instance."""
    totals = state.totals[0]
    if state.buffer[LOST_LINE].queued > 0:
        pop(state.buffer[LOST_LINE], state.answers)
        return
    totals.waiting += 1
    totals.next_member += 1
    if totals.next_member == state.params[0].answers:
        totals.open_group = END


@handler
def place_answers(state):  # type: ignore[no-untyped-def]
    """Place answers while the gate is open and there is room; False when the stream must bring more first."""
    for _ in range(len(state.answers) + len(state.groups)):
        slot = next_answer(state)
        if slot < 0:
            return slot == END
        answer = state.answers[slot]
        state.totals[0].need = answer.prompt + answer.generated
        i = choose(state.params[0].placing_code, state, answer.group)
        if i < 0:
            break
        was_placed(state)
        bind(state, slot, i)
    return True


@handler
def end_answers(state, i, now_s):  # type: ignore[no-untyped-def]
    """Let go the answers whose last token this step made."""
    instance, totals = state.instances[i], state.totals[0]
    for _ in range(state.params[0].slots):
        if instance.running == 0 or state.due[i, 0] > instance.step:
            break
        slot = heap_remove(state.due, state.who, i, instance.running, 0)
        leave(state, i, slot)
        instance.served += 1
        totals.ended += 1
        totals.capped += 1 if state.answers[slot].length >= state.params[0].longest else 0
        totals.generated_s = now_s
        totals.look_work = 1
        hand_in(state, slot, now_s)


@handler
def on_instance(state, i, now_s):  # type: ignore[no-untyped-def]
    """What an instance was at is over."""
    instance = state.instances[i]
    instance.busy = 0
    schedule(state.times, state.tree, FIRST_INSTANCE + i, NEVER)
    if instance.stage == DECODE:
        commit(state, i, instance.planned)
        end_answers(state, i, now_s)
    elif instance.stage == SYNC:
        end_swap(state, i)
    else:
        computed(state, i, instance.stage)
    wake(state, i)


@handler
def look_at_instance(state, i, now_s):  # type: ignore[no-untyped-def]
    """Something has changed for an instance: it goes on, or stops at the next step boundary to see to it."""
    instance, totals = state.instances[i], state.totals[0]
    instance.waking = 0
    if instance.alive == 0 or totals.lent == 1:
        return
    if instance.busy == 0:
        stage, for_s = next_activity(state, i, now_s)
        turn_to(state, i, stage, now_s, for_s)
    elif instance.stage == DECODE:
        joins = state.lines[i].queued > 0 and instance.running < state.params[0].slots
        if may_swap(state, i) or (joins and not drains(state, i)):
            shorten(state, i, now_s)


@handler
def drains(state, i):  # type: ignore[no-untyped-def]
    """Whether an instance takes no more answers until it has new weights."""
    return state.params[0].drains == 1 and state.instances[i].swapping == 1


@handler
def next_activity(state, i, now_s):  # type: ignore[no-untyped-def]
    """What an instance does from this step boundary on, and for how long: take weights, start answers and compute
    what is missing, decode; or rest."""
    instance, params = state.instances[i], state.params[0]
    if may_swap(state, i):
        return SYNC, params.pause_s
    if state.totals[0].halted == 1:
        return IDLE, NEVER
    if not drains(state, i):
        admit(state, i)
    put_back(state, i)
    if owes(state, i):
        owed = instance.owed_kv if instance.owed_kv > 0 else instance.owed_prompt
        return RECOMPUTE if instance.owed_kv > 0 else PREFILL, owed / params.prefill_tokens_per_s
    if instance.running > 0:
        return DECODE, plan(state, i, now_s)
    return IDLE, NEVER


@handler
def batch_has_ended(state):  # type: ignore[no-untyped-def]
    """Whether answers are held back for their batch, and it has ended."""
    totals = state.totals[0]
    return state.buffer[2].queued > 0 and totals.running + totals.waiting == 0 and totals.open_group == END


@handler
def is_unsettled(state):  # type: ignore[no-untyped-def]
    """Whether the last event has left something to do."""
    totals = state.totals[0]
    flags = totals.lending + totals.offering + totals.opening + totals.starting + totals.look_batch
    return flags + totals.look_work + totals.waking > 0 or can_serve(state) or batch_has_ended(state)


@handler
def settle(state, now_s):  # type: ignore[no-untyped-def]
    """One thing that the last event has left to do; False when the stream must bring more first."""
    totals = state.totals[0]
    if totals.lending + totals.offering + totals.opening + totals.starting + totals.look_batch > 0:
        settle_training(state, now_s)
    elif can_serve(state):
        serve(state, now_s)
    elif totals.look_work == 1:
        if not place_answers(state):
            return False
        totals.look_work = 0
    elif totals.waking > 0:
        totals.waking -= 1
        look_at_instance(state, state.instances[totals.waking].waker, now_s)
    else:
        release(state)
    return True


@handler
def handle(state, source, now_s):  # type: ignore[no-untyped-def]
    """One event."""
    if source >= FIRST_INSTANCE:
        on_instance(state, source - FIRST_INSTANCE, now_s)
    elif source == POOL:
        on_scored(state, now_s)
    elif source == TRAINER:
        on_trainer(state, now_s)
    else:
        weights_arrive(state)


@loop
def advance(state, until_s, most_events):  # type: ignore[no-untyped-def]
    """Handle all events up to ``until_s``; returns why it stopped."""
    totals = state.totals[0]
    if totals.events == 0 and totals.quota == 0:
        begin_run(state)
    for _ in range(most_events):
        if totals.done == 1:
            return REACHED
        if is_unsettled(state):
            if not settle(state, totals.now_s):
                return WANTS_ARRIVALS
            continue
        source = next_source(state.tree)
        now_s = state.times[source]
        if now_s > until_s or now_s == NEVER:
            return REACHED
        pass_time(state, now_s)
        begin_event(totals, now_s)
        handle(state, source, now_s)
    return LIMIT

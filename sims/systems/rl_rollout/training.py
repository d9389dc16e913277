"""How training and generation take turns: the gate for new groups, batches, training steps, weights."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push
from sims.parts.decaying_batch import halt, leave, tell_span, turn_to, wake
from sims.parts.groups import abort_open, close_group, consume, discard_old
from sims.parts.rollouts import (
    ABORTED,
    DOWN,
    IDLE,
    LENT,
    STAGES,
    SWITCH,
    T_BACK,
    T_IDLE,
    T_OUT,
    T_SYNC,
    T_TRAIN,
)
from sims.parts.scoring import empty_pool
from sims.parts.versions import offer
from sims.systems.rl_rollout.rows import write_row

TRAINER, WEIGHTS = 0, 2
"""Sources of the clock; the scoring pool's is 1."""
TRAINER_ROW = -1
GIVEN_BACK = STAGES
SYNCHRONOUS, ONE_STEP_OFF, ASYNCHRONOUS, COLOCATED = range(4)


@handler
def set_trainer(state, stage, now_s, for_s):  # type: ignore[no-untyped-def]
    """The trainer does something else, for a time (`NEVER`: until there is a batch)."""
    totals = state.totals[0]
    tell_span(state, TRAINER_ROW, totals.trainer, totals.trainer_since_s, now_s)
    state.spent[len(state.instances), totals.trainer] += now_s - totals.trainer_since_s
    totals.trainer = stage
    totals.trainer_since_s = now_s
    schedule(state.times, state.tree, TRAINER, now_s + for_s)
    if stage == T_IDLE:
        totals.look_batch = 1


@handler
def open_window(state, now_s):  # type: ignore[no-untyped-def]
    """Let a batch, and what is started beyond it, begin."""
    totals, params = state.totals[0], state.params[0]
    totals.quota = totals.groups_consumed + params.at_once
    totals.halted = 0
    totals.look_work = 1
    totals.opened_s = now_s
    for i in range(len(state.instances)):
        wake(state, i)


@handler
def empty_instance(state, i):  # type: ignore[no-untyped-def]
    """Take all answers from an instance that stands still."""
    instance = state.instances[i]
    for _ in range(instance.running):
        leave(state, i, state.who[i, instance.running - 1])
    state.totals[0].waiting -= state.lines[i].queued
    state.lines[i].head = END
    state.lines[i].tail = END
    state.lines[i].queued = 0
    instance.waiting_tokens = 0
    instance.owed_kv = 0
    instance.owed_prompt = 0


@handler
def abort_rest(state):  # type: ignore[no-untyped-def]
    """Throw away all that is not in the batch."""
    totals = state.totals[0]
    for i in range(len(state.instances)):
        empty_instance(state, i)
    totals.waiting -= state.buffer[3].queued
    state.buffer[3].head = END
    state.buffer[3].tail = END
    state.buffer[3].queued = 0
    empty_pool(state)
    abort_open(state)
    count = state.buffer[0].queued
    for place in range(count):
        q = pop(state.buffer[0], state.groups)
        if place < state.params[0].problems:
            push(state.buffer[0], state.groups, q)
        else:
            totals.groups_aborted += 1
            close_group(state, q, ABORTED)


@handler
def stop_generation(state, now_s):  # type: ignore[no-untyped-def]
    """The batch is full: nothing more starts, and what is unfinished is dropped or stands still."""
    totals, params = state.totals[0], state.params[0]
    totals.quota = 0
    if totals.in_flight <= params.problems:
        return
    totals.halted = 1
    for i in range(len(state.instances)):
        halt(state, i, now_s)
    if params.carries == 0:
        abort_rest(state)


@handler
def lend(state, stage, now_s):  # type: ignore[no-untyped-def]
    """Co-located: the GPUs of all instances change sides, train, or are back (`IDLE`) without the KV they held."""
    state.totals[0].lent = 0 if stage == IDLE else 1
    for i in range(len(state.instances)):
        instance = state.instances[i]
        if instance.stage != DOWN:
            turn_to(state, i, stage, now_s, NEVER)
            if instance.running > 0:
                instance.owed_kv = instance.kv
                instance.owed_prompt = 0


@handler
def look_for_batch(state, now_s):  # type: ignore[no-untyped-def]
    """Begin with the next batch if there is one and the trainer is free."""
    totals, params = state.totals[0], state.params[0]
    totals.look_batch = 0
    if totals.trainer != T_IDLE or state.buffer[0].queued < params.problems or totals.arrived == 0:
        return
    totals.ready_s = now_s
    totals.starting = 1
    if params.mode_code == ASYNCHRONOUS:
        return
    stop_generation(state, now_s)
    if params.mode_code == COLOCATED and params.switch_s > 0.0:
        totals.lending = SWITCH
        totals.starting = 0
        set_trainer(state, T_OUT, now_s, params.switch_s)
    elif params.mode_code == ONE_STEP_OFF and totals.published < totals.version:
        totals.offering = 1
        totals.starting = 0
        set_trainer(state, T_SYNC, now_s, params.pause_s)


@handler
def begin_training(state, now_s):  # type: ignore[no-untyped-def]
    """Train on the oldest groups; one step off, the next batch begins at the same time."""
    totals, params = state.totals[0], state.params[0]
    totals.starting = 0
    consume(state)
    totals.train_from_s = now_s
    set_trainer(state, T_TRAIN, now_s, params.train_s)
    if params.mode_code == COLOCATED:
        totals.lending = LENT
    elif params.mode_code == ONE_STEP_OFF:
        totals.arrived = 0
        totals.opening = 1


@handler
def end_training(state, now_s):  # type: ignore[no-untyped-def]
    """There is a new version; what the trainer does next, and for how long."""
    totals, params = state.totals[0], state.params[0]
    # Its time up to here belongs to the row.
    tell_span(state, TRAINER_ROW, T_TRAIN, totals.trainer_since_s, now_s)
    state.spent[len(state.instances), T_TRAIN] += now_s - totals.trainer_since_s
    totals.trainer_since_s = now_s
    totals.version += 1
    write_row(state, now_s)
    if totals.version >= params.steps:
        totals.done = 1
    if params.discards == 1:
        discard_old(state)
    if params.mode_code == COLOCATED and params.switch_s > 0.0:
        totals.lending = SWITCH
        return T_BACK, params.switch_s
    return hand_over(state, now_s)


@handler
def hand_over(state, now_s):  # type: ignore[no-untyped-def]
    """The weights are on their way; what the trainer does next, and for how long."""
    params = state.params[0]
    if params.transfer_s > 0.0:
        schedule(state.times, state.tree, WEIGHTS, now_s + params.transfer_s)
    else:
        weights_arrive(state)
    if params.mode_code == COLOCATED:
        # Idle is 0, no flag: given back is one beyond the stages.
        state.totals[0].lending = GIVEN_BACK
    if params.mode_code == ONE_STEP_OFF:
        return T_IDLE, NEVER
    return T_SYNC, params.pause_s


@handler
def weights_arrive(state):  # type: ignore[no-untyped-def]
    """The new weights can be taken by the instances."""
    totals, params = state.totals[0], state.params[0]
    totals.arrived = 1
    schedule(state.times, state.tree, WEIGHTS, NEVER)
    if params.mode_code == ONE_STEP_OFF:
        totals.look_batch = 1
        return
    totals.offering = 1
    if params.mode_code == ASYNCHRONOUS:
        totals.quota = (totals.version + params.bound + 1) * params.problems
        totals.look_work = 1
    else:
        totals.opening = 1


@handler
def on_trainer(state, now_s):  # type: ignore[no-untyped-def]
    """What the trainer was at is over."""
    totals = state.totals[0]
    stage, for_s = T_IDLE, NEVER
    if totals.trainer == T_TRAIN:
        stage, for_s = end_training(state, now_s)
    elif totals.trainer == T_BACK:
        stage, for_s = hand_over(state, now_s)
    elif totals.trainer == T_OUT or state.params[0].mode_code == ONE_STEP_OFF:
        totals.starting = 1
        return
    set_trainer(state, stage, now_s, for_s)


@handler
def settle_training(state, now_s):  # type: ignore[no-untyped-def]
    """One thing that the trainer has left to do, in the order in which they follow from each other."""
    totals = state.totals[0]
    if totals.lending > 0:
        stage = IDLE if totals.lending == GIVEN_BACK else totals.lending
        totals.lending = 0
        lend(state, stage, now_s)
    elif totals.offering == 1:
        totals.offering = 0
        offer(state)
    elif totals.opening == 1:
        totals.opening = 0
        open_window(state, now_s)
    elif totals.starting == 1:
        begin_training(state, now_s)
    else:
        look_for_batch(state, now_s)


@handler
def begin_run(state):  # type: ignore[no-untyped-def]
    """The first batches start under version 0."""
    totals, params = state.totals[0], state.params[0]
    totals.arrived = 1
    totals.look_work = 1
    totals.quota = (params.bound + 1) * params.problems if params.mode_code == ASYNCHRONOUS else params.at_once

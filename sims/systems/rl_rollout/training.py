"""How training and generation take turns: the gate for new groups, batches, training steps, weights."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import inner
from sims.engine.lists import END, pop, push
from sims.parts.decaying_batch import halt, leave, rest, tell_span, wake
from sims.parts.groups import abort_open, close_group, consume, discard_old
from sims.parts.rollouts import (
    ABORTED,
    DOWN,
    IDLE,
    LENT,
    SWITCH,
    SYNC,
    T_BACK,
    T_IDLE,
    T_OUT,
    T_SYNC,
    T_TRAIN,
)
from sims.parts.scoring import empty_pool
from sims.parts.versions import end_swap, offer
from sims.systems.rl_rollout.rows import write_row

TRAINER, WEIGHTS = 0, 2
"""Sources of the clock; the scoring pool's is 1."""
TRAINER_ROW = -1
SYNCHRONOUS, ONE_STEP_OFF, ASYNCHRONOUS, COLOCATED = range(4)


@inner
def set_trainer(state, stage, now_s, for_s):  # type: ignore[no-untyped-def]
    """The trainer does something else, for a time (`NEVER`: until there is a batch)."""
    totals = state.totals[0]
    tell_span(state, TRAINER_ROW, totals.trainer, totals.trainer_since_s, now_s)
    state.trained[totals.trainer] += now_s - totals.trainer_since_s
    totals.trainer = stage
    totals.trainer_since_s = now_s
    schedule(state.times, state.tree, TRAINER, now_s + for_s)
    if stage == T_IDLE:
        totals.look_batch = 1


@inner
def open_window(state, now_s):  # type: ignore[no-untyped-def]
    """Let a batch, and what is started beyond it, begin."""
    totals, params = state.totals[0], state.params[0]
    totals.quota = totals.groups_consumed + params.at_once
    totals.halted = 0
    totals.look_work = 1
    totals.opened_s = now_s
    for i in range(len(state.instances)):
        wake(state, i)


@inner
def widen_gate(state):  # type: ignore[no-untyped-def]
    """Asynchronous: the gate moves by a batch with each version."""
    totals, params = state.totals[0], state.params[0]
    totals.quota = (totals.version + params.bound + 1) * params.problems
    totals.look_work = 1


@inner
def empty_instance(state, i):  # type: ignore[no-untyped-def]
    """Take all answers from an instance that stands still."""
    instance = state.instances[i]
    for _ in range(instance.running):
        leave(state, i, instance.running - 1)
    state.totals[0].waiting -= state.lines[i].queued
    state.lines[i].head = END
    state.lines[i].tail = END
    state.lines[i].queued = 0
    instance.waiting_tokens = 0
    instance.owed_kv = 0
    instance.owed_prompt = 0


@inner
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


@inner
def stop_generation(state, now_s):  # type: ignore[no-untyped-def]
    """The batch is full: nothing more starts, and what is unfinished is dropped or stands still."""
    totals, params = state.totals[0], state.params[0]
    totals.quota = 0
    totals.ready_s = now_s
    if totals.in_flight <= params.problems:
        return
    totals.halted = 1
    for i in range(len(state.instances)):
        halt(state, i, now_s)
    if params.carries == 0:
        abort_rest(state)


@inner
def lend(state, stage, now_s):  # type: ignore[no-untyped-def]
    """Co-located: the GPUs of all instances change sides, or train."""
    state.totals[0].lent = 1
    for i in range(len(state.instances)):
        if state.instances[i].stage == SYNC:
            end_swap(state, i)
        if state.instances[i].stage != DOWN:
            rest(state, i, stage, now_s)


@inner
def take_back(state, now_s):  # type: ignore[no-untyped-def]
    """Co-located: the GPUs generate again; what was held of KV is lost."""
    state.totals[0].lent = 0
    for i in range(len(state.instances)):
        instance = state.instances[i]
        if instance.stage != DOWN:
            rest(state, i, IDLE, now_s)
            if instance.running > 0:
                instance.owed_kv = instance.kv
                instance.owed_prompt = 0


@inner
def look_for_batch(state, now_s):  # type: ignore[no-untyped-def]
    """Begin with the next batch if there is one and the trainer is free."""
    totals, params = state.totals[0], state.params[0]
    if totals.trainer != T_IDLE or state.buffer[0].queued < params.problems or totals.arrived == 0:
        return
    if params.mode_code == ASYNCHRONOUS:
        totals.ready_s = now_s
        begin_training(state, now_s)
        return
    stop_generation(state, now_s)
    if params.mode_code == COLOCATED and params.switch_s > 0.0:
        set_trainer(state, T_OUT, now_s, params.switch_s)
        lend(state, SWITCH, now_s)
    elif params.mode_code == ONE_STEP_OFF and totals.published < totals.version and params.pause_s > 0.0:
        offer(state)
        set_trainer(state, T_SYNC, now_s, params.pause_s)
    else:
        begin_training(state, now_s)


@inner
def begin_training(state, now_s):  # type: ignore[no-untyped-def]
    """Train on the oldest groups; one step off, the next batch begins at the same time."""
    totals, params = state.totals[0], state.params[0]
    if params.mode_code == ONE_STEP_OFF and totals.published < totals.version:
        offer(state)
    consume(state)
    totals.train_from_s = now_s
    set_trainer(state, T_TRAIN, now_s, params.train_s)
    if params.mode_code == COLOCATED:
        lend(state, LENT, now_s)
    elif params.mode_code == ONE_STEP_OFF:
        totals.arrived = 0
        open_window(state, now_s)


@inner
def end_training(state, now_s):  # type: ignore[no-untyped-def]
    """There is a new version."""
    totals, params = state.totals[0], state.params[0]
    state.trained[T_TRAIN] += now_s - totals.trainer_since_s
    tell_span(state, TRAINER_ROW, T_TRAIN, totals.trainer_since_s, now_s)
    totals.trainer_since_s = now_s
    totals.version += 1
    write_row(state, now_s)
    if totals.version >= params.steps:
        totals.done = 1
    elif params.mode_code == COLOCATED and params.switch_s > 0.0:
        set_trainer(state, T_BACK, now_s, params.switch_s)
        lend(state, SWITCH, now_s)
    else:
        hand_over(state, now_s)


@inner
def hand_over(state, now_s):  # type: ignore[no-untyped-def]
    """The weights are on their way; asynchronous training goes on once they are handed out."""
    params = state.params[0]
    if params.mode_code == COLOCATED:
        take_back(state, now_s)
    if params.mode_code == ASYNCHRONOUS:
        widen_gate(state)
        if params.discards == 1:
            discard_old(state)
    waits = params.mode_code != ONE_STEP_OFF and params.pause_s > 0.0
    set_trainer(state, T_SYNC if waits else T_IDLE, now_s, params.pause_s if waits else NEVER)
    if params.transfer_s > 0.0:
        schedule(state.times, state.tree, WEIGHTS, now_s + params.transfer_s)
    else:
        weights_arrive(state, now_s)


@inner
def weights_arrive(state, now_s):  # type: ignore[no-untyped-def]
    """The new weights can be taken by the instances."""
    params = state.params[0]
    state.totals[0].arrived = 1
    schedule(state.times, state.tree, WEIGHTS, NEVER)
    if params.mode_code == ONE_STEP_OFF:
        state.totals[0].look_batch = 1
        return
    offer(state)
    if params.mode_code != ASYNCHRONOUS:
        open_window(state, now_s)


@inner
def on_trainer(state, now_s):  # type: ignore[no-untyped-def]
    """What the trainer was at is over."""
    totals = state.totals[0]
    if totals.trainer == T_TRAIN:
        end_training(state, now_s)
    elif totals.trainer == T_BACK:
        hand_over(state, now_s)
    elif totals.trainer == T_OUT or state.params[0].mode_code == ONE_STEP_OFF:
        begin_training(state, now_s)
    else:
        set_trainer(state, T_IDLE, now_s, NEVER)


@inner
def begin_run(state):  # type: ignore[no-untyped-def]
    """The first batches start under version 0."""
    totals = state.totals[0]
    totals.arrived = 1
    if state.params[0].mode_code == ASYNCHRONOUS:
        widen_gate(state)
    else:
        open_window(state, 0.0)

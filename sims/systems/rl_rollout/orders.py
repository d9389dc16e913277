"""What the control plane does to the state between two slices: an instance fails, and is back."""

from __future__ import annotations

from sims.engine.clock import NEVER
from sims.engine.kernel import handler, loop
from sims.engine.lists import pop, push
from sims.parts.decaying_batch import LOST_LINE, halt, leave, turn_to, wake
from sims.parts.rollouts import DOWN, IDLE, LOST, WAITING
from sims.systems.rl_rollout.rows import pass_time

FAIL, REJOIN = 0, 1


@handler
def lose(state, slot):  # type: ignore[no-untyped-def]
    """An answer has lost its instance: it goes on elsewhere from what it has, or starts anew."""
    answer, totals = state.answers[slot], state.totals[0]
    if state.params[0].resume_lost == 0:
        state.fates[1, LOST] += answer.generated
        totals.restarted += 1 if answer.generated > 0 else 0
        answer.generated = 0
        answer.marked = 0
        answer.version_tokens = 0
        if state.params[0].carries == 1:
            state.made[slot, :, 0] = 0
    answer.stage = WAITING
    push(state.buffer[LOST_LINE], state.answers, slot)


@handler
def fail(state, i, now_s):  # type: ignore[no-untyped-def]
    """An instance fails with all it runs and all that waits for it."""
    instance, totals = state.instances[i], state.totals[0]
    if instance.alive == 0:
        return
    halt(state, i, now_s)
    instance.alive = 0
    totals.alive -= 1
    for _ in range(instance.running):
        slot = state.who[i, instance.running - 1]
        leave(state, i, slot)
        totals.waiting += 1
        lose(state, slot)
    for _ in range(state.lines[i].queued):
        lose(state, pop(state.lines[i], state.answers))
    instance.waiting_tokens = 0
    instance.owed_kv = 0
    instance.owed_prompt = 0
    instance.swapping = 0
    turn_to(state, i, DOWN, now_s, NEVER)
    totals.look_work = 1


@handler
def rejoin(state, i, now_s):  # type: ignore[no-untyped-def]
    """An instance is up again, empty, with the latest weights."""
    instance, totals = state.instances[i], state.totals[0]
    if instance.alive == 1:
        return
    instance.alive = 1
    instance.version = totals.published
    totals.alive += 1
    totals.look_work = 1
    turn_to(state, i, IDLE, now_s, NEVER)
    wake(state, i)


@loop
def obey(state, order, i, now_s):  # type: ignore[no-untyped-def]
    """The one entry."""
    if state.totals[0].done == 1:
        return
    pass_time(state, now_s)
    state.totals[0].now_s = now_s
    if order == FAIL:
        fail(state, i, now_s)
    else:
        rejoin(state, i, now_s)

"""The batch of an instance: answers join, decode in lockstep, end, and the batch decays; all in macro-steps.

Each answer's last step is known when it joins, so a row of a heap by last step tells the next end. A step reads the
KV written before it and half a token of its own for each answer, so that an answer of L tokens behind a prompt of P
reads P·L + L²/2 in all.
"""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.heap import heap_push, heap_remove
from sims.engine.kernel import handler
from sims.engine.lists import END, pop, push, push_first
from sims.parts.decode import span_s, steps_done, steps_to_reach
from sims.parts.rollouts import DECODE, IDLE, PREFILL, RECOMPUTE, RUNNING, WAITING

FIRST_INSTANCE = 3
LOST_LINE = 3
"""The line of answers that lost their instance."""
SPARE = 0.99
"""New answers are let in up to this share of an instance's KV, so that those running can grow a little."""


@handler
def wake(state, i):  # type: ignore[no-untyped-def]
    """Have an instance looked at once the event at hand is dealt with."""
    totals, instance = state.totals[0], state.instances[i]
    if instance.waking == 0:
        instance.waking = 1
        state.instances[totals.waking].waker = i
        totals.waking += 1


@handler
def needed(state, slot, i):  # type: ignore[no-untyped-def]
    """KV tokens that an answer would take on an instance when it joins."""
    answer = state.answers[slot]
    shared = state.params[0].shared_prompts == 1 and state.held[answer.group, i] > 0
    return answer.generated + (0 if shared else answer.prompt)


@handler
def has_room(state, i):  # type: ignore[no-untyped-def]
    """Whether an instance would start one more answer of ``totals.need`` tokens at once."""
    instance, params = state.instances[i], state.params[0]
    load = instance.running + state.lines[i].queued
    if instance.alive == 0 or load >= params.slots or (params.drains == 1 and instance.swapping == 1):
        return False
    taken = instance.kv + instance.waiting_tokens + state.totals[0].need + load + 1
    return load == 0 or taken <= SPARE * params.kv_limit


@handler
def may_bind(state):  # type: ignore[no-untyped-def]
    """Whether answers may be bound to instances that have no room: a batch at once, or as many as there are slots."""
    totals, params = state.totals[0], state.params[0]
    bound = totals.running + totals.waiting - state.buffer[LOST_LINE].queued
    return params.asynchronous == 0 or bound < totals.alive * params.slots


@handler
def enter(state, i, stage, now_s):  # type: ignore[no-untyped-def]
    """An instance begins something else: book the time of what it did."""
    instance = state.instances[i]
    state.spent[i, instance.stage] += now_s - instance.since_s
    instance.since_s = now_s
    instance.stage = stage
    shown = DECODE if stage == PREFILL else stage
    if shown != instance.shown:
        tell_span(state, i, instance.shown, instance.shown_s, now_s)
        instance.shown = shown
        instance.shown_s = now_s


@handler
def tell_span(state, index, stage, from_s, to_s):  # type: ignore[no-untyped-def]
    """Write down what was done from when to when, in the steps that are to be drawn and while there is room."""
    totals, params = state.totals[0], state.params[0]
    if to_s <= from_s or totals.version < params.drawn_from or from_s >= state.samplers[1].to_s:
        return
    if totals.logged >= len(state.spans):
        totals.unlogged += 1
        return
    row = state.spans[totals.logged]
    row.index = index
    row.stage = stage
    row.from_s = from_s
    row.to_s = to_s
    totals.logged += 1


@handler
def mark_version(state, slot, generated, version):  # type: ignore[no-untyped-def]
    """Book the tokens since the last mark under the weights that made them; those within the bound, one by one."""
    answer = state.answers[slot]
    answer.version_tokens += (generated - answer.marked) * version
    if state.params[0].carries == 1:
        place = version % state.made.shape[1]
        if state.made[slot, place, 1] != version:
            state.made[slot, place, 1] = version
            state.made[slot, place, 0] = 0
        state.made[slot, place, 0] += generated - answer.marked
    answer.marked = generated


@handler
def tokens_of(instance, answer):  # type: ignore[no-untyped-def]
    """Tokens that a running answer has by the last whole step."""
    return answer.length - (answer.finish_step - instance.step)


@handler
def bind(state, slot, i):  # type: ignore[no-untyped-def]
    """Put an answer behind those that wait for an instance."""
    state.answers[slot].instance = i
    state.instances[i].waiting_tokens += state.answers[slot].prompt + state.answers[slot].generated
    push(state.lines[i], state.answers, slot)
    wake(state, i)


@handler
def join(state, i, slot):  # type: ignore[no-untyped-def]
    """An answer starts, or goes on, in an instance's batch."""
    instance, answer, totals = state.instances[i], state.answers[slot], state.totals[0]
    fresh = needed(state, slot, i) - answer.generated
    instance.owed_prompt += fresh
    instance.owed_kv += answer.generated
    instance.kv += fresh + answer.generated
    instance.reads += answer.prompt + answer.generated
    state.held[answer.group, i] += 1
    if answer.turn == END:
        totals.started += 1
    if answer.generated == 0:
        answer.version = instance.version
    answer.turn = totals.turn
    totals.turn += 1
    answer.instance = i
    answer.stage = RUNNING
    answer.finish_step = instance.step + answer.length - answer.generated
    heap_push(state.due, state.who, i, instance.running, answer.finish_step, slot)
    instance.running += 1
    totals.running += 1


@handler
def leave(state, i, slot):  # type: ignore[no-untyped-def]
    """An answer leaves the batch with the tokens it has; the caller sees to the heap."""
    instance, answer = state.instances[i], state.answers[slot]
    answer.generated = tokens_of(instance, answer)
    mark_version(state, slot, answer.generated, instance.version)
    instance.running -= 1
    state.totals[0].running -= 1
    instance.reads -= answer.prompt + answer.generated
    instance.kv -= answer.generated
    state.held[answer.group, i] -= 1
    if state.params[0].shared_prompts == 0 or state.held[answer.group, i] == 0:
        instance.kv -= answer.prompt


@handler
def admit(state, i):  # type: ignore[no-untyped-def]
    """Start answers that wait for the instance, in order, while there are slots and KV for them."""
    instance, params = state.instances[i], state.params[0]
    for _ in range(params.slots):
        if state.lines[i].queued == 0 or instance.running >= params.slots:
            break
        slot = state.lines[i].head
        taken = instance.kv + needed(state, slot, i) + instance.running + 1
        if instance.running > 0 and taken > SPARE * params.kv_limit:
            break
        pop(state.lines[i], state.answers)
        state.totals[0].waiting -= 1
        instance.waiting_tokens -= state.answers[slot].prompt + state.answers[slot].generated
        join(state, i, slot)


@handler
def put_back(state, i):  # type: ignore[no-untyped-def]
    """While the next step finds no KV for its tokens, the answer that started last waits, to be recomputed."""
    instance = state.instances[i]
    for _ in range(state.params[0].slots):
        if instance.running <= 1 or state.params[0].kv_limit - instance.kv >= instance.running:
            break
        last = 0
        for at in range(1, instance.running):
            if state.answers[state.who[i, at]].turn > state.answers[state.who[i, last]].turn:
                last = at
        slot = heap_remove(state.due, state.who, i, instance.running, last)
        leave(state, i, slot)
        answer = state.answers[slot]
        answer.stage = WAITING
        instance.waiting_tokens += answer.prompt + answer.generated
        push_first(state.lines[i], state.answers, slot)
        state.totals[0].waiting += 1
        state.totals[0].preempted += 1


@handler
def plan(state, i, now_s):  # type: ignore[no-untyped-def]
    """Decode steps up to the next end of an answer, or until KV runs out; how long they take."""
    instance, params = state.instances[i], state.params[0]
    steps = state.due[i, 0] - instance.step
    if instance.running > 1:
        steps = min(steps, (params.kv_limit - instance.kv) // instance.running)
    instance.start_s = now_s
    instance.first_s = (
        params.step_s
        + params.step_s_per_sequence * instance.running
        + params.step_s_per_kv_token * (instance.reads + 0.5 * instance.running)
    )
    instance.growth_s = params.step_s_per_kv_token * instance.running
    instance.planned = steps
    return span_s(instance, steps)


@handler
def turn_to(state, i, stage, now_s, for_s):  # type: ignore[no-untyped-def]
    """An instance does something for a while; `NEVER`: until something changes."""
    instance = state.instances[i]
    instance.busy = 0 if for_s == NEVER else 1
    enter(state, i, stage, now_s)
    schedule(state.times, state.tree, FIRST_INSTANCE + i, now_s + for_s)


@handler
def commit(state, i, steps):  # type: ignore[no-untyped-def]
    """Count what whole steps have made."""
    instance = state.instances[i]
    made = steps * instance.running
    instance.step += steps
    instance.kv += made
    instance.reads += made
    instance.tokens += made
    instance.planned = 0
    state.totals[0].generated_tokens += made


@handler
def shorten(state, i, now_s):  # type: ignore[no-untyped-def]
    """End the present steps at the next boundary."""
    instance = state.instances[i]
    instance.planned = min(instance.planned, steps_to_reach(instance, now_s))
    schedule(state.times, state.tree, FIRST_INSTANCE + i, instance.start_s + span_s(instance, instance.planned))


@handler
def halt(state, i, now_s):  # type: ignore[no-untyped-def]
    """Stop at once: the step under way is lost, and what was being computed must be computed again."""
    instance = state.instances[i]
    if instance.busy == 1 and instance.stage == DECODE:
        commit(state, i, max(0, min(instance.planned - 1, steps_done(instance, now_s))))
    if instance.stage in (DECODE, PREFILL, RECOMPUTE):
        turn_to(state, i, IDLE, now_s, NEVER)


@handler
def owes(state, i):  # type: ignore[no-untyped-def]
    """Whether KV or prompts must be computed before the next step; without a rate it takes no time."""
    instance = state.instances[i]
    if state.params[0].prefill_tokens_per_s == NEVER:
        computed(state, i, RECOMPUTE)
        computed(state, i, PREFILL)
    return instance.owed_kv + instance.owed_prompt > 0


@handler
def computed(state, i, stage):  # type: ignore[no-untyped-def]
    """Lost KV, or the prompts, are computed."""
    instance, totals = state.instances[i], state.totals[0]
    if stage == RECOMPUTE:
        totals.recomputed_tokens += instance.owed_kv
        instance.owed_kv = 0
    else:
        totals.prefilled_tokens += instance.owed_prompt
        instance.owed_prompt = 0

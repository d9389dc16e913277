"""What the control plane does to the state between two slices: failures, verdicts of probes, versions."""

from __future__ import annotations

from sims.engine.clock import NEVER, schedule
from sims.engine.kernel import handler, loop
from sims.engine.lists import END, pop, push
from sims.parts.attempts import FIRST_INSTANCE, hang, stop_decoding
from sims.parts.calls import BROKEN, DECODING, SENDING
from sims.parts.health import PROBE_IN, PROBE_OUT, may_eject, set_doors, tell
from sims.parts.index import forget, wipe

ALL_ROWS = -1
FAIL, REJOIN, JUDGE, CANARY = 0, 1, 2, 3


@handler
def strand(state, slot, i, now_s):  # type: ignore[no-untyped-def]
    """A request loses its instance: its connection breaks, or goes silent until the gateway gives up."""
    if state.instances[i].hangs == 1:
        hang(state, slot, now_s)
    else:
        state.loads[0, i] -= 1
        state.calls[slot].stage = SENDING
        push(state.lines[BROKEN], state.calls, slot)


@handler
def take_decoding(state, i):  # type: ignore[no-untyped-def]
    """Take one request that decodes in the instance out of the ticks; −1 when none is left."""
    for at in range(state.totals[0].swept, state.ring.shape[1]):
        before, slot = END, state.ring[0, at]
        for _ in range(len(state.calls)):
            if slot == END:
                break
            if state.calls[slot].instance == i:
                if before == END:
                    state.ring[0, at] = state.calls[slot].next
                else:
                    state.calls[before].next = state.calls[slot].next
                state.totals[0].swept = at
                return slot
            before, slot = slot, state.calls[slot].next
    return END


@handler
def take_one(state, i):  # type: ignore[no-untyped-def]
    """Take a request out of a dying instance: the one in prefill, those that wait, those that decode."""
    instance = state.instances[i]
    if instance.prefilling != END:
        slot = instance.prefilling
        instance.prefilling = END
        instance.running -= 1
        return slot
    for low in range(2):
        if state.queues[2 * i + low].queued > 0:
            return pop(state.queues[2 * i + low], state.calls)
    slot = take_decoding(state, i)
    if slot != END:
        instance.running -= 1
    return slot


@handler
def fail(state, i, hangs, now_s):  # type: ignore[no-untyped-def]
    """An instance fails with all it holds; nobody knows yet."""
    instance, totals = state.instances[i], state.totals[0]
    if instance.up == 0:
        return
    instance.up = 0
    instance.hangs = hangs
    schedule(state.times, state.tree, FIRST_INSTANCE + i, NEVER)
    state.queue_s[0, i] = 0.0
    state.until_s[0, i] = 0.0
    totals.swept = 0
    for _ in range(len(state.calls)):
        slot = take_one(state, i)
        if slot == END:
            break
        call = state.calls[slot]
        if call.stage == DECODING:
            instance.slot_s += now_s - call.start_s
        stop_decoding(state, slot, now_s)
        if call.first_s >= 0.0:
            totals.broken_streams += 1
            totals.broken_tokens += call.generated
        strand(state, slot, i, now_s)
    wipe(state, i)


@handler
def rejoin(state, i):  # type: ignore[no-untyped-def]
    """An instance is back, with an empty cache; who has it out must find out."""
    state.instances[i].up = 1
    state.instances[i].hangs = 0
    forget(state, i)


@handler
def judge(state, i, out, now_s):  # type: ignore[no-untyped-def]
    """Probes have an instance out or take it back, for all routers; 1 when it is done."""
    if out == 1 and not may_eject(state, 0):
        return 0
    state.instances[i].unhealthy = out
    for row in range(len(state.breakers)):
        set_doors(state, row, i)
    tell(state, ALL_ROWS, i, PROBE_OUT if out == 1 else PROBE_IN, now_s)
    if out == 1:
        forget(state, i)
    return 1


@handler
def set_canary(state, instances, weight):  # type: ignore[no-untyped-def]
    """The last ``instances`` run version B, which gets ``weight`` of the requests; who changes starts cold."""
    state.params[0].canary_weight = weight
    count = len(state.instances)
    for i in range(count):
        version = 1 if i >= count - instances else 0
        if state.instances[i].version != version:
            state.instances[i].version = version
            wipe(state, i)
            forget(state, i)
            for row in range(len(state.breakers)):
                set_doors(state, row, i)


@loop
def obey(state, order, i, value, weight, now_s):  # type: ignore[no-untyped-def]
    """The one entry: compiling a large state's way in from Python takes longer than what is behind it."""
    state.totals[0].now_s = now_s
    if order == FAIL:
        fail(state, i, value, now_s)
    elif order == REJOIN:
        rejoin(state, i)
    elif order == JUDGE:
        return judge(state, i, value, now_s)
    else:
        set_canary(state, i, weight)
    return 1

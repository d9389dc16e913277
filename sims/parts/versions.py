"""New weights on an instance: it stands still, then runs on under them with the KV it has, or computes it anew."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.decaying_batch import mark_version, tokens_of, wake


@handler
def offer(state):  # type: ignore[no-untyped-def]
    """The latest weights can be taken: every instance does so at its next step boundary, or when it is empty."""
    totals = state.totals[0]
    totals.published = totals.version
    for i in range(len(state.instances)):
        if state.instances[i].alive == 1:
            state.instances[i].swapping = 1
            wake(state, i)


@handler
def may_swap(state, i):  # type: ignore[no-untyped-def]
    """Whether an instance has weights to take, and nothing keeps it from doing so."""
    instance = state.instances[i]
    return instance.swapping == 1 and (state.params[0].drains == 0 or instance.running == 0)


@handler
def end_swap(state, i):  # type: ignore[no-untyped-def]
    """The weights are there: what runs goes on under them."""
    instance, params, totals = state.instances[i], state.params[0], state.totals[0]
    old, new = instance.version, totals.published
    instance.swapping = 0
    instance.version = new
    if params.drains == 1:
        # It takes answers again.
        totals.look_work = 1
    for at in range(instance.running):
        slot = state.who[i, at]
        generated = tokens_of(instance, state.answers[slot])
        mark_version(state, slot, generated, old)
        if generated == 0:
            state.answers[slot].version = new
    if params.recomputes == 1 and instance.running > 0:
        instance.owed_kv = instance.kv
        instance.owed_prompt = 0

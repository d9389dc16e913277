"""Admission by tokens in use: a sequence joins a rank that has room for now, and may have to go before its end.

When a rank cannot hold the tokens of its next step, the last that it admitted gives back its KV; prompt and answer so
far are computed again, as after a loss, and it goes on with its next token.
"""

from __future__ import annotations

import math

from sims.engine.kernel import handler
from sims.engine.ring import take_out
from sims.parts.admitted import leave
from sims.parts.decode import clock_at, written
from sims.parts.ranks import add_work
from sims.systems.llm_serving.scheduler import settle


@handler
def overflows(state, u, r):  # type: ignore[no-untyped-def]
    """Whether a rank lacks room for the next step; one that runs alone never does, as it fits whole."""
    unit, running = state.units[u], state.rank_running[u, r]
    tokens = clock_at(unit, unit.step + 1) - unit.clock
    return running > 1 and state.rank_kv[u, r] + running * tokens > state.ranks[u, r].kv_capacity


@handler
def steps_to_overflow(state, u, steps):  # type: ignore[no-untyped-def]
    """Of the next ``steps``, those for which every rank has room; there is for one."""
    unit = state.units[u]
    for r in range(unit.ranks):
        running = state.rank_running[u, r]
        room = state.ranks[u, r].kv_capacity - state.rank_kv[u, r]
        if running > 1 and running * (clock_at(unit, unit.step + steps) - unit.clock) > room:
            last = unit.clock + room // running
            steps = max(1, math.ceil((last + 1) / unit.tokens_per_step) - 1 - unit.step)
            # The division may be off by one step through rounding.
            if steps > 1 and clock_at(unit, unit.step + steps) > last:
                steps -= 1
    return steps


@handler
def strip(state, u, slot):  # type: ignore[no-untyped-def]
    """A sequence is no longer part of the batch, and its KV is gone."""
    unit, request = state.units[u], state.requests[slot]
    r, held = request.rank, request.origin + unit.clock
    unit.running -= 1
    unit.kv -= held
    unit.load -= request.input + request.output
    state.ranks[u, r].reserved -= request.input + request.output
    state.rank_running[u, r] -= 1
    state.rank_kv[u, r] -= held
    add_work(state, u, r, held, -1)
    if state.params[0].retracts == 1:
        leave(state.ranks[u, r], state.requests, slot)


@handler
def retract(state, u, r, now_s):  # type: ignore[no-untyped-def]
    """The last admitted of a rank gives back its KV; which it is. It has to be computed again from its first token."""
    unit, totals, slot = state.units[u], state.totals[0], state.ranks[u, r].newest
    request = state.requests[slot]
    take_out(state.ring, u, state.requests, slot, request.bucket)
    totals.preempted += 1
    totals.preempted_tokens += request.origin + unit.clock
    settle(state, unit, request, written(unit, request), now_s)
    strip(state, u, slot)
    request.last_token_s = now_s
    request.cached = 0
    request.todo = request.input + request.generated
    return slot

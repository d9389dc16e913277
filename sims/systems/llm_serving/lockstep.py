"""How long the next steps of a replica last, and how many of them can be taken together.

Its engines step together, and the slowest sets the pace. Without prompts the time of each engine is a line over steps:
a macro-step follows the slowest's until another's crosses it, a block is missing, or an answer ends.
"""

from __future__ import annotations

import math

from sims.engine.kernel import handler
from sims.engine.ring import steps_to_next
from sims.parts.blocks import clock_at_overflow
from sims.parts.decode import clock_at
from sims.parts.step_times import prompt_time_s, step_time_s


@handler
def engine_time_s(state, u, e):  # type: ignore[no-untyped-def]
    """How long an engine takes for the next step; a unit's slopes are those of evenly spread work."""
    unit, engine = state.units[u], state.engines[e]
    kv = engine.origin + engine.running * unit.tokens_per_step * unit.step
    own = engine.running + unit.prompt_token_weight * engine.tokens
    mean = (unit.running + unit.prompt_token_weight * unit.tokens) / unit.ranks
    # What ranks share (experts) has the tokens of all of them, so that there their mean counts.
    tokens = own + unit.pooled_share * (mean - own)
    lasts_s = step_time_s(unit, state.tables, tokens, engine.running * unit.ranks, kv * unit.ranks)
    return lasts_s + prompt_time_s(unit, engine.tokens, engine.pairs)


@handler
def growth_s(unit, engine):  # type: ignore[no-untyped-def]
    """By how much each step of an engine is longer than the one before."""
    return unit.step_s_per_kv_token * unit.ranks * engine.running * unit.tokens_per_step


@handler
def find_slowest(state, u):  # type: ignore[no-untyped-def]
    """Set the unit's next step to that of its slowest engine, of equals the one that grows fastest; which it is."""
    unit = state.units[u]
    slowest = unit.first_rank
    unit.first_s = -1.0
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        engine = state.engines[e]
        if engine.running + engine.tokens > 0:
            engine.lasts_s, grows_s = engine_time_s(state, u, e), growth_s(unit, engine)
            if engine.lasts_s > unit.first_s or (engine.lasts_s == unit.first_s and grows_s > unit.growth_s):
                slowest = e
                unit.first_s = engine.lasts_s
                unit.growth_s = grows_s
    return slowest


@handler
def steps_in_lead(state, u, slowest, steps):  # type: ignore[no-untyped-def]
    """Of the next ``steps``, those in which no engine that grows faster overtakes the slowest."""
    unit = state.units[u]
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        engine = state.engines[e]
        gains_s = growth_s(unit, engine) - unit.growth_s
        if e != slowest and gains_s > 0.0:
            behind_s = unit.first_s - engine.lasts_s
            if behind_s < gains_s * (steps - 1):
                steps = max(1, math.ceil(behind_s / gains_s))
    return steps


@handler
def steps_with_blocks(state, u, e, steps):  # type: ignore[no-untyped-def]
    """Of the next ``steps``, those for which an engine has blocks; the first one's are taken already."""
    unit, engine = state.units[u], state.engines[e]
    begin, end = clock_at(unit, unit.step + 1), clock_at(unit, unit.step + steps)
    if engine.running == 0 or engine.running * ((end - begin) // unit.block_tokens + 1) <= engine.free:
        return steps
    last = clock_at_overflow(state.places[e], unit.block_tokens, engine.running, begin, engine.free)
    if last >= end:
        return steps
    steps = max(1, math.ceil((last + 1) / unit.tokens_per_step) - 1 - unit.step)
    # The division may be off by one step through rounding.
    if clock_at(unit, unit.step + steps) > last and steps > 1:
        steps -= 1
    return steps


@handler
def macro_steps(state, u, slowest):  # type: ignore[no-untyped-def]
    """How many steps without prompts can be taken together."""
    unit = state.units[u]
    steps = min(state.params[0].most_steps, steps_to_next(state.ring, u, unit.step))
    for e in range(unit.first_rank, unit.first_rank + unit.ranks):
        steps = steps_with_blocks(state, u, e, steps)
    return steps if unit.ranks == 1 else steps_in_lead(state, u, slowest, steps)

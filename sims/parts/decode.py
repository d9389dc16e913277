"""A batch that decodes in lockstep, advanced by macro-steps.

With B sequences running, step j of a macro-step lasts T₀ + g·j: T₀ as `sims.parts.step_times` has it, and
g = B·per-token because each step adds B tokens of KV. n steps last n·T₀ + g·n(n−1)/2, so events grow with
requests, never with tokens.

With speculation a step gives each sequence ``tokens_per_step`` on average: a clock of tokens, common to a unit, runs
that much faster than its steps, and a sequence ends after its own number of steps.
"""

from __future__ import annotations

import math

from sims.engine.kernel import handler
from sims.engine.sketch import record, record_ramp
from sims.parts.meter import BATCHES, batch_at, on_tokens
from sims.parts.step_times import step_time_s


@handler
def ramp_s(first_s, growth_s, steps):  # type: ignore[no-untyped-def]
    """The sum of ``steps`` times of which each is longer than the one before by ``growth_s``."""
    return steps * first_s + growth_s * (steps * (steps - 1) / 2)


@handler
def span_s(unit, steps):  # type: ignore[no-untyped-def]
    """How long the next ``steps`` steps last."""
    return ramp_s(unit.first_s, unit.growth_s, steps)


@handler
def steps_done(unit, now_s):  # type: ignore[no-untyped-def]
    """Whole steps of the present macro-step that have ended by ``now_s``."""
    since_s = now_s - unit.start_s
    if unit.planned == 0 or since_s <= 0.0:
        return 0
    half = unit.first_s - unit.growth_s / 2
    # The root of span = since, written so that it loses no digits as growth goes to zero.
    steps = int(2 * since_s / (half + math.sqrt(half * half + 2 * unit.growth_s * since_s)))
    steps = max(0, min(unit.planned, steps))
    # The root is off by at most one step through rounding.
    if steps < unit.planned and unit.start_s + span_s(unit, steps + 1) <= now_s:
        steps += 1
    if steps > 0 and unit.start_s + span_s(unit, steps) > now_s:
        steps -= 1
    return steps


@handler
def steps_to_reach(unit, at_s):  # type: ignore[no-untyped-def]
    """The fewest steps (at least one) whose end lies at or after ``at_s``."""
    steps = max(1, steps_done(unit, at_s))
    if unit.start_s + span_s(unit, steps) < at_s:
        steps += 1
    return steps


@handler
def clock_at(unit, step):  # type: ignore[no-untyped-def]
    """Tokens that a sequence has been given after so many steps of its unit."""
    return int(step * unit.tokens_per_step)


@handler
def clock_ahead(unit):  # type: ignore[no-untyped-def]
    """What a sequence is due on average beyond the whole tokens of the clock."""
    return unit.step * unit.tokens_per_step - unit.clock


@handler
def written(unit, request):  # type: ignore[no-untyped-def]
    """Tokens of the answer that a running sequence has; a step that is left gives at least one more."""
    upto = request.output - (request.finish_step - unit.step)
    if unit.tokens_per_step == 1.0:
        return upto
    return max(request.generated, min(upto, request.origin + unit.clock - request.input))


@handler
def steps_for(unit, request):  # type: ignore[no-untyped-def]
    """Steps that what is left of an answer takes: those drawn for it, or the mean when it was interrupted."""
    left = request.output - request.generated
    if unit.tokens_per_step == 1.0:
        return left
    drawn = request.generated <= 1 and request.steps > 0
    return request.steps if drawn else math.ceil(left / unit.tokens_per_step)


@handler
def plan_steps(unit, tables, steps, now_s):  # type: ignore[no-untyped-def]
    """Begin a macro-step of ``steps`` decode steps; the moment it ends."""
    unit.start_s = now_s
    unit.first_s = step_time_s(unit, tables, unit.running, unit.running, unit.kv)
    unit.growth_s = unit.step_s_per_kv_token * unit.running
    unit.planned = steps
    return now_s + span_s(unit, steps)


@handler
def commit_steps(unit, totals, window, batches, itl, steps, now_s):  # type: ignore[no-untyped-def]
    """Count what ``steps`` steps of the present macro-step have produced.

    Inter-token latency is the step time, once for each sequence that was already running; those that joined
    before the first step have no earlier token, or their own gap recorded when they joined.
    """
    clock = clock_at(unit, unit.step + steps)
    made = (clock - unit.clock) * unit.running
    batch = batch_at(window, now_s)
    if batch >= 0 and steps > 0:
        row = window.phase * BATCHES + batch
        record(itl[row], unit.first_s, unit.running - unit.joined)
        if steps > 1:
            record_ramp(itl[row], unit.first_s + unit.growth_s, unit.growth_s, steps - 1, unit.running)
        if made > steps * unit.running:
            # Accepted drafts leave together with the token that was due.
            record(itl[row], 0.0, made - steps * unit.running)
    unit.busy_s += span_s(unit, steps)
    unit.even_sum_s += ramp_s(unit.even_s, unit.even_growth_s, steps)
    unit.lag_sum_s += ramp_s(unit.lag_s, unit.lag_growth_s, steps)
    unit.sequence_s += unit.running * span_s(unit, steps)
    unit.step += steps
    unit.clock = clock
    unit.kv += made
    unit.done_tokens += made
    on_tokens(totals, window, batches, made, now_s)
    unit.planned = 0
    unit.joined = 0

"""What becomes of a request whose instance fails it: again elsewhere while a budget lasts, resumed, lost or cut."""

from __future__ import annotations

from sims.engine.clock import schedule
from sims.engine.kernel import handler
from sims.engine.lists import push
from sims.parts.calls import DECODING, HUNG, OUTBOX, SENDING, SILENT
from sims.parts.health import HALF_OPEN, next_half_open_s, on_bad
from sims.parts.tally import count_cut, count_lost

TICKS, INDEX, VIEWS, TIMEOUTS, BREAKERS, FIRST_INSTANCE = 1, 2, 3, 4, 5, 6
"""Sources of the clock after the arrivals; then one for the prefill of each instance."""

MOST_RETRY_TOKENS = 100.0


@handler
def verdict_row(params, router):  # type: ignore[no-untyped-def]
    """The row of breakers that a router goes by."""
    return 0 if params.shared_verdicts == 1 else router


@handler
def send_again(state, slot):  # type: ignore[no-untyped-def]
    """Put a request into the gateway's own queue."""
    state.calls[slot].stage = SENDING
    push(state.lines[OUTBOX], state.calls, slot)


@handler
def break_stream(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A stream broke midway: the gateway resumes it from what is out, or the client gets an error."""
    totals, call = state.totals[0], state.calls[slot]
    if state.params[0].resume == 1 and call.attempts <= state.params[0].most_resumes:
        totals.resumed += 1
        send_again(state, slot)
    else:
        count_cut(state, slot, now_s)


@handler
def break_call(state, slot, now_s):  # type: ignore[no-untyped-def]
    """The instance has failed a request."""
    totals, params, call = state.totals[0], state.params[0], state.calls[slot]
    row = verdict_row(state.params[0], call.router)
    # Streams that break say nothing, unless one may have been the trial of a half-open breaker, which waits for a word.
    tells = call.first_s < 0.0 or state.breakers[row, call.instance].state == HALF_OPEN
    if tells and on_bad(state, row, call.instance, now_s) == 1:
        schedule(state.times, state.tree, BREAKERS, next_half_open_s(state.breakers))
    if call.first_s >= 0.0:
        break_stream(state, slot, now_s)
    elif call.attempts <= params.retries and totals.retry_tokens >= 1.0:
        totals.retry_tokens -= 1.0
        totals.retried += 1
        send_again(state, slot)
    else:
        count_lost(state, slot, now_s)


@handler
def stop_decoding(state, slot, now_s):  # type: ignore[no-untyped-def]
    """Note what a stream has given out by now."""
    call = state.calls[slot]
    if call.stage == DECODING:
        steps = int((now_s - call.start_s) / call.token_s) if call.token_s > 0.0 else call.output
        call.generated = min(call.output - 1, call.generated + steps)
        call.last_s = now_s


@handler
def hang(state, slot, now_s):  # type: ignore[no-untyped-def]
    """No answer will come; the gateway gives up after its timeout."""
    call = state.calls[slot]
    call.stage = HUNG
    call.deadline_s = now_s + state.params[0].timeout_s
    if state.lines[SILENT].queued == 0:
        schedule(state.times, state.tree, TIMEOUTS, call.deadline_s)
    push(state.lines[SILENT], state.calls, slot)


@handler
def grant_retries(totals, params):  # type: ignore[no-untyped-def]
    """Each request that arrives earns a share of a retry."""
    totals.retry_tokens = min(MOST_RETRY_TOKENS, totals.retry_tokens + params.retry_budget)

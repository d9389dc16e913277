"""What is measured of a request, and when: by the moment of its token or of its completion, in batches.

Observations before the window are warm-up and dropped; those after its end (a finite workload that drains)
count in the last batch. The phase of a request is that of its arrival, the phase of a gap that of its token.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import give_slot
from sims.engine.sketch import record

BATCHES = 16
PHASES = 3
"""Before, during and after an event; histograms have a row for each batch of each phase."""


@handler
def batch_at(window, now_s):  # type: ignore[no-untyped-def]
    """The batch of a moment; −1 during warm-up."""
    if now_s < window.from_s:
        return -1
    return min(BATCHES - 1, int((now_s - window.from_s) / window.batch_s))


@handler
def on_first_token(totals, window, batches, ttft, request, at_s, sign):  # type: ignore[no-untyped-def]
    """A request's first token leaves at ``at_s``; ``sign`` −1 takes it back when its step was lost."""
    waited_s = at_s - request.arrival_s
    request.first_token_s = at_s
    request.last_token_s = at_s
    totals.first_tokens += sign
    totals.ttft_sum_s += sign * waited_s
    batch = batch_at(window, at_s)
    if batch >= 0:
        record(ttft[request.phase * BATCHES + batch], waited_s, sign)
        batches[batch].ttft_n += sign
        batches[batch].ttft_sum_s += sign * waited_s


@handler
def on_gap(window, itl, request, at_s):  # type: ignore[no-untyped-def]
    """A token of a request that had lost its unit leaves at ``at_s``: the gap was long."""
    batch = batch_at(window, at_s)
    if batch >= 0:
        record(itl[window.phase * BATCHES + batch], at_s - request.last_token_s, 1)
    request.last_token_s = at_s


@handler
def on_tokens(totals, window, batches, tokens, at_s):  # type: ignore[no-untyped-def]
    """Output tokens leave."""
    totals.output_tokens += tokens
    batch = batch_at(window, at_s)
    if batch >= 0:
        batches[batch].output_tokens += tokens


@handler
def on_finish(totals, window, batches, tpot, e2e, pool, slot, now_s):  # type: ignore[no-untyped-def]
    """A request's last token is out: its latencies are known and its slot is free."""
    request = pool[slot]
    totals.finished += 1
    totals.finished_output_tokens += request.output
    batch = batch_at(window, now_s)
    if batch >= 0:
        tally = batches[batch]
        whole_s = now_s - request.arrival_s
        tally.finished += 1
        tally.e2e_sum_s += whole_s
        row = request.phase * BATCHES + batch
        record(e2e[row], whole_s, 1)
        fast_start = request.first_token_s - request.arrival_s <= window.ttft_slo_s
        fast_tokens = True
        if request.output > 1:
            each_s = (now_s - request.first_token_s) / (request.output - 1)
            record(tpot[row], each_s, 1)
            tally.tpot_n += 1
            tally.tpot_sum_s += each_s
            fast_tokens = each_s <= window.tpot_slo_s
        tally.ttft_met += 1 if fast_start else 0
        tally.tpot_met += 1 if fast_tokens else 0
        tally.good += 1 if fast_start and fast_tokens else 0
    give_slot(totals, pool, slot)

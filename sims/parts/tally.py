"""What is counted of a request that passes a gateway, by the moment it happens, in batches."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import give_slot
from sims.engine.sketch import bin_of, record
from sims.parts.meter import BATCHES, batch_at

BY_VERSION = 2 * BATCHES
BY_PRIORITY = BY_VERSION + 2
GAPS = BY_PRIORITY + 2
SKETCHES = GAPS + 1
"""Rows of the histograms: TTFT by batch, then whole latency by batch, TTFT by version and by priority, pauses."""


@handler
def count_first_token(state, call, now_s):  # type: ignore[no-untyped-def]
    """A request's first token is out."""
    totals, window = state.totals[0], state.params[0]
    waited_s = now_s - call.arrival_s + state.params[0].gateway_s
    good = 1 if waited_s <= window.ttft_slo_s else 0
    call.first_s = now_s
    totals.first_tokens += 1
    totals.ttft_sum_s += waited_s
    totals.good += good
    batch = batch_at(window, now_s)
    if batch >= 0:
        column = bin_of(waited_s)
        state.sketches[batch, column] += 1
        state.sketches[BY_VERSION + call.version, column] += 1
        state.sketches[BY_PRIORITY + min(1, call.priority), column] += 1
        tally = state.batches[batch]
        tally.ttft_n += 1
        tally.ttft_sum_s += waited_s
        tally.good += good


@handler
def count_prompt(state, call, hit_tokens, now_s):  # type: ignore[no-untyped-def]
    """A prompt goes into prefill with so much of it cached."""
    totals = state.totals[0]
    totals.prompt_tokens += call.tokens
    totals.hit_tokens += hit_tokens
    if call.version == 1:
        totals.prompt_tokens_b += call.tokens
        totals.hit_tokens_b += hit_tokens
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        state.batches[batch].prompt_tokens += call.tokens
        state.batches[batch].hit_tokens += hit_tokens


@handler
def count_finish(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A request's last token is out."""
    totals, call = state.totals[0], state.calls[slot]
    whole_s = now_s - call.arrival_s + state.params[0].gateway_s
    totals.finished += 1
    totals.finished_output_tokens += call.output
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        record(state.sketches[BATCHES + batch], whole_s, 1)
        state.batches[batch].finished += 1
        state.batches[batch].e2e_sum_s += whole_s
    give_slot(totals, state.calls, slot)


@handler
def count_rejected(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A request is turned away at once: the client knows."""
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        state.batches[batch].rejected += 1
    state.totals[0].rejected += 1
    give_slot(state.totals[0], state.calls, slot)


@handler
def count_lost(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A request failed before its first token and is not tried again."""
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        state.batches[batch].lost += 1
    state.totals[0].lost += 1
    give_slot(state.totals[0], state.calls, slot)


@handler
def count_cut(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A stream ends in an error midway."""
    batch = batch_at(state.params[0], now_s)
    if batch >= 0:
        state.batches[batch].cut += 1
    state.totals[0].cut += 1
    give_slot(state.totals[0], state.calls, slot)

"""What is measured of a request for an adapter: where its first token's time went, its speed, its tenant's bill."""

from __future__ import annotations

import numpy as np

from sims.engine.kernel import handler
from sims.engine.lists import give_slot
from sims.engine.sketch import record
from sims.parts.adapters import BARE, COLD, HEATS, HOT, WARM
from sims.parts.lora_steps import ITL
from sims.parts.meter import BATCHES, batch_at

TPOT = HEATS * BATCHES
E2E = ITL + BATCHES
SLOT_WAIT = E2E + BATCHES
SKETCHES = SLOT_WAIT + BATCHES
"""Rows of the histograms, each by batch: TTFT by what was found, then TPOT, gaps, whole latency, waits for a slot."""

LOG = np.dtype(
    [
        ("seq", "i8"),
        ("adapter", "i8"),
        ("unit", "i8"),
        ("heat", "i8"),
        ("sent_s", "f8"),
        ("admitted_s", "f8"),
        ("first_s", "f8"),
        ("finish_s", "f8"),
    ]
)


@handler
def count_heat(totals, heat):  # type: ignore[no-untyped-def]
    """What a request found when it came to its replica."""
    totals.hot += 1 if heat == HOT else 0
    totals.warm += 1 if heat == WARM else 0
    totals.cold += 1 if heat == COLD else 0
    totals.bare += 1 if heat == BARE else 0


@handler
def split_wait(state, tally, request, now_s):  # type: ignore[no-untyped-def]
    """Where the time to the first token went: held, download, slot, copy, queue, prefill. Returns the slot's part.

    Waiting for a slot is the time during which there was none; the rest until it was given is the queue's.
    """
    cell = state.cells[request.unit, request.adapter]
    in_host_s = max(request.sent_s, cell.host_s)
    granted_s = max(in_host_s, cell.granted_s)
    copied_s = max(granted_s, min(cell.copied_s, request.admitted_s))
    mark = request.short_mark if request.sent_s >= cell.host_s else cell.host_mark
    slot_s = min(granted_s - in_host_s, max(0.0, cell.granted_mark - mark))
    tally.held_sum_s += request.sent_s - request.arrival_s
    tally.download_sum_s += in_host_s - request.sent_s
    tally.slot_sum_s += slot_s
    tally.copy_sum_s += copied_s - granted_s
    tally.queue_sum_s += request.admitted_s - copied_s + granted_s - in_host_s - slot_s
    tally.prefill_sum_s += now_s - request.admitted_s
    return slot_s


@handler
def on_first(state, request, now_s):  # type: ignore[no-untyped-def]
    """A request's first token is out."""
    totals = state.totals[0]
    waited_s = now_s - request.arrival_s
    request.first_s = now_s
    request.last_s = now_s
    totals.first_tokens += 1
    totals.ttft_sum_s += waited_s
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        tally = state.batches[batch]
        record(state.sketches[request.heat * BATCHES + batch], waited_s, 1)
        tally.ttft_n += 1
        tally.ttft_sum_s += waited_s
        count_heat(tally, request.heat)
        slot_s = split_wait(state, tally, request, now_s)
        record(state.sketches[SLOT_WAIT + batch], slot_s, 1)


@handler
def count_goals(window, tally, request, each_s):  # type: ignore[no-untyped-def]
    """Whether the request met its objectives."""
    fast_start = request.first_s - request.arrival_s <= window.ttft_slo_s
    fast_tokens = each_s <= window.tpot_slo_s
    tally.ttft_met += 1 if fast_start else 0
    tally.tpot_met += 1 if fast_tokens else 0
    tally.good += 1 if fast_start and fast_tokens else 0


@handler
def write_log(state, request, now_s):  # type: ignore[no-untyped-def]
    """Write a finished request down, as long as there is room."""
    totals = state.totals[0]
    if totals.logged < len(state.log):
        entry = state.log[totals.logged]
        entry.seq = request.seq
        entry.adapter = request.adapter
        entry.unit = request.unit
        entry.heat = request.heat
        entry.sent_s = request.sent_s
        entry.admitted_s = request.admitted_s
        entry.first_s = request.first_s
        entry.finish_s = now_s
        totals.logged += 1


@handler
def on_done(state, slot, now_s):  # type: ignore[no-untyped-def]
    """A request's last token is out."""
    totals, request = state.totals[0], state.requests[slot]
    totals.finished += 1
    totals.finished_output_tokens += request.output
    state.units[request.unit].served += 1
    batch = batch_at(state.window[0], now_s)
    if batch >= 0:
        tally, each_s = state.batches[batch], 0.0
        whole_s = now_s - request.arrival_s
        tally.finished += 1
        tally.e2e_sum_s += whole_s
        record(state.sketches[E2E + batch], whole_s, 1)
        if request.output > 1:
            each_s = (now_s - request.first_s) / (request.output - 1)
            record(state.sketches[TPOT + batch], each_s, 1)
            tally.tpot_n += 1
            tally.tpot_sum_s += each_s
        count_goals(state.window[0], tally, request, each_s)
    write_log(state, request, now_s)
    give_slot(totals, state.requests, slot)

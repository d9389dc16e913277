"""Records of requests that pass a gateway, of the instances behind it, and of what is counted."""

from __future__ import annotations

import numpy as np

from sims.engine.lists import END
from sims.parts.records import records

FREE, SENDING, QUEUED, PREFILLING, DECODING, HUNG = 0, 1, 2, 3, 4, 5
"""Stages of a request: with the gateway; waiting at an instance; its prompt computed; decoding; no answer comes."""

OUTBOX, BROKEN, SILENT = 0, 1, 2
"""The gateway's own lines: to be sent, just failed, and waiting for the timeout of an instance that is silent."""

CALL_ARRIVAL = np.dtype(
    [
        ("at_s", "f8"),
        ("luck", "f8"),
        ("stem", "i8"),
        ("session", "i8"),
        ("fresh", "i8"),
        ("tokens", "i8"),
        ("blocks", "i8"),
        ("kept", "i8"),
        ("output", "i8"),
        ("priority", "i8"),
    ]
)
"""``luck`` (0 … 1) feeds every random choice about the request; ``fresh`` starts a new session in its place.
``blocks`` of the prompt can be found in a cache, and ``kept`` are held there with the answer."""

CALL = np.dtype(
    [
        ("arrival_s", "f8"),
        ("first_s", "f8"),
        ("start_s", "f8"),
        ("token_s", "f8"),
        ("luck", "f8"),
        ("pledged_s", "f8"),
        ("deadline_s", "f8"),
        ("last_s", "f8"),
        ("finish_step", "i8"),
        ("next", "i8"),
        ("stage", "i8"),
        ("stem", "i8"),
        ("session", "i8"),
        ("generation", "i8"),
        ("tokens", "i8"),
        ("blocks", "i8"),
        ("kept", "i8"),
        ("output", "i8"),
        ("generated", "i8"),
        ("priority", "i8"),
        ("router", "i8"),
        ("version", "i8"),
        ("instance", "i8"),
        ("attempts", "i8"),
    ]
)
INSTANCE = np.dtype(
    [
        ("up", "i8"),
        ("hangs", "i8"),
        ("version", "i8"),
        ("running", "i8"),
        ("prefilling", "i8"),
        ("waking", "i8"),
        ("waker", "i8"),
        ("unhealthy", "i8"),
        ("served", "i8"),
        ("busy_s", "f8"),
        ("slot_s", "f8"),
        ("uncached_tokens", "i8"),
        ("prompt_tokens", "i8"),
    ]
)
"""``running`` counts prefill and decoding together; ``busy_s`` is time in prefill, ``slot_s`` slots held."""

CALL_TOTALS = np.dtype(
    [
        ("now_s", "f8"),
        ("events", "i8"),
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("lost", "i8"),
        ("cut", "i8"),
        ("in_flight", "i8"),
        ("free", "i8"),
        ("next_arrival", "i8"),
        ("arrivals", "i8"),
        ("more", "i8"),
        ("backwards", "i8"),
        ("free_entry", "i8"),
        ("entries", "i8"),
        ("first_dirty", "i8"),
        ("waking", "i8"),
        ("refused", "i8"),
        ("timed_out", "i8"),
        ("retried", "i8"),
        ("resumed", "i8"),
        ("retry_tokens", "f8"),
        ("unroutable", "i8"),
        ("expired", "i8"),
        ("first_tokens", "i8"),
        ("ttft_sum_s", "f8"),
        ("good", "i8"),
        ("prompt_tokens", "i8"),
        ("hit_tokens", "i8"),
        ("computed_tokens", "i8"),
        ("resumed_tokens", "i8"),
        ("finished_output_tokens", "i8"),
        ("next_view", "i8"),
        ("verdicts", "i8"),
        ("logged", "i8"),
        ("sent_in_window", "i8"),
        ("window", "i8"),
        ("sent_per_s", "f8"),
        ("decode_sum_s", "f8"),
        ("decodes", "i8"),
        ("swept", "i8"),
        ("broken_streams", "i8"),
        ("broken_tokens", "i8"),
        ("prompt_tokens_b", "i8"),
        ("hit_tokens_b", "i8"),
    ]
)
CALL_BATCH = np.dtype(
    [
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("lost", "i8"),
        ("cut", "i8"),
        ("good", "i8"),
        ("ttft_n", "i8"),
        ("ttft_sum_s", "f8"),
        ("e2e_sum_s", "f8"),
        ("prompt_tokens", "i8"),
        ("hit_tokens", "i8"),
        ("asked_tokens", "i8"),
        ("held_tokens", "i8"),
        ("captured_tokens", "i8"),
    ]
)
"""``asked``, ``held``, ``captured`` and ``delivered`` are of the requests that are looked at closely."""


def instance_records(count: int) -> np.recarray:
    """Instances that are up and idle."""
    made = records(INSTANCE, count=count)
    made.up = 1
    made.prefilling = END
    return made

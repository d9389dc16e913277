"""Records of a fleet whose replicas share one base LLM and swap adapters: requests, replicas, adapters on replicas.

The last adapter number stands for the bare base, which needs no slot, and the last tenant for whoever asks for it.
"""

from __future__ import annotations

import numpy as np

FREE, SENDING, HELD, WAITING, FILLING, RUNNING, PARKED = 0, 1, 2, 3, 4, 5, 6
"""Stages of a request: to be routed; held by a limit; at a replica; in prefill; decoding; no replica is up."""

HOT, WARM, COLD, BARE = 0, 1, 2, 3
"""What a request found on its replica: its adapter in a slot, in host memory, in neither; it needs none."""
HEATS = 4

NO_SLOT, LOADING, RESIDENT = 0, 1, 2
NOT_HELD, ASKED, FETCHING, IN_HOST = 0, 1, 2, 3
READY, WANTING, NO_LINE = 0, 1, 2
"""Lines of adapters with waiting requests: those that could run at once, and those that want a slot."""

ADAPTER_ARRIVAL = np.dtype(
    [("at_s", "f8"), ("luck", "f8"), ("adapter", "i8"), ("input", "i8"), ("cached", "i8"), ("output", "i8")]
)
ADAPTER_REQUEST = np.dtype(
    [
        ("arrival_s", "f8"),
        ("sent_s", "f8"),
        ("admitted_s", "f8"),
        ("first_s", "f8"),
        ("last_s", "f8"),
        ("base_mark", "f8"),
        ("lora_mark", "f8"),
        ("short_mark", "f8"),
        ("luck", "f8"),
        ("seq", "i8"),
        ("adapter", "i8"),
        ("tenant", "i8"),
        ("input", "i8"),
        ("todo", "i8"),
        ("taken", "i8"),
        ("output", "i8"),
        ("generated", "i8"),
        ("billed", "i8"),
        ("heat", "i8"),
        ("finish_step", "i8"),
        ("next", "i8"),
        ("unit", "i8"),
        ("stage", "i8"),
    ]
)
CELL = np.dtype(
    [
        ("head", "i8"),
        ("tail", "i8"),
        ("queued", "i8"),
        ("first_seq", "i8"),
        ("slot", "i8"),
        ("claimed", "i8"),
        ("users", "i8"),
        ("pinned", "i8"),
        ("host", "i8"),
        ("line", "i8"),
        ("at", "i8"),
        ("next", "i8"),
        ("granted_s", "f8"),
        ("copied_s", "f8"),
        ("host_s", "f8"),
        ("granted_mark", "f8"),
        ("host_mark", "f8"),
    ]
)
"""An adapter on a replica. ``users`` are its requests in the batch: while there are any it keeps its slot."""

LANE = np.dtype(
    [
        ("waiting", "i8"),
        ("at", "i8"),
        ("slots", "i8"),
        ("running", "i8"),
        ("since_step", "i8"),
        ("lift", "f8"),
        ("requests", "i8"),
        ("in_tokens", "i8"),
        ("computed_tokens", "i8"),
        ("out_tokens", "i8"),
        ("base_s", "f8"),
        ("lora_s", "f8"),
        ("stall_s", "f8"),
        ("slot_s", "f8"),
        ("copies", "i8"),
        ("copy_bytes", "f8"),
        ("downloads", "i8"),
        ("download_bytes", "f8"),
    ]
)
"""A tenant on a replica: the slots whose adapters run or are about to, its counter of fair scheduling, and what it is
to be billed for."""

REPLICA = np.dtype(
    [
        ("load", "i8"),
        ("alive", "i8"),
        ("stopped", "i8"),
        ("step", "i8"),
        ("shown_step", "i8"),
        ("start_s", "f8"),
        ("first_s", "f8"),
        ("growth_s", "f8"),
        ("lora_s", "f8"),
        ("stall_s", "f8"),
        ("stall_due_s", "f8"),
        ("pause_s", "f8"),
        ("weight", "f8"),
        ("lora_weight", "f8"),
        ("base_tick", "f8"),
        ("lora_tick", "f8"),
        ("lora_tokens", "i8"),
        ("copied_s", "f8"),
        ("planned", "i8"),
        ("emits", "i8"),
        ("running", "i8"),
        ("filling", "i8"),
        ("joined", "i8"),
        ("lora_running", "i8"),
        ("distinct", "i8"),
        ("kv", "i8"),
        ("reserved", "i8"),
        ("tokens", "i8"),
        ("empty_slots", "i8"),
        ("idle", "i8"),
        ("claimed", "i8"),
        ("waiting", "i8"),
        ("waiting_tenants", "i8"),
        ("left_tenant", "i8"),
        ("host_used", "i8"),
        ("fetching", "i8"),
        ("link_free_s", "f8"),
        ("short", "i8"),
        ("short_since_s", "f8"),
        ("short_clock", "f8"),
        ("base_clock", "f8"),
        ("lora_clock", "f8"),
        ("busy_s", "f8"),
        ("sequence_s", "f8"),
        ("distinct_s", "f8"),
        ("distinct_steps", "i8"),
        ("kv_s", "f8"),
        ("reserved_s", "f8"),
        ("served", "i8"),
    ]
)
"""``shown_step`` is the last step whose tokens counters have. ``base_clock`` and ``lora_clock`` run by step time per
weighted token, so that a sequence's share of the GPU is what they have moved while it ran; ``short_clock`` runs while
there is no slot to be given."""

ADAPTER_TOTALS = np.dtype(
    [
        ("now_s", "f8"),
        ("events", "i8"),
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("limited", "i8"),
        ("in_flight", "i8"),
        ("free", "i8"),
        ("next_arrival", "i8"),
        ("arrivals", "i8"),
        ("more", "i8"),
        ("backwards", "i8"),
        ("turn", "i8"),
        ("output_tokens", "i8"),
        ("finished_output_tokens", "i8"),
        ("prompt_tokens", "i8"),
        ("computed_tokens", "i8"),
        ("first_tokens", "i8"),
        ("ttft_sum_s", "f8"),
        ("hot", "i8"),
        ("warm", "i8"),
        ("cold", "i8"),
        ("bare", "i8"),
        ("copies", "i8"),
        ("copy_bytes", "f8"),
        ("downloads", "i8"),
        ("download_bytes", "f8"),
        ("warm_ups", "i8"),
        ("diverted", "i8"),
        ("restarted", "i8"),
        ("logged", "i8"),
    ]
)
ADAPTER_BATCH = np.dtype(
    [
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("limited", "i8"),
        ("good", "i8"),
        ("ttft_met", "i8"),
        ("tpot_met", "i8"),
        ("ttft_n", "i8"),
        ("ttft_sum_s", "f8"),
        ("tpot_n", "i8"),
        ("tpot_sum_s", "f8"),
        ("e2e_sum_s", "f8"),
        ("output_tokens", "i8"),
        ("hot", "i8"),
        ("warm", "i8"),
        ("cold", "i8"),
        ("bare", "i8"),
        ("held_sum_s", "f8"),
        ("download_sum_s", "f8"),
        ("slot_sum_s", "f8"),
        ("copy_sum_s", "f8"),
        ("queue_sum_s", "f8"),
        ("prefill_sum_s", "f8"),
    ]
)
"""Counts of a batch of the measuring window; the last six add up to the TTFT of its first tokens."""

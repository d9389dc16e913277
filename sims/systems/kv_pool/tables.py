"""The records of this system: parameters, tiers, nodes, requests in flight, and the sums of a window."""

from __future__ import annotations

import numpy as np

PARAMS = np.dtype(
    [
        ("nodes", "i8"),
        ("block_tokens", "i8"),
        ("block_bytes", "f8"),
        ("prefill_s", "f8"),
        ("linear_s", "f8"),
        ("serves_from_s", "f8"),
        ("square_s", "f8"),
        ("layers", "i8"),
        ("fetch", "i8"),
        ("policy", "i8"),
        ("place", "i8"),
        ("state_blocks", "i8"),
        ("groups", "i8"),
        ("by_request", "i8"),
        ("new_share", "f8"),
        ("new_quota", "f8"),
        ("turn_node", "i8"),
    ]
)
TIER = np.dtype(
    [
        ("first", "i8"),
        ("pooled", "i8"),
        ("holds", "i8"),
        ("every_touch", "i8"),
        ("there", "i8"),
        ("node_blocks", "i8"),
        ("latency_s", "f8"),
        ("reads", "i8"),
        ("waited_s", "f8"),
        ("took_s", "f8"),
        ("read", "i8"),
        ("declined", "i8"),
    ]
)
STEP = np.dtype([("owner", "i8"), ("need", "i8"), ("limit", "i8"), ("depth", "i8")])
PIECE = np.dtype([("tier", "i8"), ("blocks", "i8"), ("depth", "i8"), ("home", "i8")])
NODE = np.dtype(
    [
        ("alive", "i8"),
        ("load", "i8"),
        ("weight", "f8"),
        ("serving", "i8"),
        ("busy_s", "f8"),
        ("until_s", "f8"),
        ("began_s", "f8"),
        ("alone_free_s", "f8"),
    ]
)
REQUEST = np.dtype(
    [
        ("arrival_s", "f8"),
        ("ready_s", "f8"),
        ("kv_s", "f8"),
        ("compute_s", "f8"),
        ("tokens", "i8"),
        ("todo", "i8"),
        ("node", "i8"),
        ("stage", "i8"),
        ("next", "i8"),
        ("before", "i8"),
    ]
)
TOTALS = np.dtype(
    [
        ("now_s", "f8"),
        ("events", "i8"),
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("restarted", "i8"),
        ("in_flight", "i8"),
        ("free", "i8"),
        ("next_arrival", "i8"),
        ("arrivals", "i8"),
        ("more", "i8"),
        ("path", "i8"),
        ("pieces", "i8"),
        ("backwards", "i8"),
    ]
)
SUMS = np.dtype(
    [
        ("requests", "i8"),
        ("tokens", "i8"),
        ("lookups", "i8"),
        ("reusable", "i8"),
        ("hbm", "i8"),
        ("dram", "i8"),
        ("ssd", "i8"),
        ("declined", "i8"),
        ("missed", "i8"),
        ("hit_tokens", "i8"),
        ("hbm_requests", "i8"),
        ("dram_requests", "i8"),
        ("ssd_requests", "i8"),
        ("miss_requests", "i8"),
        ("compute_s", "f8"),
        ("alone_compute_s", "f8"),
        ("bare_compute_s", "f8"),
        ("finished", "i8"),
        ("ttft_sum_s", "f8"),
        ("alone_n", "i8"),
        ("alone_ttft_sum_s", "f8"),
    ]
)
"""Blocks unless named otherwise: ``reusable`` were seen before, ``declined`` were found but computed anew.
``alone`` is the same fleet with HBM only, ``bare`` without any cache."""

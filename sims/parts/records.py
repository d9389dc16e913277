"""Records that several parts read and write: requests, queues, step-taking units, totals and the window.

Counts and indices are 64-bit throughout, so that sums mean the same in compiled code and with JIT off.
"""

from __future__ import annotations

import numpy as np

from sims.engine.lists import END
from sims.parts.step_times import STEP_TIMES

FREE, PREFILL, WAITING, RUNNING, PARKED, FETCHING = 0, 1, 2, 3, 4, 5
"""Stages of a request: in prefill or queued for it; its KV under way to or waiting at a unit; decoding; stranded;
its KV under way from a pool."""

REQUEST = np.dtype(
    [
        ("arrival_s", "f8"),
        ("first_token_s", "f8"),
        ("last_token_s", "f8"),
        ("ready_s", "f8"),
        ("finish_step", "i8"),
        ("input", "i8"),
        ("todo", "i8"),
        ("output", "i8"),
        ("generated", "i8"),
        ("next", "i8"),
        ("before", "i8"),
        ("unit", "i8"),
        ("rank", "i8"),
        ("stage", "i8"),
        ("cached", "i8"),
        ("phase", "i8"),
        ("steps", "i8"),
        ("stem", "i8"),
        ("blocks", "i8"),
        ("origin", "i8"),
        ("bucket", "i8"),
        ("older", "i8"),
        ("newer", "i8"),
    ]
)
ARRIVAL = np.dtype(
    [
        ("at_s", "f8"),
        ("input", "i8"),
        ("cached", "i8"),
        ("output", "i8"),
        ("stem", "i8"),
        ("blocks", "i8"),
        ("steps", "i8"),
    ]
)
"""``cached`` tokens are found for certain; or the prompt has ``blocks`` and ``stem``, the last segment that it shares
(see `sims.parts.paths`), and the unit's own cache tells: then ``cached`` is 0. Without blocks, stem is −1."""
QUEUE = np.dtype(
    [
        ("head", "i8"),
        ("tail", "i8"),
        ("queued", "i8"),
        ("load", "i8"),
        ("finishing", "i8"),
        ("pairs", "f8"),
        ("egress_free_s", "f8"),
    ]
)
PREFILL_UNIT = np.dtype(
    [
        *STEP_TIMES,
        ("prefill_budget_tokens", "i8"),
        ("ranks", "i8"),
        ("first_rank", "i8"),
        ("load", "i8"),
        ("asks", "i8"),
        ("weight", "f8"),
        ("alive", "i8"),
        ("stopped", "i8"),
        ("busy", "i8"),
        ("start_s", "f8"),
        ("lasts_s", "f8"),
        ("tokens", "i8"),
        ("busy_s", "f8"),
        ("done_tokens", "i8"),
    ]
)
UNIT = np.dtype(
    [
        *STEP_TIMES,
        ("prompt_token_weight", "f8"),
        ("pooled_share", "f8"),
        ("prefill_budget_tokens", "i8"),
        ("kv_capacity_tokens", "i8"),
        ("max_running", "i8"),
        ("block_tokens", "i8"),
        ("reserve_full_prompt", "i8"),
        ("tokens_per_step", "f8"),
        ("ranks", "i8"),
        ("first_rank", "i8"),
        ("load", "i8"),
        ("asks", "i8"),
        ("weight", "f8"),
        ("alive", "i8"),
        ("stopped", "i8"),
        ("step", "i8"),
        ("clock", "i8"),
        ("start_s", "f8"),
        ("first_s", "f8"),
        ("growth_s", "f8"),
        ("planned", "i8"),
        ("running", "i8"),
        ("filling", "i8"),
        ("joined", "i8"),
        ("kv", "i8"),
        ("tokens", "i8"),
        ("busy_s", "f8"),
        ("sequence_s", "f8"),
        ("done_tokens", "i8"),
        ("sequence_weight", "i8"),
        ("token_weight", "i8"),
        ("slowest", "i8"),
        ("blocked", "i8"),
        ("even_s", "f8"),
        ("even_growth_s", "f8"),
        ("even_sum_s", "f8"),
        ("lag_s", "f8"),
        ("lag_growth_s", "f8"),
        ("lag_sum_s", "f8"),
    ]
)
"""``even_s``: what the mean rank works in the next step, with its growth a step and its sum over all steps so far;
``lag_s``: the same of what the slowest rank works more than the mean."""
ENGINE = np.dtype(
    [
        ("free", "i8"),
        ("blocks", "i8"),
        ("most_running", "i8"),
        ("admitted", "i8"),
        ("running", "i8"),
        ("origin", "i8"),
        ("filling", "i8"),
        ("newest", "i8"),
        ("tokens", "i8"),
        ("pairs", "f8"),
        ("lasts_s", "f8"),
        ("load", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        ("queued", "i8"),
    ]
)
"""A rank of a replica with its own scheduler. Its queue holds those that wait for admission, ``origin`` + ``running`` ·
clock are the tokens its sequences read, ``tokens`` those of prompts in the step under way."""
TOTALS = np.dtype(
    [
        ("now_s", "f8"),
        ("events", "i8"),
        ("arrived", "i8"),
        ("finished", "i8"),
        ("rejected", "i8"),
        ("in_flight", "i8"),
        ("free", "i8"),
        ("next_arrival", "i8"),
        ("arrivals", "i8"),
        ("more", "i8"),
        ("turn_prefill", "i8"),
        ("turn_unit", "i8"),
        ("output_tokens", "i8"),
        ("finished_output_tokens", "i8"),
        ("prefill_tokens", "i8"),
        ("moved_tokens", "i8"),
        ("restarted", "i8"),
        ("preempted", "i8"),
        ("preempted_tokens", "i8"),
        ("lost", "i8"),
        ("lost_output_tokens", "i8"),
        ("fetched_tokens", "i8"),
        ("first_tokens", "i8"),
        ("ttft_sum_s", "f8"),
        ("prompt_tokens", "i8"),
        ("hit_tokens", "i8"),
        ("free_entry", "i8"),
        ("entries", "i8"),
        ("first_dirty", "i8"),
        ("backwards", "i8"),
    ]
)
WINDOW = np.dtype([("from_s", "f8"), ("batch_s", "f8"), ("ttft_slo_s", "f8"), ("tpot_slo_s", "f8"), ("phase", "i8")])
BATCH = np.dtype(
    [
        ("finished", "i8"),
        ("rejected", "i8"),
        ("lost", "i8"),
        ("good", "i8"),
        ("ttft_met", "i8"),
        ("tpot_met", "i8"),
        ("output_tokens", "i8"),
        ("ttft_n", "i8"),
        ("ttft_sum_s", "f8"),
        ("tpot_n", "i8"),
        ("tpot_sum_s", "f8"),
        ("e2e_sum_s", "f8"),
    ]
)


def records(dtype: np.dtype, *, count: int) -> np.recarray:
    """``count`` zeroed records; a record array, so that fields are attributes with JIT off too."""
    return np.zeros(count, dtype).view(np.recarray)


def queues(count: int) -> np.recarray:
    """Empty queues."""
    made = records(QUEUE, count=count)
    made.head = END
    made.tail = END
    return made


def pool_of(dtype: np.dtype, *, slots: int, link: str = "next", old: np.recarray | None = None) -> np.recarray:
    """A pool whose new slots are chained through the field ``link``; ``old`` ones keep their place at its start."""
    pool = records(dtype, count=slots)
    kept = 0 if old is None else len(old)
    if old is not None:
        pool[:kept] = old
    pool[link][kept:] = np.arange(kept + 1, slots + 1)
    pool[link][-1] = END
    return pool


def doubled(pool: np.recarray, *, book: np.record, free: str = "free", link: str = "next") -> np.recarray:
    """Twice the slots; the new ones go before those that ``book`` still lists as free."""
    more = pool_of(pool.dtype, slots=2 * len(pool), link=link, old=pool)
    more[link][-1] = book[free]
    book[free] = len(pool)
    return more


def request_pool(slots: int) -> np.recarray:
    """Requests that are all free."""
    return pool_of(REQUEST, slots=slots)

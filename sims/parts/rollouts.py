"""Records of generation for training: answers, the groups they belong to, instances, the trainer, and counts.

A group's answers lie side by side in the pool of answers: those of the group in slot q begin at q · answers.
"""

from __future__ import annotations

import numpy as np

FREE, WAITING, RUNNING, ENDED, SCORED, DROPPED = range(6)
"""Stages of an answer: bound to an instance or to be; decoding; ended, without a score; with one; left out, as
scoring took too long."""
OPEN, COMPLETE = 1, 2
"""Stages of a group that is not free."""
IDLE, DECODE, PREFILL, RECOMPUTE, SYNC, SWITCH, LENT, DOWN = range(8)
"""What an instance does: nothing; decoding; computing prompts, or KV that was lost; taking weights; changing sides;
training (co-located); dead."""
STAGES = 8
T_IDLE, T_TRAIN, T_SYNC, T_OUT, T_BACK = range(5)
"""What the trainer does: waits for a batch; trains; hands out weights; takes GPUs over, or gives them back."""
T_STAGES = 5
CONSUMED, DISCARDED, FILTERED, ABORTED, TIMED_OUT, LOST = range(6)
"""What becomes of answers and tokens: trained on; too old; of a group without a signal; cut when the batch was full;
left out because scoring took too long; tokens lost with an instance (the answer starts anew)."""
FATES = 6

ANSWER = np.dtype(
    [
        ("length", "i8"),
        ("prompt", "i8"),
        ("generated", "i8"),
        ("finish_step", "i8"),
        ("version", "i8"),
        ("marked", "i8"),
        ("version_tokens", "i8"),
        ("turn", "i8"),
        ("instance", "i8"),
        ("group", "i8"),
        ("next", "i8"),
        ("stage", "i8"),
        ("right", "i8"),
        ("score_s", "f8"),
        ("ended_s", "f8"),
    ]
)
"""``version`` is that of its first token; ``version_tokens`` sums the version over the first ``marked`` tokens."""
GROUP = np.dtype([(name, "i8") for name in ("stage", "next", "home", "generated", "scored", "dropped", "right")])
INSTANCE = np.dtype(
    [
        ("alive", "i8"),
        ("stage", "i8"),
        ("busy", "i8"),
        ("running", "i8"),
        ("step", "i8"),
        ("planned", "i8"),
        ("start_s", "f8"),
        ("first_s", "f8"),
        ("growth_s", "f8"),
        ("kv", "i8"),
        ("reads", "i8"),
        ("waiting_tokens", "i8"),
        ("owed_prompt", "i8"),
        ("owed_kv", "i8"),
        ("version", "i8"),
        ("swapping", "i8"),
        ("waking", "i8"),
        ("waker", "i8"),
        ("since_s", "f8"),
        ("shown", "i8"),
        ("shown_s", "f8"),
        ("tokens", "i8"),
        ("served", "i8"),
    ]
)
"""``kv`` are the tokens it holds (shared prompts once), ``reads`` those that a step reads."""
COUNTS = (
    "opened",
    "started",
    "ended",
    "capped",
    "groups_consumed",
    "groups_discarded",
    "groups_filtered",
    "groups_aborted",
    "groups_empty",
    "generated_tokens",
    "prefilled_tokens",
    "recomputed_tokens",
    "masked_tokens",
    "masked_answers",
    "preempted",
    "restarted",
    "timeouts",
    "late",
)
"""Sums since the start; ``late``: answers trained on that were older than the bound."""
AREAS = ("running_s", "waiting_s", "scoring_s", "queued_s", "scoring_wait_s", "age_sum", "token_age_sum")
"""Integrals over time, and sums: seconds that answers waited for scoring, ages of answers and of tokens."""
TOTALS = np.dtype(
    [
        ("now_s", "f8"),
        ("events", "i8"),
        ("backwards", "i8"),
        ("free", "i8"),
        ("in_flight", "i8"),
        ("next_arrival", "i8"),
        ("arrivals", "i8"),
        ("more", "i8"),
        ("quota", "i8"),
        ("net", "i8"),
        ("open_group", "i8"),
        ("next_member", "i8"),
        ("turn", "i8"),
        ("rotation", "i8"),
        ("need", "i8"),
        ("running", "i8"),
        ("waiting", "i8"),
        ("alive", "i8"),
        ("scoring", "i8"),
        ("version", "i8"),
        ("published", "i8"),
        ("arrived", "i8"),
        ("halted", "i8"),
        ("lent", "i8"),
        ("trainer", "i8"),
        ("trainer_since_s", "f8"),
        ("opened_s", "f8"),
        ("generated_s", "f8"),
        ("ready_s", "f8"),
        ("train_from_s", "f8"),
        ("lending", "i8"),
        ("offering", "i8"),
        ("opening", "i8"),
        ("starting", "i8"),
        ("look_batch", "i8"),
        ("look_work", "i8"),
        ("waking", "i8"),
        ("done", "i8"),
        ("logged", "i8"),
        ("unlogged", "i8"),
    ]
    + [(name, "i8") for name in COUNTS]
    + [(name, "f8") for name in AREAS]
)
"""What an event leaves to do stands in ``lending`` … ``waking`` and is done before the next: one place for each, as
all of it is inlined. ``net``: groups opened and not dropped again, which the gate compares with ``quota``."""
ROW = np.dtype(
    [(name, "f8") for name in ("at_s", "opened_s", "generated_s", "ready_s", "train_from_s")]
    + [(name, "i8") for name in COUNTS]
    + [(name, "f8") for name in AREAS]
)
"""The end of a training step, with all sums so far; row 0 is the start of the run. When the batch was let begin, when
its last answer ended, when it was complete, when training began."""
SPAN = np.dtype([("index", "i8"), ("stage", "i8"), ("from_s", "f8"), ("to_s", "f8")])
"""What an instance (or the trainer: −1) did from when to when."""
LEVELS = ("running", "waiting", "scoring", "queued", "buffered", "version")
"""Answers running, placed but not running, at a server of the pool, in its line; complete groups that wait."""
SAMPLE = np.dtype([("at_s", "f8")] + [(name, "i8") for name in LEVELS])
SAMPLER = np.dtype([("next_s", "f8"), ("every_s", "f8"), ("to_s", "f8"), ("count", "i8")])

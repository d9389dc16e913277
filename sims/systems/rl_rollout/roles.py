"""The names under which a run tells what instances and the trainer did, and what became of answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sims.parts.rollouts import (
    ABORTED,
    CONSUMED,
    DECODE,
    DISCARDED,
    DOWN,
    FILTERED,
    IDLE,
    LENT,
    LOST,
    PREFILL,
    RECOMPUTE,
    SWITCH,
    SYNC,
    T_BACK,
    T_IDLE,
    T_OUT,
    T_SYNC,
    T_TRAIN,
    TIMED_OUT,
)

ACTIVITIES = {
    "decode": (DECODE,),
    "prefill": (PREFILL,),
    "recompute": (RECOMPUTE,),
    "sync": (SYNC,),
    "switch": (SWITCH,),
    "train": (LENT,),
    "idle": (IDLE,),
    "down": (DOWN,),
}
TRAINER_ACTIVITIES = {"train": (T_TRAIN,), "sync": (T_SYNC,), "switch": (T_OUT, T_BACK), "wait": (T_IDLE,)}
FATES = {
    "trained_on": CONSUMED,
    "discarded": DISCARDED,
    "filtered": FILTERED,
    "aborted": ABORTED,
    "timed_out": TIMED_OUT,
    "lost": LOST,
}


def shares_of(spent_s: NDArray[np.float64], activities: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """Shares of a time by activity [stage -> s]; all 0 without any."""
    whole = float(spent_s.sum())
    parts = {name: float(spent_s[list(codes)].sum()) for name, codes in activities.items()}
    return {name: part / whole if whole > 0 else 0.0 for name, part in parts.items()}

"""Small rollouts for the tests, the reference of the notes, a fingerprint of a run."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sims.systems.rl_rollout import Config, Lengths, Measured, Outcome, Problems, simulate
from sims.systems.rl_rollout.audit import audit

# One 32 B policy in FP8 on an H100: 2,500 tokens/s at 128 running, 11.9 ms of a step for the weights.
RATED, RATED_BATCH, STEP_S = 2500.0, 128, 0.0119
PER_SEQUENCE_S = (RATED_BATCH / RATED - STEP_S) / RATED_BATCH
LONG_TAIL = Problems(Lengths(8000.0, cv=1.0, cap_tokens=32_000))


def reference(**changes: Any) -> Config:
    """128 problems × 16 answers on 25 GPUs, training in 300 s, a pause of a second."""
    values: dict[str, Any] = {
        "problems": 128,
        "answers": 16,
        "instances": 25,
        "slots": RATED_BATCH,
        "step_s": STEP_S,
        "step_s_per_sequence": PER_SEQUENCE_S,
        "train_s": 300.0,
        "pause_s": 1.0,
        "mode": "asynchronous",
    }
    return Config(**{**values, **changes})


def config(**changes: Any) -> Config:
    """Three instances of four slots, batches of four problems with four answers."""
    values: dict[str, Any] = {
        "problems": 4,
        "answers": 4,
        "instances": 3,
        "slots": 4,
        "step_s": 0.1,
        "step_s_per_sequence": 0.01,
        "train_s": 5.0,
    }
    return Config(**{**values, **changes})


def problems(mean_tokens: float = 40.0, **changes: Any) -> Problems:
    """Short answers."""
    lengths = {"cv": 1.0, "cap_tokens": 150}
    lengths.update({name: changes.pop(name) for name in ("cv", "cap_tokens", "correlation") if name in changes})
    return Problems(Lengths(mean_tokens, **lengths), **changes)


def given(*lengths: int, prompt_tokens: float = 0.0) -> Problems:
    """Answers of these lengths, in this order, round and round."""
    return Problems(Measured(np.array(lengths), in_order=True), prompt_tokens=prompt_tokens)


def audited(setup: Config, *, check_every_s: float = 0.7, **options: Any) -> Outcome:
    """A run whose invariants are checked all along."""
    return simulate(setup, check=lambda plane: audit(plane.state), check_every_s=check_every_s, **options)


def fingerprint(outcome: Outcome) -> str:
    """All rows, ages, histograms, samples and spans."""
    state = hashlib.sha256()
    for table in (outcome.rows, outcome.spent_s, outcome.trained_s, outcome.answers_by, outcome.tokens_by):
        state.update(table.tobytes())
    for table in (outcome.ages, outcome.group_ages, *outcome.sketches.values()):
        state.update(table.tobytes())
    for levels in (outcome.levels, outcome.drawn):
        state.update(levels.at_s.tobytes() + levels.running.tobytes() + levels.scoring.tobytes())
    state.update(repr((outcome.spans, outcome.simulated_s, outcome.in_flight)).encode())
    return state.hexdigest()

"""RL rollout: 128 problems × 16 answers a step, on 25 instances of 128 places, with weights and a scoring pool."""

from __future__ import annotations

import time

from sims.systems.rl_rollout import Config, Lengths, Problems, Scoring, simulate

STEPS = 100
# One 32 B policy in FP8 on an H100: 2,500 tokens/s at 128 running, 11.9 ms of a step whatever runs.
STEP_S = 0.0119
PER_SEQUENCE_S = (128 / 2500 - STEP_S) / 128
LOAD = Problems(Lengths(8000.0, cv=1.0, cap_tokens=32_000), prompt_tokens=1000.0, prompt_cv=0.5)


def reference(mode: str) -> Config:
    """The reference, scored by sandboxes; η = 4 where it counts."""
    return Config(
        problems=128,
        answers=16,
        instances=25,
        slots=128,
        step_s=STEP_S,
        step_s_per_sequence=PER_SEQUENCE_S,
        step_s_per_kv_token=1e-9,
        prefill_tokens_per_s=15_500.0,
        train_s=300.0,
        pause_s=1.0,
        mode=mode,
        staleness=4,
        scoring=Scoring(servers=256, mean_s=30.0, cv=2.0, timeout_s=120.0),
    )


def step_s(mode: str) -> float:
    """CPU time of a training step of 2,048 answers, drawing them included [s]."""
    config = reference(mode)
    begun_s = time.process_time()
    found = simulate(config, problems=LOAD, steps=STEPS)
    took_s = time.process_time() - begun_s
    assert found.steps == STEPS
    assert found.useful_answers == found.measured_steps * 2048
    return took_s / STEPS

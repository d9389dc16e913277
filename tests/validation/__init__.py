"""`make validate`: our figures beside those that others published or measured.

A source is a function without arguments that gives rows (`tests.validation.rows.Row`); each subject has a module, and
its sources stand in `SOURCES`.
"""

from __future__ import annotations

from tests.validation import (
    adapters,
    architecture,
    caching,
    designs,
    measured_runs,
    measured_sweeps,
    memory,
    published,
    rollout,
    second_opinion,
    simulation,
    step_time,
)
from tests.validation.rows import Source

SOURCES: tuple[Source, ...] = (
    architecture.parameters,
    architecture.kv_bytes_per_token,
    designs.reference_designs,
    step_time.step_time,
    published.published_results,
    memory.weights,
    memory.pool_rules,
    memory.configured,
    memory.from_log,
    memory.fit,
    second_opinion.second_opinion,
    caching.cache_hits,
    rollout.weight_sync,
    rollout.rollout_steps,
    adapters.lora_throughput,
    adapters.lora_steps,
    measured_runs.simulated_runs,
    measured_sweeps.simulated_sweeps,
    simulation.estimate_against_simulation,
)

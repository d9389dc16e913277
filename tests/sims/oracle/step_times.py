"""How long a step lasts, as the traits of a unit say; a table is read by numpy, and goes on along its last slope."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sims.systems.llm_serving.config import UnitTraits


def table_s(traits: UnitTraits, tokens: float) -> float:
    """Seconds by tokens in the step; none without a table."""
    if not traits.step_table:
        return 0.0
    grid, times_s = np.array(traits.step_table, float).T
    if tokens <= grid[-1]:
        return float(np.interp(tokens, grid, times_s))
    slope = (times_s[-1] - times_s[-2]) / (grid[-1] - grid[-2])
    return float(times_s[-1] + slope * (tokens - grid[-1]))


def decode_s(traits: UnitTraits, *, sequences: float, kv_tokens: float) -> float:
    """What sequences that decode and the KV they read add to a step."""
    return sequences * traits.step_s_per_sequence + kv_tokens * traits.step_s_per_kv_token


def prompts_s(traits: UnitTraits, chunks: list[tuple[int, int]]) -> float:
    """What chunks of prompts, (tokens, context before them), add to a step."""
    tokens = sum(chunk for chunk, _ in chunks)
    pairs = sum(chunk * (before + chunk / 2) for chunk, before in chunks)
    if tokens == 0:
        return 0.0
    return traits.prefill_step_s + tokens * traits.prefill_s_per_token + pairs * traits.prefill_s_per_token_pair


def prompt_token_s(traits: UnitTraits) -> float:
    """What a token of a prompt takes a prefill unit of which every rank is busy with full steps."""
    step_s = traits.prefill_step_s + traits.prefill_budget_tokens * traits.prefill_s_per_token
    return step_s / traits.prefill_budget_tokens / traits.prefill_ranks


def kv_token_s(traits: UnitTraits) -> float:
    """What a token of KV adds to a decode step, in sequences of a thousand; of a table the slope from end to end."""
    table_s = (
        (traits.step_table[-1][1] - traits.step_table[0][1]) / traits.step_table[-1][0] if traits.step_table else 0
    )
    return (traits.step_s_per_sequence + table_s) / 1000 + traits.step_s_per_kv_token


def burdens(loads: list[tuple[int, UnitTraits]], *, of: Callable[[UnitTraits], float], kv: bool) -> list[float]:
    """Loads of units as a router compares them: by the time they cost or the KV they fill, against the first unit."""
    usual = loads[0][1]
    found = []
    for load, traits in loads:
        weight = of(traits) / of(usual) if of(usual) else 1.0
        if kv:
            weight = max(weight, usual.kv_capacity_tokens / traits.kv_capacity_tokens)
        found.append(load * weight)
    return found

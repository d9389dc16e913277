"""The engines of a run as the simulator wants them: the estimator's step times, and what the options say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.kinds.llm_serving.engine_options import EngineOptions
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.systems.llm_serving import Config

UNLIMITED = 1_000_000_000
_TIMES = ("step_s", "step_s_per_sequence", "step_s_per_kv_token", "prefill_step_s", "prefill_s_per_token")


def kv_tokens(facts: Physics, *, chosen: EngineOptions) -> int:
    """KV tokens that a decode unit or replica holds."""
    return int(facts.kv_tokens_per_decode_unit if chosen.kv_tokens is None else chosen.kv_tokens)


def ranks(spec: LlmServingSpec, *, facts: Physics) -> int:
    """Ranks that share the KV pool of a unit."""
    return facts.prefill_lanes if spec.is_aggregated else facts.decode_lanes


def most_running(facts: Physics, *, chosen: EngineOptions) -> int:
    """Requests that run at once on a rank of a replica: each takes a token of its step at least."""
    return int(min(chosen.max_running or UNLIMITED, max(1, int(facts.prefill_step_tokens))))


def numbers(facts: Physics, *, chosen: EngineOptions) -> dict[str, Any]:
    """Step times, KV and limits of a unit, by the names that the simulator has for them.

    A token takes a step over the tokens that a step gives. With drafts drawn it is the other way round: the whole
    step lasts that many times as long, and what it gives is a matter of chance.
    """
    gpus = facts.decode_unit_gpus
    gives = facts.tokens_per_step if chosen.drafts == "drawn" else 1.0
    return {
        "prefill_ranks": facts.prefill_lanes,
        "decode_ranks": facts.decode_lanes,
        "prefill_budget_tokens": max(1, int(facts.prefill_step_tokens)),
        "prefill_step_s": facts.prefill_step_fixed_s,
        "prefill_s_per_token": facts.prefill_token_s,
        "step_s": facts.decode_fixed_s * gives,
        "step_s_per_sequence": facts.decode_sequence_s / gpus * gives,
        "step_s_per_kv_token": facts.decode_kv_token_s / gpus * gives,
        "tokens_per_step": gives,
        "kv_capacity_tokens": kv_tokens(facts, chosen=chosen),
        "kv_admission": chosen.kv_admission,
        "kv_headroom_tokens": int(chosen.kv_headroom_tokens),
        "max_running": int(chosen.max_running or UNLIMITED),
        "block_tokens": int(chosen.block_tokens),
        "reserve_full_prompt": chosen.reserve_full_prompt == "yes",
    }


def with_odd_units(config: Config, *, chosen: EngineOptions) -> Config:
    """The fleet with its last decode units (or replicas) at another speed."""
    if chosen.odd_units is None:
        return config
    odd = int(chosen.odd_units)
    usual = config.decoders[0]
    times = {name: getattr(usual, name) / chosen.odd_speed for name in _TIMES}
    slower = replace(usual, count=odd, **times)
    sorts = (slower,) if odd == usual.count else (replace(usual, count=usual.count - odd), slower)
    return replace(config, decode_classes=sorts)


def check_fleet(spec: LlmServingSpec, *, facts: Physics, fleet: Fleet, chosen: EngineOptions) -> None:
    """Refuse what the units of the design cannot be; raises ValueError that names the option."""
    if (chosen.odd_units or 0) > fleet.decode.units:
        raise ValueError(f"options.odd_units: the design has {fleet.decode.units:,} of them")
    share, sharers = kv_tokens(facts, chosen=chosen), ranks(spec, facts=facts)
    if chosen.kv_tokens is not None and share < sharers:
        raise ValueError(f"options.kv_tokens: a unit has {sharers:,} ranks, and each needs at least 1 token")
    if spec.is_aggregated and chosen.block_tokens > share // sharers >= 1:
        raise ValueError(f"options.block_tokens: a rank has {share // sharers:,} KV tokens, less than one block")

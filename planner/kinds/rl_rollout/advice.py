"""The reasoning around the figures: what to ask first and what else to try; what a reviewer asks is `follow_ups`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.core.kind import Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.follow_ups import follow_ups
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.spec import RlRolloutSpec
from planner.kinds.rl_rollout.words import IN_WORDS

__all__ = ["follow_ups", "questions", "variants"]

_DEFAULTS = RlRolloutSpec()
OF_STEP = ("step_s", "rollout_gpus", "cost_usd_per_useful_sample", "utilisation")
OF_STALENESS = ("step_s", "staleness_mean", "staleness_beyond", "discarded_share")
OF_TAIL = ("tail_floor_s", "step_s", "share_at_cap", "wasted_tokens")
OF_SYNC = ("weight_sync_expected_s", "step_s", "sync_bytes")
OF_SCORING = ("scorers_used", "step_scoring_s", "score_wait_mean_s")
"""What a change of each sort moves."""


def _state(spec: RlRolloutSpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: RlRolloutSpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    return (*_of_answers(spec, result), *_of_roles(spec, result))


def _of_answers(spec: RlRolloutSpec, result: Result) -> Sequence[Question]:
    lengths = ("output_tokens", "max_output_tokens", "length_cv", "lengths")
    measured = ("rate_tokens_per_s", "rate_batch", "rate_source")
    return (
        Question(
            "How long are the answers, and how unevenly?",
            _state(spec, *lengths) if _state(spec, *lengths) == "answered" else "open",
            f"{spec.output_tokens:,g} tokens on average, at most {spec.max_output_tokens:,g}",
            f"The longest of a step, {show(result.value('longest_tokens'), 'tokens')}, sets the least time of a "
            f"synchronous generation: {show(result.value('tail_floor_s'), 's')} on any number of GPUs.",
            "max_output_tokens",
        ),
        Question(
            "At which batch was the rate of a GPU measured?",
            _state(spec, *measured) if _state(spec, *measured) == "answered" else "open",
            f"{spec.rate_tokens_per_s:,g} tok/s at {spec.rate_batch:,g} answers a GPU"
            if spec.rate_source == "stated"
            else "from weights, KV cache and FLOP",
            f"Memory holds {show(result.value('memory_answers'), 'answers/instance')}; a rate at a batch that does not "
            "fit is not reached.",
            "rate_batch",
        ),
        Question(
            "How many problems does the policy solve always or never?",
            _state(spec, "filtering", "success_alpha", "success_beta"),
            f"{percent(result.value('filtered_share') or 0.0)} of the groups dropped"
            if spec.filtering == "on"
            else "not filtered",
            "Groups that are all right or all wrong teach nothing; dropping them means generating more.",
            "filtering",
        ),
    )


def _of_roles(spec: RlRolloutSpec, result: Result) -> Sequence[Question]:
    return (
        Question(
            "How stale may samples be?",
            _state(spec, "staleness_bound", "loss"),
            f"{counted(spec.staleness_bound, 'version')}, {spec.loss} loss"
            if spec.mode == "asynchronous"
            else IN_WORDS[spec.mode],
            "Asynchrony pays only as far as the bound lets answers run ahead of the weights, and the loss must correct "
            "for what it lets through.",
            "staleness_bound",
        ),
        Question(
            "How long does training take, on how many GPUs?",
            _state(spec, "train_step_s", "training_gpus"),
            f"{show(spec.train_step_s, 's')} on {counted(spec.training_gpus, 'GPU')}",
            f"The split: {counted(result.value('best_training_gpus') or 0.0, 'GPU')} for training and "
            f"{counted(result.value('best_rollout_gpus') or 0.0, 'GPU')} for rollout would be best here.",
            "train_step_s",
        ),
        Question(
            "How does an answer get its reward, and how slowly?",
            _state(spec, "scorer", "score_s", "score_cv", "score_timeout_s"),
            f"{show(spec.score_s, 's')} on average",
            f"Scorers, {counted(result.value('scorers_used') or 0.0, 'scorer')} here, and the age of a sample when "
            "it is trained on.",
            "score_s",
        ),
        Question(
            "How do new weights reach the instances?",
            _state(spec, "sync_method", "sync_efficiency", "sync_per_tensor_s"),
            f"{show(result.value('weight_sync_expected_s'), 's')}; the links alone would take "
            f"{show(result.value('weight_sync_s'), 's')}",
            "The pause of every step, and whether running answers keep their KV cache.",
            "sync_method",
        ),
    )


def variants(spec: RlRolloutSpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each, and beside the answer the figures it is about."""
    found = [
        Variant(MODE_LABELS[mode], {"mode": mode, **_fitting(spec, mode)}, OF_STEP)
        for mode in MODE_LABELS
        if mode != spec.mode
    ]
    found += [*_split(spec, result), *_of_fleet(spec)]
    if spec.mode == "asynchronous":
        found += _of_staleness(spec)
    found += _of_tail(spec)
    found += _of_services(spec)
    return tuple(found)


def _fitting(spec: RlRolloutSpec, mode: str) -> dict[str, Any]:
    """What a mode does not allow goes with it."""
    return {"scored": "each"} if mode == "asynchronous" and spec.scored == "batch" else {}


def _split(spec: RlRolloutSpec, result: Result) -> list[Variant]:
    """Both roles together, shared out as is best; training keeps what it was measured on."""
    trains, rolls = result.value("best_training_gpus"), result.value("best_rollout_gpus")
    if trains is None or rolls is None or trains == spec.training_gpus:
        return []
    change = {
        "training_gpus": int(trains),
        "rollout_gpus": int(rolls),
        "train_step_gpus": spec.train_step_gpus or spec.training_gpus,
    }
    return [Variant(f"Best split: {trains:,.0f} train, {rolls:,.0f} generate", change, OF_STEP)]


def _of_fleet(spec: RlRolloutSpec) -> list[Variant]:
    found = []
    if spec.instance_gpus <= 4:
        twice = 2 * spec.instance_gpus
        found.append(Variant(f"{counted(twice, 'GPU')} an instance", {"instance_gpus": twice}, OF_STEP))
    if spec.instance_gpus >= 2:
        half = spec.instance_gpus // 2
        found.append(Variant(f"{counted(half, 'GPU')} an instance", {"instance_gpus": half}, OF_STEP))
    if spec.rate_source == "stated":
        found.append(Variant("Rate from weights and KV", {"rate_source": "roofline"}, OF_STEP))
    if spec.kv_bytes_per_token is None and spec.kv_dtype == "bf16":
        found.append(Variant("KV in FP8", {"kv_dtype": "fp8"}, OF_STEP))
    return found


def _of_staleness(spec: RlRolloutSpec) -> list[Variant]:
    bound = spec.staleness_bound
    found = [Variant(f"η = {bound + 2}", {"staleness_bound": min(bound + 2, 64)}, OF_STALENESS)]
    if bound > 1:
        found.append(Variant("η = 1", {"staleness_bound": 1}, OF_STALENESS))
    if spec.enforcement != "discard":
        found.append(Variant("Older groups dropped", {"enforcement": "discard"}, OF_STALENESS))
    if spec.enforcement != "carry":
        found.append(Variant("Partial rollouts", {"enforcement": "carry"}, OF_STALENESS))
    if spec.new_weights == "keep":
        found.append(Variant("KV computed again", {"new_weights": "recompute"}, OF_STALENESS))
    return found


def _of_tail(spec: RlRolloutSpec) -> list[Variant]:
    found = []
    half = max(spec.max_output_tokens / 2, spec.output_tokens)
    if half < spec.max_output_tokens:
        found.append(Variant(f"Cap of {half:,g} tokens", {"max_output_tokens": half}, OF_TAIL))
    if spec.mode != "asynchronous" and spec.oversampling == 0:
        found.append(Variant("Over-sample by half", {"oversampling": 0.5}, OF_TAIL))
        found.append(Variant("Partial rollouts of half a step", {"oversampling": 0.5, "enforcement": "carry"}, OF_TAIL))
    if spec.filtering == "off":
        found.append(Variant("Filter groups that teach nothing", {"filtering": "on"}, OF_STEP))
    return found


def _of_services(spec: RlRolloutSpec) -> list[Variant]:
    found = []
    if spec.sync_method != "delta":
        found.append(Variant("Only changed weights", {"sync_method": "delta"}, OF_SYNC))
    if spec.sync_method != "point_to_point":
        found.append(Variant("Weights point to point", {"sync_method": "point_to_point"}, OF_SYNC))
    if spec.mode != "asynchronous" and spec.scored == "each":
        found.append(Variant("Score when all have ended", {"scored": "batch"}, OF_SCORING))
    elif spec.scored != "each":
        found.append(Variant("Score each as it ends", {"scored": "each"}, OF_SCORING))
    return found
